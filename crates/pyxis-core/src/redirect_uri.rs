//! Redirect URIs of OAuth clients: which are accepted, and when a presented one is the registered one.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Longest redirect URI, in bytes.
const MAX_LENGTH: usize = 2048;

/// Private-use schemes without a period that well-known programs register with the operating system. RFC 8252 asks
/// for a period; these do without it.
const KNOWN_SCHEMES: &[&str] =
    &["claude", "cursor", "goose", "raycast", "vscode", "vscode-insiders", "windsurf", "zed"];

/// Reason that a redirect URI is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRedirectUri {
    /// Not an absolute URI of at most 2048 printable ASCII characters.
    #[error("a redirect URI must be an absolute URI of at most 2048 printable ASCII characters")]
    Malformed,
    /// It has a fragment, which would swallow the parameters of the response.
    #[error("a redirect URI must not have a fragment")]
    Fragment,
    /// It has a user name or a password.
    #[error("a redirect URI must not have a user name or password")]
    UserInfo,
    /// Neither https, nor http on this computer, nor the scheme of a native program.
    #[error(
        "a redirect URI must be https, http on localhost, 127.0.0.1 or [::1], or a native program's own scheme such \
         as com.example.app"
    )]
    Scheme,
}

/// An accepted redirect URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectUri {
    text: String,
    url: Url,
}

impl RedirectUri {
    /// Reads a URI that a client registered or presented.
    pub fn parse(text: &str) -> Result<Self, BadRedirectUri> {
        if text.len() > MAX_LENGTH || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadRedirectUri::Malformed);
        }
        let url = Url::parse(text).map_err(|_| BadRedirectUri::Malformed)?;
        if text.contains('#') {
            return Err(BadRedirectUri::Fragment);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadRedirectUri::UserInfo);
        }
        let accepted = match url.scheme() {
            "https" => true,
            "http" => is_loopback(&url),
            scheme => scheme.contains('.') || KNOWN_SCHEMES.contains(&scheme),
        };
        if accepted { Ok(Self { text: text.to_owned(), url }) } else { Err(BadRedirectUri::Scheme) }
    }

    /// The text as registered or presented.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if the response goes to a program on the person's own computer, where any program can listen.
    pub fn is_local(&self) -> bool {
        self.url.scheme() != "https"
    }

    /// Destination as a person reads it: the host, or the scheme of a native program.
    pub fn destination(&self) -> String {
        match (self.url.scheme(), self.url.host_str()) {
            ("http" | "https", Some(host)) => match self.url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            },
            (scheme, _) => format!("{scheme}:"),
        }
    }

    /// True if `presented` is this registered URI: the same text, except that a loopback one may have another port
    /// (RFC 8252, section 7.3).
    pub fn admits(&self, presented: &Self) -> bool {
        if self.text == presented.text {
            return true;
        }
        let (ours, theirs) = (&self.url, &presented.url);
        let is_loopback_pair = ours.scheme() == "http" && theirs.scheme() == "http";
        is_loopback_pair
            && ours.host() == theirs.host()
            && ours.path() == theirs.path()
            && ours.query() == theirs.query()
    }

    /// The URI with parameters added to its query.
    pub fn with_query(&self, parameters: &[(&str, &str)]) -> String {
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(parameters);
        url.into()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address == Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address == Ipv6Addr::LOCALHOST,
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> RedirectUri {
        RedirectUri::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn only_destinations_that_no_stranger_can_read_or_run_are_accepted() {
        for good in [
            "https://chatgpt.com/connector_platform_oauth_redirect",
            "https://claude.ai/api/mcp/auth_callback",
            "http://localhost:6274/oauth/callback",
            "http://127.0.0.1/cb",
            "http://[::1]:9/cb?a=b",
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "com.example.app:/oauth",
        ] {
            uri(good);
        }
        for (bad, why) in [
            ("http://example.com/cb", BadRedirectUri::Scheme),
            ("http://127.0.0.1.evil.example/cb", BadRedirectUri::Scheme),
            ("http://localhost.evil.example/cb", BadRedirectUri::Scheme),
            ("javascript:alert(1)", BadRedirectUri::Scheme),
            ("data:text/html,x", BadRedirectUri::Scheme),
            ("file:///etc/passwd", BadRedirectUri::Scheme),
            ("ftp://example.com/", BadRedirectUri::Scheme),
            ("https://a.example/cb#x", BadRedirectUri::Fragment),
            ("https://a.example/cb#", BadRedirectUri::Fragment),
            ("https://chatgpt.com@evil.example/", BadRedirectUri::UserInfo),
            ("/cb", BadRedirectUri::Malformed),
            ("https://a.example/c b", BadRedirectUri::Malformed),
            ("https://a.example/\u{e4}", BadRedirectUri::Malformed),
            ("java\nscript:alert(1)", BadRedirectUri::Malformed),
            ("", BadRedirectUri::Malformed),
        ] {
            assert_eq!(RedirectUri::parse(bad).err(), Some(why), "{bad}");
        }
        assert!(RedirectUri::parse(&format!("https://a.example/{}", "x".repeat(2048))).is_err());
    }

    #[test]
    fn a_presented_uri_is_the_registered_text_but_for_the_port_of_a_loopback_one() {
        let admits = |registered: &str, presented: &str| uri(registered).admits(&uri(presented));
        assert!(admits("https://a.example/cb", "https://a.example/cb"));
        for other in [
            "https://a.example/cb/",
            "https://a.example/cb?x=1",
            "https://a.example/CB",
            "https://A.example/cb",
            "https://a.example:444/cb",
            "https://a.example:443/cb",
            "https://b.example/cb",
            "https://a.example/x/../cb",
        ] {
            assert!(!admits("https://a.example/cb", other), "{other}");
        }
        assert!(admits("http://localhost/cb", "http://localhost:51234/cb"));
        assert!(admits("http://127.0.0.1:1/cb", "http://127.0.0.1:51234/cb"));
        assert!(!admits("http://127.0.0.1/cb", "http://localhost:51234/cb"));
        assert!(!admits("http://127.0.0.1/cb", "http://127.0.0.1:51234/other"));
        assert!(!admits("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb?x=1"));
        assert!(!admits("http://localhost/cb", "https://localhost/cb"));
        assert!(!admits("com.example.app:/cb", "com.example.app:/other"));
    }

    #[test]
    fn parameters_are_added_to_the_query_that_is_there() {
        let full = uri("https://a.example/cb?keep=1").with_query(&[("code", "a b"), ("state", "x&y")]);
        assert_eq!(full, "https://a.example/cb?keep=1&code=a+b&state=x%26y");
    }

    #[test]
    fn a_person_reads_the_host_or_the_scheme() {
        for (text, destination, local) in [
            ("https://claude.ai/api/mcp", "claude.ai", false),
            ("http://localhost:6274/cb", "localhost:6274", true),
            ("cursor://anysphere.cursor-mcp/oauth", "cursor:", true),
        ] {
            assert_eq!((uri(text).destination().as_str(), uri(text).is_local()), (destination, local));
        }
    }
}
