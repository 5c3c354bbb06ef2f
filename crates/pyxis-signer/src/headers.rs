//! Header filters for requests to the target and responses to the caller.

use http::header::{AUTHORIZATION, CONNECTION, SET_COOKIE, TRAILER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue};
use pyxis_core::headers::never_forwarded;

use crate::error::Error;

/// The only value of a header, as text.
pub(crate) fn once<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    shown: &'static str,
) -> Result<Option<&'a str>, Error> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Error::DuplicateHeader(shown));
    }
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| Error::InvalidHeader(shown))?;
    Ok(Some(text.trim()).filter(|text| !text.is_empty()))
}

/// Headers for the target: all except the signer's own, connection headers, and those that the signature replaces.
pub(crate) fn outgoing(sent: HeaderMap, authorization: HeaderValue) -> HeaderMap {
    let named = connection_tokens(&sent);
    let mut headers =
        retain_headers(sent, |name| !never_forwarded(name) && !named.iter().any(|token| token == name));
    headers.insert(AUTHORIZATION, authorization);
    headers
}

/// Headers for the caller: without authentication headers, connection headers, and markers that only the signer may
/// set.
pub(crate) fn incoming(answered: HeaderMap) -> HeaderMap {
    let named = connection_tokens(&answered);
    retain_headers(answered, |name| {
        name == TRAILER.as_str() || !(withheld(name) || named.iter().any(|token| token == name))
    })
}

/// True if a response header or trailer is removed.
pub(crate) fn withheld(name: &str) -> bool {
    name == AUTHORIZATION.as_str()
        || name == WWW_AUTHENTICATE.as_str()
        || name == SET_COOKIE.as_str()
        || name == "set-cookie2"
        || name.starts_with("proxy-")
        || name.starts_with("px-")
        || matches!(name, "connection" | "keep-alive" | "te" | "trailer" | "transfer-encoding" | "upgrade")
}

/// Keeps the headers for which `keep` is true, in order. If that is all of them, nothing is moved.
fn retain_headers(headers: HeaderMap, keep: impl Fn(&str) -> bool) -> HeaderMap {
    let count = headers.keys().filter(|name| keep(name.as_str())).count();
    if count == headers.keys_len() {
        return headers;
    }
    let mut kept = HeaderMap::with_capacity(count + 1);
    let mut last = None;
    for (name, value) in headers {
        // A header's further values come without its name.
        last = name.or(last);
        if let Some(name) = last.as_ref().filter(|name| keep(name.as_str())) {
            kept.append(name, value);
        }
    }
    kept
}

fn connection_tokens(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|token| token.trim().to_ascii_lowercase())
        .collect()
}
