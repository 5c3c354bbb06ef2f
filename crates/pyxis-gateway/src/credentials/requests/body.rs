//! Bodies that must be known as a whole before a request is decided or stored.

use axum::body::Body;
use bytes::Bytes;

use crate::config::Config;
use crate::error::Result;
use crate::runtime::held_bodies::HeldBodies;

/// Reads a body, up to the size of a pending request.
pub(crate) async fn read(config: &Config, held_bodies: &HeldBodies, body: Body) -> Result<Bytes> {
    held_bodies.read(body, config.pending_body_max).await
}

/// Reads a body and puts it back, as a whole.
pub(crate) async fn peek(
    config: &Config,
    held_bodies: &HeldBodies,
    body: &mut Option<Body>,
) -> Result<Bytes> {
    let bytes = read(config, held_bodies, body.take().unwrap_or_default()).await?;
    *body = Some(Body::from(bytes.clone()));
    Ok(bytes)
}
