//! Headers of every dashboard response, and error pages.

use axum::extract::{Request, State as Extract};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, Method, Uri};
use pyxis_core::id::RequestId;

use crate::State;
use crate::cookies::{Cookie, append};
use crate::error::{self, FailurePage};

const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

const FIXED: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, crate::assets::CONTENT_SECURITY_POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "same-origin"),
    (X_FRAME_OPTIONS, "DENY"),
    (CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
    (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
];

/// The consent page.
const CONSENT: &str = "/app/oauth/consent";

/// True for pages between a connector and its answer. A connector may have opened them in a window of its own, and
/// waits for that window. A page that cuts the tie would leave it waiting.
fn leads_to_consent(uri: &Uri) -> bool {
    let next = || uri.query().is_some_and(|query| query.contains("next=%2Fapp%2Foauth%2Fconsent"));
    matches!(uri.path(), "/oauth/authorize" | CONSENT) || uri.path() == "/sign-in" && next()
}

/// Marks the response of the one page that registers a service worker.
#[derive(Clone, Copy)]
pub(crate) struct RunsWorker;

/// Adds the headers, renders failures, and clears a notice that was shown.
pub(crate) async fn apply_security_headers(
    Extract(state): Extract<State>,
    request: Request,
    next: Next,
) -> Response {
    let id = request.extensions().get::<RequestId>().copied();
    let is_asset = request.uri().path().starts_with("/static/");
    let leads_to_consent = leads_to_consent(request.uri());
    let noticed =
        request.method() == Method::GET && state.cookies.read(request.headers(), Cookie::Notice).is_some();
    let mut response = next.run(request).await;
    if let Some(failure) = response.extensions_mut().remove::<FailurePage>() {
        response = error::render(failure, id);
    }
    let runs_worker = response.extensions_mut().remove::<RunsWorker>().is_some();
    let is_page =
        response.headers().get(CONTENT_TYPE).is_some_and(|t| t.as_bytes().starts_with(b"text/html"));
    if noticed && is_page {
        append(&mut response, state.cookies.clear(Cookie::Notice));
    }
    let headers = response.headers_mut();
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let returns_to_consent =
        headers.get(LOCATION).is_some_and(|to| to.as_bytes().starts_with(CONSENT.as_bytes()));
    if leads_to_consent || returns_to_consent {
        headers.insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("unsafe-none"));
    }
    if runs_worker {
        let policy = HeaderValue::from_static(crate::assets::CONTENT_SECURITY_POLICY_WITH_WORKER);
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    // Only the files, which are named by their content, may be cached.
    if !is_asset || !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
