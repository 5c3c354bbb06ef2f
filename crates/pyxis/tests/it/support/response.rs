//! Responses.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::task::JoinHandle;

/// A response whose body has not been read yet.
pub(crate) struct StreamedResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    connection: JoinHandle<()>,
}

impl Drop for StreamedResponse {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl StreamedResponse {
    pub(super) fn new(response: Response<Incoming>, connection: JoinHandle<()>) -> Self {
        let (parts, body) = response.into_parts();
        Self { status: parts.status.as_u16(), headers: parts.headers, body, connection }
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Bytes> {
        loop {
            let frame = self.body.frame().await?.expect("a body that is not broken off");
            if let Ok(data) = frame.into_data() {
                return Some(data);
            }
        }
    }

    /// The rest. Panics if the body is broken off.
    pub(crate) async fn read(self) -> HttpResponse {
        self.try_read().await.expect("a body that is not broken off")
    }

    pub(crate) async fn try_read(mut self) -> Result<HttpResponse, hyper::Error> {
        let mut body = BytesMut::new();
        let mut trailers = HeaderMap::new();
        while let Some(frame) = self.body.frame().await {
            match frame?.into_data() {
                Ok(data) => body.extend_from_slice(&data),
                Err(frame) => trailers = frame.into_trailers().expect("data or trailers"),
            }
        }
        Ok(HttpResponse { status: self.status, headers: self.headers.clone(), body: body.freeze(), trailers })
    }
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: HeaderMap,
}

impl HttpResponse {
    /// The only value of a header; `None` if it is absent. Panics if it came twice.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        assert!(values.next().is_none(), "header {name} came more than once");
        Some(value.to_str().expect("a header that is text"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// Returns the response if it has this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{:?}", self.text(), self.headers);
        self
    }

    /// Checks that Pyxis refused with this code, in the common form of refusals (RFC 9457 and `PX-Error`), and returns
    /// the problem.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!((self.status, self.header("px-error")), (status, Some(code)), "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["code"], code);
        assert_eq!(problem["status"], status);
        for field in ["detail", "request_id"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {problem}");
        }
        problem
    }

    /// Checks that this is the upstream's response, not one of Pyxis.
    #[track_caller]
    pub(crate) fn forwarded(self, status: u16) -> Self {
        assert_eq!(self.header("px-error"), None, "{}", self.text());
        self.expect(status)
    }

    /// The transaction that a 202 names.
    #[track_caller]
    pub(crate) fn txn(&self) -> String {
        assert_eq!(self.status, 202, "{}", self.text());
        self.json()["txn_id"].as_str().expect("a txn_id").to_owned()
    }

    /// Checks that no header, trailer or body has this text.
    #[track_caller]
    pub(crate) fn hides(&self, secret: &str) {
        let all = format!("{:?} {:?} {}", self.headers, self.trailers, self.text());
        assert!(!all.contains(secret), "the answer shows {secret}: {all}");
    }
}
