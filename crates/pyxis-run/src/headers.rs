//! Headers of a message that is passed on.

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName};

/// Headers without those of a connection (RFC 9110, section 7.6.1). The length is kept: the body is passed on as it is.
pub(crate) fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| *name != CONTENT_LENGTH.as_str())
        .collect();
    let own = [CONNECTION, EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
    for name in own.iter().map(HeaderName::as_str).chain(named.iter().map(String::as_str)) {
        headers.remove(name);
    }
    let hops: Vec<HeaderName> = headers
        .keys()
        .filter(|name| matches!(name.as_str(), "keep-alive" | "http2-settings"))
        .chain(headers.keys().filter(|name| name.as_str().starts_with("proxy-")))
        .cloned()
        .collect();
    for name in hops {
        headers.remove(name);
    }
    headers
}
