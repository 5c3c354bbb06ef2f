//! URL patterns of tasks: those of policies, with a scheme and a host.

use crate::pattern::{MAX_PATTERN_BYTES, Pattern, PatternError, Segment, is_garbled, variants};
use crate::policy;
use crate::target::{Scheme, Target};

/// Segment that stands for `*` in [`TaskUrl::example`].
const ANY: &str = "x";
/// Maximum number of times that a path is decoded to find its plain form.
const MAX_DECODINGS: usize = 4;

/// A URL pattern, such as `https://api.example.com/v1/*/items`. It matches as a pattern of `auto_approve_urls` does: a
/// prefix that ends at a segment boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskUrl {
    /// The canonical pattern.
    text: String,
    scheme: Scheme,
    /// The pattern without scheme, always with a port.
    pattern: String,
}

/// Reasons for refusing a URL pattern of a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskUrlError {
    /// No scheme, or another one.
    #[error("write the whole URL with its scheme, as in https://api.example.com/v1/*/items")]
    Scheme,
    /// No host.
    #[error("name the host after the scheme, as in https://api.example.com/v1/*/items")]
    Host,
    /// A path that hides what it matches, and has a plain form.
    #[error("the path has escapes or a `;` that hide what it matches; send its plain form: {plain}")]
    Hidden {
        /// The pattern to send instead.
        plain: String,
    },
    /// A path that hides what it matches, without a plain form.
    #[error(
        "servers read this path in several ways; write it without `;` and without escaped letters, digits, slashes, backslashes, dots and percent signs"
    )]
    Ambiguous,
    /// Refused as a pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl TaskUrl {
    /// Parses a pattern as an agent writes it.
    pub fn parse(text: &str) -> Result<Self, TaskUrlError> {
        let (scheme, rest) = split_scheme(text)?;
        let parsed = Pattern::parse(rest)?;
        let written = rest.find('/').map_or("/", |slash| &rest[slash..]);
        if hides(written) {
            return Err(plain_form(scheme, rest));
        }
        let path = path_of(&parsed);
        if !variants(path.as_bytes()).is_ok_and(|variants| !is_garbled(&variants)) {
            return Err(TaskUrlError::Ambiguous);
        }
        let host = parsed.host.ok_or(TaskUrlError::Host)?;
        let port = parsed.port.unwrap_or(scheme.default_port());
        let shown_port = if port == scheme.default_port() { String::new() } else { format!(":{port}") };
        let pattern = format!("{host}:{port}{path}");
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::TooLong.into());
        }
        Ok(Self { text: format!("{}://{host}{shown_port}{path}", scheme.as_str()), scheme, pattern })
    }

    /// The canonical pattern: the host in lower case, the port unless it is the default one, and the path as it is
    /// matched.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if the pattern covers a request to this target.
    pub fn matches(&self, target: &Target) -> bool {
        target.scheme() == self.scheme && policy::permits(&self.pattern, target)
    }

    /// A URL that the pattern matches, for checks of scheme, host and port.
    pub fn example(&self) -> Option<Target> {
        let (authority, path) = self.pattern.split_once('/')?;
        let segments: Vec<&str> =
            path.split('/').map(|segment| if segment == "*" { ANY } else { segment }).collect();
        Target::parse(&format!("{}://{authority}/{}", self.scheme.as_str(), segments.join("/"))).ok()
    }
}

fn split_scheme(text: &str) -> Result<(Scheme, &str), TaskUrlError> {
    let known = [("https://", Scheme::Https), ("http://", Scheme::Http)];
    let found = known.into_iter().find_map(|(start, scheme)| Some((scheme, text.strip_prefix(start)?)));
    found.ok_or(TaskUrlError::Scheme)
}

/// The canonical path of a pattern.
fn path_of(pattern: &Pattern) -> String {
    let mut path = String::new();
    for segment in &pattern.segments {
        path.push('/');
        match segment {
            Segment::Any => path.push('*'),
            Segment::Literal(text) => path.push_str(&String::from_utf8_lossy(text)),
        }
    }
    if pattern.trailing_slash || path.is_empty() {
        path.push('/');
    }
    path
}

/// True if a path does not say plainly what it matches: parameters after a `;`, or escapes of what is read without them.
fn hides(path: &str) -> bool {
    path.contains(';') || unescaped(path.as_bytes()).is_some()
}

/// The refusal of a path that hides what it matches, with its plain form if there is one.
fn plain_form(scheme: Scheme, rest: &str) -> TaskUrlError {
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut path = path.as_bytes().to_vec();
    for _ in 0..MAX_DECODINGS {
        let Some(decoded) = unescaped(&path) else { break };
        path = decoded;
    }
    let path = String::from_utf8_lossy(&path).replace('\\', "/");
    let bare: Vec<&str> =
        path.split('/').map(|segment| segment.split(';').next().unwrap_or_default()).collect();
    let plain = format!("{}://{authority}{}", scheme.as_str(), bare.join("/"));
    match TaskUrl::parse(&plain) {
        Ok(url) => TaskUrlError::Hidden { plain: url.text },
        Err(_) => TaskUrlError::Ambiguous,
    }
}

