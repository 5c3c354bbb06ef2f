//! Bodies that must be known as a whole before a request is decided or stored.

use axum::body::Body;
use bytes::Bytes;
use pyxis_http::body::BodyError;

use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Reads a body, up to the size of a pending request.
pub(crate) async fn read(state: &State, body: Body) -> Result<Bytes> {
    let max = state.config.pending_body_max;
    pyxis_http::body::read(body, max).await.map_err(|error| match error {
        BodyError::TooLarge => Error::BodyTooLarge { max },
        BodyError::Broken => Error::IncompleteBody,
    })
}

/// Reads a body and puts it back, as a whole.
pub(crate) async fn peek(state: &State, body: &mut Option<Body>) -> Result<Bytes> {
    let bytes = read(state, body.take().unwrap_or_default()).await?;
    *body = Some(Body::from(bytes.clone()));
    Ok(bytes)
}
