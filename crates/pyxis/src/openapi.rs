//! `GET /openapi.json` and `GET /docs`: the whole interface, described once and shown twice.

mod document;
mod page;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, InvalidHeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

pub use document::document;

/// What is built in does not fit together; a test builds it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A fragment is not JSON, or not of the form that is expected.
    #[error("a fragment of the interface's description cannot be read")]
    Fragment(#[from] serde_json::Error),
    /// The page's header cannot be written.
    #[error("the page's content security policy cannot be written")]
    Header(#[from] InvalidHeaderValue),
}

/// The routes. Both answers are made here, once; `base_url` is the public origin.
///
/// # Panics
/// If what is built in does not fit together, which depends on nothing that is configured.
pub fn routes(base_url: &str) -> Router {
    let (document, page, page_headers) = answers(base_url).expect("the built-in description is sound");
    let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    Router::new()
        .route("/openapi.json", get(async move || (json, document).into_response()))
        .route("/docs", get(async move || (page_headers, page).into_response()))
}

fn answers(base_url: &str) -> Result<(Bytes, Bytes, HeaderMap), Error> {
    let document = document(base_url)?;
    let page = page::render(&document);
    Ok((serde_json::to_vec(&document)?.into(), page.into(), page_headers()?))
}

/// The page loads nothing: its one style is named by its hash.
fn page_headers() -> Result<HeaderMap, InvalidHeaderValue> {
    let style = STANDARD.encode(Sha256::digest(page::STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    Ok(HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, HeaderValue::try_from(policy)?),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ]))
}
