//! Responses that a browser saves as files.

use std::future::Future;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

/// `pyxis-{name}.csv`.
pub(super) fn csv(name: &str, body: Body) -> Response {
    download("text/csv; charset=utf-8", &format!("pyxis-{name}.csv"), body)
}

/// A file of any kind.
pub(super) fn download(content_type: &'static str, name: &str, body: Body) -> Response {
    let headers = [
        (CONTENT_TYPE, content_type.to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    (headers, body).into_response()
}

/// A body that is read piece by piece, so that memory does not grow with its length. `read` returns the piece at a
/// place and the next place. A failure midway breaks off the download, so that half a file cannot pass for a whole one.
pub(super) fn pieces<Place, Read, Piece>(head: String, first: Place, read: Read) -> Body
where
    Place: Send + 'static,
    Read: Fn(Place) -> Piece + Send + 'static,
    Piece: Future<Output = Result<(String, Option<Place>), pyxis_gateway::Error>> + Send + 'static,
{
    let start = (head, Some(first), read);
    Body::from_stream(futures_util::stream::try_unfold(start, |(head, place, read)| async move {
        let Some(place) = place else { return Ok::<_, pyxis_gateway::Error>(None) };
        let (piece, next) = read(place).await?;
        Ok(Some((Bytes::from(head + &piece), (String::new(), next, read))))
    }))
}
