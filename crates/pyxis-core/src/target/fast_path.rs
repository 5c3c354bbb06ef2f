//! Canonically written targets, which nearly all are: parsed without a URL parser, with the same result.

use std::net::Ipv4Addr;

use super::{Host, Scheme, Target};

/// Parses `raw`, which starts with a scheme, `://` and `authority`, if it is certainly its own canonical spelling.
/// `None` leaves the decision to the URL parser.
pub(super) fn read(raw: &str, scheme: Scheme, authority: &str) -> Option<Target> {
    if !raw.starts_with(scheme.as_str()) {
        return None;
    }
    let start = scheme.as_str().len() + "://".len() + authority.len();
    let (path, query) = raw[start..].split_once('?').unwrap_or((&raw[start..], ""));
    // Nothing is repaired, resolved or escaped here: no dot at the start of a segment, no `%` in the path.
    let plain = path.starts_with('/')
        && !path.contains("/.")
        && path.bytes().all(is_plain)
        && query.bytes().all(|byte| is_plain(byte) || matches!(byte, b'%' | b'?'));
    if !plain {
        return None;
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, plain_port(port, scheme)?),
        None => (authority, scheme.default_port()),
    };
    let (host, path) = (plain_host(host)?, (start, start + path.len()));
    Some(Target { url: raw.to_owned(), scheme, host, written_host: None, port, path })
}

/// Characters that RFC 3986 allows in a path without an escape, except the apostrophe, which WHATWG escapes in queries.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'(' | b')' | b'*' | b'+' | b',')
        || matches!(byte, b';' | b'=' | b':' | b'@' | b'/')
}

/// A written port, other than the scheme's default, which would be left out.
fn plain_port(text: &str, scheme: Scheme) -> Option<u16> {
    if text.starts_with(['0', '+']) {
        return None;
    }
    text.parse().ok().filter(|port| *port != scheme.default_port())
}

/// An IPv4 address with four decimal parts, or a name of plain labels whose last one is not a number.
fn plain_host(text: &str) -> Option<Host> {
    if let Ok(ip) = text.parse::<Ipv4Addr>() {
        return Some(Host::V4(ip));
    }
    let last = text.rsplit('.').next()?;
    let is_name = text.len() <= 253
        && text.split('.').all(is_plain_label)
        && last.starts_with(|first: char| first.is_ascii_lowercase());
    is_name.then(|| Host::Name(text.to_owned()))
}

/// Excludes two hyphens in a row, which occur in labels that are read differently.
fn is_plain_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !label.starts_with('-')
        && !label.ends_with('-')
        && !label.contains("--")
}
