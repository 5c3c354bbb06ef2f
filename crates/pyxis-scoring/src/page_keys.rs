//! Keys that stand in pages, and the origins of these pages: as administrators write them, and as browsers send them.

use url::Url;

/// Prefix of every publishable key.
pub const PUBLISHABLE_PREFIX: &str = "px_pub_";

/// Every port of `localhost`, for development. The only pattern; all other origins are exact.
pub const LOCALHOST: &str = "http://localhost:*";

/// Hosts for which plain HTTP is allowed: nobody can change such a page on its way.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Checks an origin: scheme, host and port as browsers send them, or [`LOCALHOST`]. The error says how to write it.
pub fn read_origin(text: &str) -> Result<String, String> {
    if text == LOCALHOST {
        return Ok(text.to_owned());
    }
    if text.contains('*') {
        return Err(format!("{text:?}: write each origin in full; the only pattern is {LOCALHOST}"));
    }
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| {
        format!("{text:?} is not an origin: write scheme, host and port, such as https://app.example.org")
    })?;
    let exact = url.origin().ascii_serialization();
    if url.scheme() == "http" && !url.host_str().is_some_and(|host| LOOPBACK.contains(&host)) {
        return Err(format!("{text:?}: use https; plain http is allowed for localhost only"));
    }
    if exact == text { Ok(exact) } else { Err(format!("{text:?}: write {exact}, as browsers send it")) }
}

/// Spellings under which an origin may be listed: itself, and the pattern that it matches.
pub(crate) fn spellings(origin: &str) -> [&str; 2] {
    let port = origin.strip_prefix("http://localhost:");
    let is_port = port.is_some_and(|port| {
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
    });
    // A browser leaves out port 80.
    let is_local = is_port || origin == "http://localhost";
    [origin, if is_local { LOCALHOST } else { origin }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_accepted_exactly_as_a_browser_sends_it() {
        for text in [
            "https://app.example.org",
            "https://app.example.org:8443",
            "http://localhost:3000",
            "http://127.0.0.1:5173",
            "http://[::1]:5173",
            "http://localhost:*",
        ] {
            assert_eq!(read_origin(text).as_deref(), Ok(text));
        }
        for (text, advice) in [
            ("https://app.example.org/", "write https://app.example.org,"),
            ("https://App.Example.org", "write https://app.example.org,"),
            ("https://app.example.org:443", "write https://app.example.org,"),
            ("https://app.example.org/page?a=b", "write https://app.example.org,"),
            ("https://ann@app.example.org", "write https://app.example.org,"),
            ("https://b\u{fc}cher.example", "write https://xn--bcher-kva.example,"),
            ("http://app.example.org", "use https"),
            ("http://localhost.example.org:3000", "use https"),
            ("*", "write each origin in full"),
            ("https://*.example.org", "write each origin in full"),
            ("http://localhost:*/", "write each origin in full"),
            ("null", "is not an origin"),
            ("app.example.org", "is not an origin"),
            ("file:///page.html", "is not an origin"),
            ("", "is not an origin"),
        ] {
            let refused = read_origin(text).unwrap_err();
            assert!(refused.contains(advice), "{text:?}: {refused}");
        }
    }

    #[test]
    fn the_pattern_matches_ports_of_localhost_and_nothing_else() {
        for origin in ["http://localhost:3000", "http://localhost", "http://localhost:65535"] {
            assert_eq!(spellings(origin), [origin, LOCALHOST]);
        }
        for origin in [
            "https://localhost:3000",
            "http://localhost:",
            "http://localhost:*",
            "http://localhost:99999",
            "http://localhost:+1",
            "http://localhost:3000.example.org",
            "http://localhost.example.org",
            "http://127.0.0.1:3000",
            "null",
        ] {
            assert_eq!(spellings(origin), [origin, origin]);
        }
    }
}
