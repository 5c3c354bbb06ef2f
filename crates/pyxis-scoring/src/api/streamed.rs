//! Files that are sent piece by piece. A failure midway breaks off the response, so half a file cannot pass for a whole
//! one.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::Stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use crate::service::Result;

/// A file to save under a name.
pub(super) fn file(
    content_type: &'static str,
    name: &str,
    pieces: impl Stream<Item = Result<Bytes>> + Send + 'static,
) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(CONTENT_TYPE, content_type.to_owned()), (CONTENT_DISPOSITION, disposition)], Body::from_stream(pieces))
        .into_response()
}
