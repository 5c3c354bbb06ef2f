//! Answers that a browser keeps as files.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
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
