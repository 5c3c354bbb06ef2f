//! CORS for interfaces that pages of every origin may use. Requests are authorized by a key in a header or not at all,
//! never by a cookie. Requests refused because of their head get these headers on every path.

use http::header::{ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE};
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CONTENT_TYPE, LINK};
use http::header::{AUTHORIZATION, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method};
use tower_http::cors::{AllowHeaders, AllowMethods, Any, CorsLayer};

use crate::problem::PX_ERROR;
use crate::request_id::X_REQUEST_ID;

/// Response headers that pages may read, in addition to the CORS-safelisted ones.
const EXPOSED: [HeaderName; 9] = [
    RETRY_AFTER,
    LINK,
    ALLOW,
    HeaderName::from_static("deprecation"),
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
    X_REQUEST_ID,
    PX_ERROR,
];
/// Session of an MCP client, which sends it back.
const SESSION: HeaderName = HeaderName::from_static(pyxis_core::agent_client::MCP_SESSION);
/// [`EXPOSED`] as a single header value.
const EXPOSED_TEXT: &str = "retry-after,link,allow,deprecation,ratelimit-limit,ratelimit-remaining,\
                            ratelimit-reset,x-request-id,px-error";

/// CORS layer of a path that accepts `methods`. It answers preflights and lets any page read every other response,
/// including errors.
pub fn open(methods: impl Into<AllowMethods>) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods(methods)
        .allow_headers([CONTENT_TYPE, HeaderName::from_static("x-api-key")])
        .expose_headers(EXPOSED)
}

/// CORS layer of unknown paths: any page may read the 404, whatever method or headers it sent.
pub fn open_to_all_methods() -> CorsLayer {
    open(Any)
}

/// CORS layer of an OAuth endpoint that accepts `methods`. Pages of any origin may call it, as MCP clients in a browser
/// do: it takes codes, tokens and client secrets, and never a cookie.
pub fn open_to_oauth_clients(methods: impl Into<AllowMethods>) -> CorsLayer {
    open(methods)
        .allow_headers([CONTENT_TYPE, AUTHORIZATION, HeaderName::from_static("mcp-protocol-version")])
        .expose_headers(EXPOSED.into_iter().chain([WWW_AUTHENTICATE]).collect::<Vec<_>>())
}

/// CORS layer of the MCP server, for pages of the origins that the operator named. They send a key or token in a
/// header, and never a cookie.
pub fn open_to_origins(origins: &[HeaderValue]) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins.to_vec())
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED.into_iter().chain([WWW_AUTHENTICATE, SESSION]).collect::<Vec<_>>())
}

/// Lets pages of one origin read a response. Whether they may was decided before.
pub fn allow(headers: &mut HeaderMap, origin: &HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_TEXT));
}

/// Answers the preflight of a page that may send `methods`, with a key and a session token.
pub fn allow_preflight(headers: &mut HeaderMap, origin: &HeaderValue, methods: &'static str) {
    allow(headers, origin);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    let allowed = HeaderValue::from_static("authorization,content-type,x-api-key");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
}

/// Lets any page read a response that did not pass through the layer.
pub fn allow_any_origin(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_TEXT));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_marked_exposes_what_the_layer_does() {
        assert_eq!(EXPOSED.map(|name| name.to_string()).join(","), EXPOSED_TEXT);
    }
}
