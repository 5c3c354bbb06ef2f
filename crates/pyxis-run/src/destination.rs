//! The place that a request or a tunnel is for.

use http::uri::{Authority, Scheme};
use http::{HeaderMap, Uri, header};
use pyxis_core::target::{Host, Target};
use pyxis_net::HostPort;

/// Scheme, host and port, in one spelling.
#[derive(Clone)]
pub(crate) struct Destination {
    root: Target,
}

impl Destination {
    /// The destination of a CONNECT, which must name a port. `None` if it does not, or names no host.
    pub(crate) fn of_connect(uri: &Uri) -> Option<Self> {
        let authority = uri.authority().filter(|authority| authority.port_u16().is_some())?;
        Self::of_parts(&Scheme::HTTPS, authority)
    }

    /// The destination of a request in absolute form.
    pub(crate) fn of_absolute(uri: &Uri) -> Option<Self> {
        Self::of_parts(uri.scheme()?, uri.authority()?)
    }

    /// The destination with this scheme, host and port. `None` if they are not those of a website.
    pub(crate) fn of_parts(scheme: &Scheme, authority: &Authority) -> Option<Self> {
        let is_web = *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS;
        let root = Target::parse(&format!("{scheme}://{authority}/")).ok()?;
        is_web.then_some(Self { root })
    }

    /// The same host and port without TLS.
    pub(crate) fn without_tls(&self) -> Option<Self> {
        let authority = format!("{}:{}", self.root.host(), self.root.port());
        Self::of_parts(&Scheme::HTTP, &authority.parse().ok()?)
    }

    /// True if both have one scheme, host and port.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.root.origin() == other.root.origin()
    }

    /// The root of the destination, by which credentials are found.
    pub(crate) fn root(&self) -> &Target {
        &self.root
    }

    pub(crate) fn host(&self) -> &Host {
        self.root.host()
    }

    /// Host and port, for people.
    pub(crate) fn authority(&self) -> &str {
        self.root.authority()
    }

    /// Host and port to dial.
    pub(crate) fn host_port(&self) -> HostPort {
        HostPort::new(self.root.host().to_string(), self.root.port())
    }

    /// URL of a path here.
    pub(crate) fn url(&self, path_and_query: &str) -> String {
        format!("{}{path_and_query}", self.root.origin())
    }

    /// True if a request names this host and port and no other: by its only `Host` and, if it has one, its authority.
    pub(crate) fn is_named_by(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (first, second) = (hosts.next(), hosts.next());
        let named = first.map(|host| host.to_str().unwrap_or_default());
        let written = uri.authority().map(Authority::as_str);
        let is_same = |text: &str| {
            // Nearly every client writes it as it is written here.
            if text == self.root.authority() {
                return true;
            }
            let authority: Option<Authority> = text.parse().ok();
            let scheme = self.root.scheme().as_str();
            let root = authority.and_then(|named| Target::parse(&format!("{scheme}://{named}/")).ok());
            root.is_some_and(|root| root.host() == self.root.host() && root.port() == self.root.port())
        };
        second.is_none()
            && (named.is_some() || written.is_some())
            && named.is_none_or(is_same)
            && written.is_none_or(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(authority: &str) -> Option<Destination> {
        Destination::of_connect(&Uri::builder().authority(authority).build().ok()?)
    }

    #[test]
    fn a_connect_names_a_host_and_a_port() {
        assert_eq!(connect("API.Example.com:443").unwrap().authority(), "api.example.com");
        assert_eq!(connect("api.example.com:8443").unwrap().url("/x?y"), "https://api.example.com:8443/x?y");
        assert!(connect("api.example.com").is_none());
        assert!(connect("user@api.example.com:443").is_none());
    }

    #[test]
    fn a_request_within_a_tunnel_must_name_the_host_of_the_tunnel() {
        let destination = connect("api.example.com:443").unwrap();
        let named = |host: &[&str], uri: &str| {
            let mut headers = HeaderMap::new();
            for host in host {
                headers.append(header::HOST, host.parse().unwrap());
            }
            destination.is_named_by(&uri.parse().unwrap(), &headers)
        };
        assert!(named(&["API.example.com"], "/"));
        assert!(named(&["api.example.com:443"], "/"));
        assert!(named(&[], "https://api.example.com/"));
        assert!(!named(&["evil.example"], "/"));
        assert!(!named(&["api.example.com:8443"], "/"));
        assert!(!named(&["api.example.com"], "https://evil.example/"));
        assert!(!named(&["api.example.com", "api.example.com"], "/"));
        assert!(!named(&[], "/"));
    }
}
