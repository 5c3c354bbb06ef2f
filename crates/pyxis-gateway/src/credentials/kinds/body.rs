//! Bodies that are part of a signature have to be read before they are sent.

use crate::config::Config;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use pyxis_net::Body;

use crate::error::{Error, Result};

/// Reads the body, up to what is kept for an approval, and puts it back.
pub(super) async fn take(config: &Config, body: &mut Body) -> Result<Bytes> {
    let max = config.pending_body_max;
    let mut rest = std::mem::replace(body, pyxis_net::body::empty());
    let mut read = BytesMut::new();
    while let Some(frame) = rest.frame().await {
        let frame = frame.map_err(|_| Error::IncompleteBody)?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > max {
            return Err(Error::BodyTooLarge { max });
        }
        read.extend_from_slice(&data);
    }
    let bytes = read.freeze();
    *body = pyxis_net::body::full(bytes.clone());
    Ok(bytes)
}
