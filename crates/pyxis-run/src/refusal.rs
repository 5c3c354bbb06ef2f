//! Refusals by the proxy itself, written so that tools print them.

use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, PROXY_AUTHENTICATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use pyxis_net::body::{Body, full};
use serde_json::json;

/// Form of a refusal, as the client asked for it. It outlives the request, whose headers go on to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalForm {
    /// Problem details (RFC 9457), with the text in `message`, which most tools print, and in `error`, which npm prints.
    Json,
    /// One line of text.
    Text,
}

impl RefusalForm {
    /// JSON for clients that accept some kind of it, and text for others.
    pub(crate) fn accepted(headers: &HeaderMap) -> Self {
        let is_json = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("json"));
        if headers.get_all(ACCEPT).iter().any(is_json) { Self::Json } else { Self::Text }
    }
}

/// A response that no host gave.
#[derive(Debug)]
pub(crate) struct ProxyRefusal {
    /// HTTP status.
    pub(crate) status: StatusCode,
    /// Stable code, as in `PX-Error`.
    pub(crate) code: String,
    /// One or more sentences for the person who reads the tool's output.
    pub(crate) detail: String,
    /// The transaction, if a person decides.
    pub(crate) txn: Option<String>,
    /// Seconds after which to try again.
    pub(crate) retry_after: Option<HeaderValue>,
}

impl ProxyRefusal {
    /// A refusal without a transaction.
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), detail: detail.into(), txn: None, retry_after: None }
    }

    /// The response.
    pub(crate) fn into_response(self, form: RefusalForm) -> Response<Body> {
        let text = format!("Pyxis: {}", self.detail);
        let (kind, body) = match form {
            RefusalForm::Json => {
                let problem = json!({
                    "type": "about:blank", "title": self.status.canonical_reason(), "status": self.status.as_u16(),
                    "code": self.code, "detail": self.detail, "message": text, "error": text, "txn_id": self.txn,
                });
                ("application/problem+json", problem.to_string())
            }
            RefusalForm::Text => ("text/plain; charset=utf-8", format!("{text}\n")),
        };
        let mut response = Response::new(full(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let named = [("px-error", Some(self.code)), ("px-txn", self.txn)];
        for (name, value) in named {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(name, value);
            }
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds);
        }
        if self.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            let challenge = HeaderValue::from_static("Basic realm=\"pyxis run\"");
            headers.insert(PROXY_AUTHENTICATE, challenge);
        }
        response
    }
}
