//! Bodies that are part of a signature have to be read before they are sent.

use bytes::Bytes;
use pyxis_net::Body;

use crate::config::Config;
use crate::error::Result;
use crate::runtime::held_bodies::HeldBodies;

/// Reads the body, up to what is kept for an approval, and puts it back.
pub(super) async fn buffer_body(config: &Config, held_bodies: &HeldBodies, body: &mut Body) -> Result<Bytes> {
    let rest = std::mem::replace(body, pyxis_net::body::empty());
    let bytes = held_bodies.read(rest, config.pending_body_max).await?;
    *body = pyxis_net::body::full(bytes.clone());
    Ok(bytes)
}
