//! The target of a forwarded request, in one canonical spelling.
//!
//! The text an agent writes is parsed once, here. Policy, grants, `allowed_hosts`, the egress guard and the wire all
//! use the result, so that no two of them can read the same text differently. **The path that policy matches is, byte
//! for byte, the path on the wire** ([`Target::wire`]).
//!
//! Parsing is a WHATWG URL parse (which resolves dot segments, including percent-encoded ones), followed by RFC
//! 3986 section 6.2.2 for the path's escapes. Those of unreserved characters are decoded, the others upper-cased.
//! Nearly all texts are unchanged by this; the fast path (`fast_path`) recognizes them by their characters, with
//! the same result. Texts that WHATWG repairs silently (a backslash, a tab, `https:/host`) are refused instead:
//! other readers may repair them differently.

mod escape;
mod fast_path;
mod host;

use std::borrow::Cow;
use std::fmt;

use url::{Position, Url};

pub use host::Host;

/// The longest target, in bytes, as written and in its canonical spelling.
pub const MAX_BYTES: usize = 8 * 1024;

/// Reasons why a text is not a target. Safe to show to the agent: the text is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Longer than [`MAX_BYTES`].
    #[error("the target is longer than {MAX_BYTES} bytes: send long parameters in the body")]
    TooLong,
    /// A control character, white space or a backslash.
    #[error("the target has a space, control character or backslash: percent-encode it")]
    ForbiddenCharacter,
    /// No scheme, another scheme, or not exactly `//` after it.
    #[error(
        "the target does not begin with https:// or http://: write a whole URL, as in https://api.example.com/path"
    )]
    NotAbsolute,
    /// `user:password@`, even if empty.
    #[error(
        "the target has a user name or password: remove everything up to the @ sign; the proxy adds the credential"
    )]
    Userinfo,
    /// No host, or not one this proxy accepts.
    #[error(
        "the host of the target is malformed: write a DNS name without a final dot, a dotted IPv4 address or a bracketed IPv6 address, none of it percent-encoded"
    )]
    Host,
    /// Not a number from 1 to 65535.
    #[error("the port of the target is not a number from 1 to 65535")]
    Port,
    /// A `%` in the path without two hexadecimal digits after it.
    #[error("the path of the target has a % without two hexadecimal digits: write %25 for a percent sign")]
    Escape,
}

/// The scheme of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain text: the caller allows it only if the credential permits it.
    Http,
    /// TLS.
    Https,
}

impl Scheme {
    /// `http` or `https`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// 80 or 443.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Https, Self::Http].into_iter().find(|scheme| text.eq_ignore_ascii_case(scheme.as_str()))
    }
}

/// An absolute http or https URL without user information and fragment, in canonical spelling.
///
/// `Display` shows it, and parsing that gives an equal target. Two targets are equal if they are the same on the wire;
/// [`Target::written_host`] is not compared.
#[derive(Clone)]
pub struct Target {
    /// Origin and wire form.
    url: String,
    scheme: Scheme,
    host: Host,
    /// Set only if it differs from the canonical host.
    written_host: Option<Box<str>>,
    port: u16,
    /// Start and end of the path in `url`.
    path: (usize, usize),
}

impl Target {
    /// Parses the text of `X-PX-Target`. A fragment is dropped.
    pub fn parse(raw: &str) -> Result<Self, TargetError> {
        if raw.len() > MAX_BYTES {
            return Err(TargetError::TooLong);
        }
        let visible = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
        let forbidden = |c: char| c == '\\' || c.is_control() || c.is_whitespace();
        if !raw.bytes().all(visible) && raw.chars().any(forbidden) {
            return Err(TargetError::ForbiddenCharacter);
        }
        let raw = raw.split_once('#').map_or(raw, |(before, _)| before);
        let (scheme, rest) = raw.split_once("://").ok_or(TargetError::NotAbsolute)?;
        let scheme = Scheme::parse(scheme).ok_or(TargetError::NotAbsolute)?;
        let authority = rest.split(['/', '?']).next().unwrap_or(rest);
        // WHATWG would skip further slashes and find an authority, with user information, after them.
        if authority.is_empty() {
            return Err(TargetError::Host);
        }
        if authority.contains('@') {
            return Err(TargetError::Userinfo);
        }
        fast_path::read(raw, scheme, authority).map_or_else(|| Self::repaired(raw, scheme, authority), Ok)
    }

    /// The target that a URL parser makes of `raw`.
    fn repaired(raw: &str, scheme: Scheme, authority: &str) -> Result<Self, TargetError> {
        let url = Url::parse(raw).map_err(|fault| match fault {
            url::ParseError::InvalidPort => TargetError::Port,
            _ => TargetError::Host,
        })?;
        let written = without_port(authority);
        let host = url.host().and_then(|host| Host::accept(written, host)).ok_or(TargetError::Host)?;
        let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(TargetError::Port)?;
        let path = escape::normalize(url.path()).ok_or(TargetError::Escape)?;
        let start = url[..Position::BeforePath].len();
        let path_range = (start, start + path.len());
        let url = match path {
            Cow::Borrowed(_) => String::from(url),
            Cow::Owned(path) => [&url[..Position::BeforePath], &path, &url[Position::AfterPath..]].concat(),
        };
        if url.len() > MAX_BYTES {
            return Err(TargetError::TooLong);
        }
        let written_host = host.other_spelling(written);
        Ok(Self { url, scheme, host, written_host, port, path: path_range })
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The canonical host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The host for the egress guard: an address as the caller spelled it, in lower case and with the brackets of IPv6.
    /// So the guard sees `0x7f.1` and refuses it. For a name this is the canonical name; [`Target::parse`] accepts no
    /// spelling that could hide another one.
    pub fn written_host(&self) -> &str {
        self.written_host.as_deref().unwrap_or_else(|| self.host_text())
    }

    /// The port; the scheme's default if none was written. Never 0.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The canonical host, and `:port` unless it is the scheme's default. The value of `Host`.
    pub fn authority(&self) -> &str {
        &self.url[self.scheme.as_str().len() + "://".len()..self.path.0]
    }

    /// `scheme://authority`.
    pub fn origin(&self) -> &str {
        &self.url[..self.path.0]
    }

    /// The canonical path, starting with `/`.
    pub fn path(&self) -> &str {
        &self.url[self.path.0..self.path.1]
    }

    /// The query as given, with characters that are illegal on the wire percent-encoded as in WHATWG.
    pub fn query(&self) -> Option<&str> {
        self.url[self.path.1..].strip_prefix('?')
    }

    /// Path and query, byte for byte as on the wire.
    pub fn wire(&self) -> &str {
        &self.url[self.path.0..]
    }

    /// The route that a grant is pinned to: `scheme://host:port/path`, with the port always written.
    pub fn route(&self) -> String {
        format!("{}://{}:{}{}", self.scheme.as_str(), self.host_text(), self.port, self.path())
    }

    fn host_text(&self) -> &str {
        without_port(self.authority())
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for Target {}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// Leaves the query out: some APIs have keys there, and `Debug` ends up in logs.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = if self.query().is_some() { "?…" } else { "" };
        write!(f, "Target({}{query})", &self.url[..self.path.1])
    }
}

/// The host of `host:port`; a colon inside brackets belongs to an IPv6 address.
fn without_port(authority: &str) -> &str {
    match authority.rfind(':') {
        Some(colon) if !authority.ends_with(']') => &authority[..colon],
        _ => authority,
    }
}

#[cfg(test)]
mod tests;
