//! Requests to the proxy itself: its certificate and its health, for clients that share no directory with it.
//!
//! Both are public, so that neither needs the token: the certificate is sent in every handshake, and the health is one
//! word.

use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Method, Response, StatusCode, Uri};
use pyxis_net::body::{Body, full};

use crate::destination::Destination;
use crate::refusal::{ProxyRefusal, RefusalForm};

/// Path of the authority's certificate.
const CERTIFICATE: &str = "/ca.pem";
/// Path of the health check.
const HEALTH: &str = "/healthz";

/// Pages of a proxy that serves programs it did not start.
pub(crate) struct OwnPages {
    /// Root of the URL by which clients reach the proxy.
    root: Option<Destination>,
    is_ready: AtomicBool,
}

impl OwnPages {
    /// The pages of a proxy that clients reach at `address`. It is starting.
    pub(crate) fn new(address: &Authority) -> Self {
        Self { root: Destination::of_parts(&Scheme::HTTP, address), is_ready: AtomicBool::new(false) }
    }

    /// Says from now on that the proxy is ready.
    pub(crate) fn ready(&self) {
        self.is_ready.store(true, Ordering::Release);
    }

    /// True for a request to the proxy itself: in origin form, or for the address of the proxy. That is what a
    /// client sends that uses the proxy for every host.
    pub(crate) fn owns(&self, method: &Method, uri: &Uri) -> bool {
        if *method == Method::CONNECT {
            return false;
        }
        match Destination::of_absolute(uri) {
            Some(destination) => self.root.as_ref().is_some_and(|root| root.is_same(&destination)),
            None => uri.authority().is_none() && uri.path().starts_with('/'),
        }
    }

    /// The response to such a request.
    pub(crate) fn answer(
        &self,
        method: &Method,
        uri: &Uri,
        form: RefusalForm,
        certificate: &str,
    ) -> Response<Body> {
        let path = uri.path();
        if path != CERTIFICATE && path != HEALTH {
            let detail = "this is a proxy. Its own pages are /ca.pem and /healthz; for other hosts, send CONNECT or a \
                request with a whole http:// URL, with the token of HTTPS_PROXY";
            return ProxyRefusal::new(StatusCode::NOT_FOUND, "not_found", detail).into_response(form);
        }
        if *method != Method::GET && *method != Method::HEAD {
            let detail = format!("{path} of this proxy can only be read: send GET");
            let refusal = ProxyRefusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail);
            let mut response = refusal.into_response(form);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        if path == CERTIFICATE {
            return page(StatusCode::OK, "application/x-pem-file", certificate.to_owned());
        }
        let (status, word) = if self.is_ready.load(Ordering::Acquire) {
            (StatusCode::OK, "ok")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "starting")
        };
        page(status, "application/json", format!("{{\"status\":\"{word}\"}}\n"))
    }
}

fn page(status: StatusCode, kind: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> OwnPages {
        OwnPages::new(&"pyxis-proxy:8702".parse().unwrap())
    }

    fn status(pages: &OwnPages, method: &Method, path: &str) -> u16 {
        pages.answer(method, &path.parse().unwrap(), RefusalForm::Text, "PEM").status().as_u16()
    }

    #[test]
    fn only_requests_to_the_proxy_itself_are_its_own() {
        let owns = |method: Method, uri: &str| pages().owns(&method, &uri.parse().unwrap());
        for own in [
            "/ca.pem",
            "/",
            "//other.example/x",
            "http://pyxis-proxy:8702/ca.pem",
            "http://PYXIS-PROXY:8702/",
        ] {
            assert!(owns(Method::GET, own), "{own}");
        }
        for other in [
            "http://pyxis-proxy/ca.pem",
            "https://pyxis-proxy:8702/ca.pem",
            "http://other.example:8702/ca.pem",
            "http://pyxis-proxy:8702@other.example/ca.pem",
            "*",
        ] {
            assert!(!owns(Method::GET, other), "{other}");
        }
        assert!(!owns(Method::CONNECT, "pyxis-proxy:8702"));
    }

    #[test]
    fn the_health_says_starting_until_clients_can_use_the_proxy() {
        let pages = pages();
        assert_eq!(status(&pages, &Method::GET, "/healthz"), 503);
        pages.ready();
        assert_eq!(status(&pages, &Method::GET, "/healthz"), 200);
    }

    #[test]
    fn nothing_but_two_paths_is_served_and_nothing_can_be_written() {
        let pages = pages();
        for path in ["/", "/env.sh", "/ca.pem/", "/ca.pem/../env.sh", "/CA.PEM", "/proxy.json", "/%63a.pem"] {
            assert_eq!(status(&pages, &Method::GET, path), 404, "{path}");
        }
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            assert_eq!(status(&pages, &method, "/ca.pem"), 405, "{method}");
        }
        assert_eq!(status(&pages, &Method::HEAD, "/ca.pem"), 200);
    }
}
