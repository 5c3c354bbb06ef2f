//! `GET /openapi.json` and `GET /docs`: the API reference, described once and served in two forms.

mod document;
mod page;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_SECURITY_POLICY, CONTENT_TYPE, InvalidHeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue};
use pyxis_http::openapi::DescribedRouter;
use sha2::{Digest, Sha256};
use utoipa_axum::routes;

pub use document::document;

/// The built-in description is inconsistent; a test builds it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A fragment is not JSON, or does not have the expected form.
    #[error("a fragment of the interface's description cannot be read")]
    Fragment(#[from] serde_json::Error),
    /// Two types share a name.
    #[error("the interface's description contradicts itself")]
    Clash(#[from] pyxis_http::openapi::Clash),
    /// The page's header cannot be written.
    #[error("the page's content security policy cannot be written")]
    Header(#[from] InvalidHeaderValue),
}

/// The routes. Both responses are built on first use, so that a server that is never asked saves the memory; `base_url`
/// is the public origin.
///
/// # Panics
/// On first use, if the built-in description is inconsistent. That does not depend on any setting.
pub fn routes(base_url: &str) -> Router {
    let base_url = base_url.to_owned();
    let kept = Arc::new(OnceLock::new());
    let answers = move || -> Arc<Answers> {
        let make = || Arc::new(answers(&base_url).expect("the built-in description is sound"));
        Arc::clone(kept.get_or_init(make))
    };
    describe_routes().into_router().with_state(Documents(Arc::new(answers)))
}

fn describe_routes() -> DescribedRouter<Documents> {
    DescribedRouter::default().routes(routes!(get_document)).routes(routes!(get_page))
}

/// Both responses, built on first use.
#[derive(Clone)]
struct Documents(Arc<dyn Fn() -> Arc<Answers> + Send + Sync>);

/// Read this description.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "Program",
    operation_id = "openapi",
    responses((
        status = 200, description = "OpenAPI 3.1.", body = Object,
        example = json!({"openapi": "3.1.0", "info": {"title": "Pyxis", "version": "1.0.0"}, "paths": {}})
    )),
)]
async fn get_document(Extract(documents): Extract<Documents>) -> Response {
    // A page of another origin may read the description, too.
    let json = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
    ];
    (json, (documents.0)().document.clone()).into_response()
}

/// Read this description as a page.
#[utoipa::path(
    get,
    path = "/docs",
    tag = "Program",
    operation_id = "docs",
    responses((status = 200, description = "The page.", body = String, content_type = "text/html")),
)]
async fn get_page(Extract(documents): Extract<Documents>) -> Response {
    let answers = (documents.0)();
    (answers.page_headers.clone(), answers.page.clone()).into_response()
}

/// Both responses, built once.
struct Answers {
    document: Bytes,
    page: Bytes,
    page_headers: HeaderMap,
}

fn answers(base_url: &str) -> Result<Answers, Error> {
    let document = document(base_url)?;
    let page = page::render(&document);
    Ok(Answers {
        document: serde_json::to_vec(&document)?.into(),
        page: page.into(),
        page_headers: page_headers()?,
    })
}

/// Headers of the page, which loads nothing: its one style is named by its hash.
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
