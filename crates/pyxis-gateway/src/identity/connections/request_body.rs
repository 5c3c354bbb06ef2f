//! Bodies of requests to the OAuth endpoints.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};

use super::protocol_error::{OauthError, OauthErrorCode};

/// Largest body, in bytes. The router enforces it.
pub(super) const MAX_BODY: usize = 64 * 1024;

/// Reads a body whole.
pub(super) async fn read(request: Request) -> Result<Bytes, OauthError> {
    Bytes::from_request(request, &()).await.map_err(|_: BytesRejection| {
        OauthError::new(OauthErrorCode::InvalidRequest, "the body is incomplete or longer than 64 KiB")
    })
}
