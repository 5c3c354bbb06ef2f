//! Proof that a form was sent by our own page.
//!
//! There are three independent checks. The browser says that the request comes from our origin, the cookie is
//! `SameSite`. The form repeats a token that only our page could read.

use http::header::{HeaderName, ORIGIN};
use http::{HeaderMap, HeaderValue};
use pyxis_core::entropy::{self, Entropy};
use pyxis_core::secret::SecretString;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// True if the browser says that the request comes from `base_url`. A request with neither header comes from no browser
/// that could protect the person, and is refused.
pub(crate) fn same_origin(headers: &HeaderMap, base_url: &str) -> bool {
    let site = headers.get(SEC_FETCH_SITE);
    let origin = headers.get(ORIGIN);
    let site_fits = site.is_none_or(|site| site == "same-origin");
    let origin_fits = origin.is_none_or(|origin| is_ours(origin, base_url));
    (site.is_some() || origin.is_some()) && site_fits && origin_fits
}

/// Any loopback name on the same port counts as our origin, if that is a loopback one.
fn is_ours(origin: &HeaderValue, base_url: &str) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    if origin.eq_ignore_ascii_case(base_url) {
        return true;
    }
    matches!((loopback_port(origin), loopback_port(base_url)), (Some(a), Some(b)) if a == b)
}

fn loopback_port(origin: &str) -> Option<&str> {
    let authority = origin.strip_prefix("http://")?;
    ["localhost", "127.0.0.1", "[::1]"].iter().find_map(|host| {
        let port = authority.strip_prefix(host)?;
        if port.is_empty() { Some("80") } else { port.strip_prefix(':') }
    })
}

/// True if the form repeats the token, compared in constant time. An empty token never matches.
pub(crate) fn matches(expected: &str, sent: &str) -> bool {
    !expected.is_empty() && SecretString::new(expected.to_owned()).matches(sent.as_bytes())
}

/// Length of a visit token: 16 bytes in hexadecimal.
const VISIT: usize = 32;

/// The visit's token: the one in its cookie, or a new one.
pub(crate) fn visit_token(cookie: Option<&str>, entropy: &dyn Entropy) -> String {
    let kept = cookie.filter(|c| c.len() == VISIT && c.bytes().all(|b| b.is_ascii_hexdigit()));
    kept.map_or_else(|| entropy::token::<16>(entropy, ""), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_accepted(pairs: &[(&'static str, &'static str)], base_url: &str) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        same_origin(&headers, base_url)
    }

    #[test]
    fn only_our_own_origin_passes_and_silence_does_not() {
        let ours = "https://px.example";
        assert!(is_accepted(&[("origin", ours)], ours));
        assert!(is_accepted(&[("origin", ours), ("sec-fetch-site", "same-origin")], ours));
        assert!(is_accepted(&[("sec-fetch-site", "same-origin")], ours));
        assert!(!is_accepted(&[], ours));
        for site in ["cross-site", "same-site", "none"] {
            assert!(!is_accepted(&[("origin", ours), ("sec-fetch-site", site)], ours), "{site}");
        }
        for origin in ["null", "http://px.example", "https://px.example.evil", "https://px.example:444"] {
            assert!(!is_accepted(&[("origin", origin)], ours), "{origin}");
        }
    }

    #[test]
    fn the_names_of_the_loopback_are_one_origin_on_one_port() {
        let ours = "http://localhost:8700";
        assert!(is_accepted(&[("origin", "http://127.0.0.1:8700")], ours));
        assert!(is_accepted(&[("origin", "http://[::1]:8700")], ours));
        assert!(!is_accepted(&[("origin", "http://127.0.0.1:8701")], ours));
        assert!(!is_accepted(&[("origin", "http://localhost.evil:8700")], ours));
        assert!(!is_accepted(&[("origin", "http://127.0.0.1:8700")], "https://px.example"));
    }

    #[test]
    fn an_empty_token_fits_nothing() {
        assert!(!matches("", ""));
        assert!(!matches("a", "b"));
        assert!(matches("a", "a"));
    }
}
