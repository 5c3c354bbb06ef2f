//! Host spelling. Each address has one spelling, so that the guard and the dialer never read the same text differently.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

use super::Blocked;

/// Host in URL form (`example.com`, `192.0.2.1`, `[2001:db8::1]`) and port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    host: String,
    port: u16,
}

/// The URI does not have the scheme `http` or `https`, or has no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an absolute http or https url with a host")]
pub struct NotAnOrigin;

impl HostPort {
    /// Creates the pair unchecked; [`super::Guard`] does the checks.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// Host and port of an absolute URI. The port defaults to that of the scheme.
    pub fn from_uri(uri: &Uri) -> Result<Self, NotAnOrigin> {
        origin(uri).map(|(host, port)| Self::new(host, port))
    }

    /// Host as written in the URL.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port number.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Borrowed host and port for [`HostPort::from_uri`].
pub(crate) fn origin(uri: &Uri) -> Result<(&str, u16), NotAnOrigin> {
    let default = match uri.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        _ => return Err(NotAnOrigin),
    };
    let authority = uri.authority().ok_or(NotAnOrigin)?;
    let host = authority.host();
    // `http::Uri` reads `host:` and `host:99999` as "no port", which is not what was written.
    match authority.port() {
        Some(port) => Ok((host, port.as_u16())),
        None if authority.as_str().ends_with(host) => Ok((host, default)),
        None => Err(NotAnOrigin),
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A well-formed host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostKind {
    Ip(IpAddr),
    /// A DNS name, with the reason to refuse it, if any.
    Name(Option<Blocked>),
}

/// RFC 6761 (localhost), RFC 6762 (local), RFC 8375 (home.arpa), and `internal`, which ICANN
/// reserved for private use in 2024.
const LOCAL_SUFFIXES: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];

impl HostKind {
    /// Parses `host`. `Err` if no resolver should ever see it.
    pub(super) fn parse(host: &str) -> Result<Self, Blocked> {
        if let Some(inner) = host.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(Blocked::MalformedHost)?;
            // The standard parser rejects zone identifiers such as `fe80::1%eth0`.
            return inner
                .parse::<Ipv6Addr>()
                .map(|ip| Self::Ip(ip.into()))
                .map_err(|_| Blocked::MalformedHost);
        }
        if let Ok(ip) = host.parse::<Ipv4Addr>() {
            return Ok(Self::Ip(ip.into()));
        }
        if host.ends_with('.') {
            return Err(Blocked::TrailingDot);
        }
        if host.is_empty() || host.len() > 253 || !host.split('.').all(is_label) {
            return Err(Blocked::MalformedHost);
        }
        // C libraries read `127.1`, `0x7f.1` and `017700000001` as addresses, and no public top-level
        // domain is a number (RFC 3696, section 2).
        let last = host.rsplit('.').next().unwrap_or(host);
        if is_number(last) {
            return Err(Blocked::NumericHost);
        }
        Ok(Self::Name(objection(host)))
    }
}

fn objection(name: &str) -> Option<Blocked> {
    if LOCAL_SUFFIXES.iter().any(|suffix| is_under(name, suffix)) {
        return Some(Blocked::LocalName);
    }
    (!name.contains('.')).then_some(Blocked::SingleLabel)
}

/// True if `name` is `suffix` or ends in `.suffix`, ignoring case.
fn is_under(name: &str, suffix: &str) -> bool {
    let Some(start) = name.len().checked_sub(suffix.len()) else { return false };
    let name = name.as_bytes();
    name[start..].eq_ignore_ascii_case(suffix.as_bytes()) && (start == 0 || name[start - 1] == b'.')
}

/// True for letters, digits, inner hyphens, and underscores, which real host names contain.
fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        && bytes[0] != b'-'
        && bytes[bytes.len() - 1] != b'-'
}

fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    hex.map_or_else(
        || label.bytes().all(|b| b.is_ascii_digit()),
        |digits| digits.bytes().all(|b| b.is_ascii_hexdigit()),
    )
}