/// The path with the escapes decoded that a plain one does not have; `None` if it has none of them.
fn unescaped(path: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, tail)) = rest.split_first() {
        if let (b'%', [high, low, after @ ..]) = (byte, tail)
            && let Some(decoded) = decoded(*high, *low).filter(|decoded| is_plain(*decoded))
        {
            out.push(decoded);
            rest = after;
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    (out.len() != path.len()).then_some(out)
}

fn decoded(high: u8, low: u8) -> Option<u8> {
    let digit = |text: u8| char::from(text).to_digit(16).and_then(|value| u8::try_from(value).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// True for characters whose escape only hides them, or that some servers decode before they split the path.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte.is_ascii_control()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/' | b'\\' | b'%' | b';')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, url: &str) -> bool {
        TaskUrl::parse(pattern).unwrap().matches(&Target::parse(url).unwrap())
    }

    #[test]
    fn a_pattern_names_scheme_and_host() {
        for text in
            ["/v1/items", "api.example.com/v1", "ftp://api.example.com", "HTTPS://api.example.com", ""]
        {
            assert_eq!(TaskUrl::parse(text), Err(TaskUrlError::Scheme), "{text:?}");
        }
        assert_eq!(TaskUrl::parse("https:///v1"), Err(TaskUrlError::Host));
        let star = TaskUrl::parse("https://*.example.com/v1");
        assert_eq!(star, Err(TaskUrlError::Pattern(PatternError::StarInHost)));
        let query = TaskUrl::parse("https://api.example.com/v1?all");
        assert_eq!(query, Err(TaskUrlError::Pattern(PatternError::Query)));
    }

    #[test]
    fn a_pattern_matches_its_own_scheme_host_port_and_path() {
        let pattern = "https://api.example.com/v1/*/items";
        for url in [
            "https://api.example.com/v1/a/items",
            "https://api.example.com:443/v1/a/items?page=2",
            "https://api.example.com/v1/a/items/7",
        ] {
            assert!(matches(pattern, url), "{url}");
        }
        for url in [
            "http://api.example.com/v1/a/items",
            "https://api.example.com:8443/v1/a/items",
            "https://other.example.com/v1/a/items",
            "https://api.example.com/v1/items",
            "https://api.example.com/v1/a/itemset",
            "https://api.example.com/v1/a%2F..%2Fb/items",
            "https://api.example.com/v1/a/items/..;/admin",
        ] {
            assert!(!matches(pattern, url), "{url}");
        }
        assert!(matches("https://api.example.com", "https://api.example.com/anything"));
        assert!(matches("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"));
    }

    #[test]
    fn an_example_is_a_url_that_the_pattern_matches() {
        for text in
            ["https://api.example.com/v1/*/items/", "https://[2001:db8::1]:8443/*", "https://a.example"]
        {
            let url = TaskUrl::parse(text).unwrap();
            assert!(url.matches(&url.example().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_pattern_is_shown_as_it_is_matched() {
        for (written, shown) in [
            ("https://API.Example.com:0443/v1/*", "https://api.example.com/v1/*"),
            ("https://bücher.example/v1", "https://xn--bcher-kva.example/v1"),
            ("http://127.0.0.1:08080/x/", "http://127.0.0.1:8080/x/"),
            ("https://[2001:DB8:0::1]:8443/*", "https://[2001:db8::1]:8443/*"),
            ("https://api.example.com", "https://api.example.com/"),
            ("https://api.example.com/é/a%2ab", "https://api.example.com/%C3%A9/a%2Ab"),
        ] {
            let url = TaskUrl::parse(written).unwrap();
            assert_eq!(url.as_str(), shown);
            assert_eq!(TaskUrl::parse(shown), Ok(url), "{written}");
        }
    }

    #[test]
    fn a_path_that_hides_what_it_matches_is_refused_with_its_plain_form() {
        for (written, plain) in [
            ("/%61%64min", "/admin"),
            ("/%2561dmin", "/admin"),
            ("/v1%2Fadmin/*", "/v1/admin/*"),
            ("/v1%5cadmin", "/v1/admin"),
            ("/v1%2e2/x", "/v1.2/x"),
            ("/v1;a=b/admin;c/", "/v1/admin/"),
            ("/v1%3Ba/x", "/v1/x"),
        ] {
            let refused = TaskUrl::parse(&format!("https://API.example.com{written}"));
            let plain = format!("https://api.example.com{plain}");
            assert_eq!(refused, Err(TaskUrlError::Hidden { plain }), "{written}");
        }
        for written in ["/a%00b", "/100%25", "/%c0%afadmin"] {
            let refused = TaskUrl::parse(&format!("https://api.example.com{written}"));
            assert_eq!(refused, Err(TaskUrlError::Ambiguous), "{written}");
        }
    }
}
