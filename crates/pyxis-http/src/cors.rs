//! CORS of the interfaces that pages of every origin may use: what authorizes a request there is a key in a
//! header, or nothing, and never a cookie. Refusals by the head have it on every path.

use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CONTENT_TYPE, LINK};
use http::header::{HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use tower_http::cors::{AllowMethods, Any, CorsLayer};

use crate::problem::PX_ERROR;
use crate::request_id::X_REQUEST_ID;

/// Headers of answers that a page may read, in addition to those that every page may.
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
/// The same, as one value.
const EXPOSED_TEXT: &str = "retry-after,link,allow,deprecation,ratelimit-limit,ratelimit-remaining,\
                            ratelimit-reset,x-request-id,px-error";

/// The layer of a path that takes `methods`. It answers preflights, and every other answer, failures too, may be
/// read by any page.
pub fn open(methods: impl Into<AllowMethods>) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods(methods)
        .allow_headers([CONTENT_TYPE, HeaderName::from_static("x-api-key")])
        .expose_headers(EXPOSED)
}

/// The layer of a path that does not exist: a page may read that, whatever it sent.
pub fn open_to_all_methods() -> CorsLayer {
    open(Any)
}

/// Marks an answer that did not pass the layer as one that every page may read.
pub fn mark(headers: &mut HeaderMap) {
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
