//! `Accept-Encoding` for upstream requests (RFC 9110, section 12.5.3).

/// Codings that [`Decoder`](crate::Decoder) supports, best first.
const DECODED: [&str; 4] = ["br", "zstd", "gzip", "deflate"];

/// The `Accept-Encoding` to send upstream for an agent that sent `header` (empty if absent). It names the codings
/// that the agent accepts and Pyxis can decode, or `identity`.
///
/// The agent receives the body decoded, so only its exclusions (`q=0`) matter, not its preferences. If the agent
/// accepts no compression, none is requested from upstream.
pub fn acceptable(header: &str) -> String {
    let wildcard = quality(header, "*");
    let accepted: Vec<&str> = DECODED
        .into_iter()
        .filter(|coding| {
            quality(header, coding)
                .or_else(|| if *coding == "gzip" { quality(header, "x-gzip") } else { None })
                .or(wildcard)
                .unwrap_or(false)
        })
        .collect();
    if accepted.is_empty() { "identity".to_owned() } else { accepted.join(", ") }
}

/// `Some(true)` if `header` accepts `coding`, `Some(false)` if it excludes it, `None` if it does not name it.
fn quality(header: &str, coding: &str) -> Option<bool> {
    header.split(',').find_map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next()?;
        name.eq_ignore_ascii_case(coding).then(|| !parts.any(is_zero_weight))
    })
}

/// True for `q=0`, `q=0.0`, and so on.
fn is_zero_weight(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| {
        let value = value.trim();
        name.trim().eq_ignore_ascii_case("q")
            && value.starts_with('0')
            && value.chars().all(|c| matches!(c, '0' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_agent_accepts_and_we_decode_is_asked_for() {
        for (header, expected) in [
            ("", "identity"),
            ("identity", "identity"),
            ("gzip", "gzip"),
            ("X-GZIP", "gzip"),
            ("gzip, deflate, br, zstd", "br, zstd, gzip, deflate"),
            ("compress, dcb, gzip;q=0.5", "gzip"),
            ("*", "br, zstd, gzip, deflate"),
            ("*;q=0.1, br;q=0", "zstd, gzip, deflate"),
            ("gzip;q=0.000, br; Q=0", "identity"),
            ("gzip;q=0.001", "gzip"),
            ("compress, lzma", "identity"),
        ] {
            assert_eq!(acceptable(header), expected, "{header}");
        }
    }
}
