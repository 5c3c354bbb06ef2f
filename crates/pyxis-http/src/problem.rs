//! RFC 9457 problem bodies, the JSON error format of the proxy, admin and signer interfaces.

mod causes;
pub mod kinds;

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, StatusCode};
use pyxis_core::id::RequestId;
use serde_json::{Map, Value};

pub use causes::Causes;

/// Header that marks a response made by Pyxis itself, to distinguish it from the upstream's.
pub const PX_ERROR: HeaderName = HeaderName::from_static("px-error");

/// Status and stable code of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemKind {
    pub status: StatusCode,
    /// As in `code` and `PX-Error`.
    pub code: &'static str,
}

/// Declares problems as constants, and `ALL` of them for the API description.
#[macro_export]
macro_rules! problem_kinds {
    ($($name:ident = ($status:expr, $code:literal);)+) => {
        $(pub const $name: $crate::problem::ProblemKind =
            $crate::problem::ProblemKind { status: $status, code: $code };)+

        /// Every problem of this list.
        pub const ALL: &[$crate::problem::ProblemKind] = &[$($name),+];
    };
}

/// An error response. Everything in it is safe to show to the client.
#[derive(Clone, Debug)]
pub struct Problem(Box<Fields>);

#[derive(Clone, Debug)]
struct Fields {
    status: StatusCode,
    code: &'static str,
    detail: Cow<'static, str>,
    extra: Map<String, Value>,
    headers: HeaderMap,
}

impl Problem {
    /// Creates a problem with a stable machine-readable `code` and a one-sentence `detail`.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Fields {
            status,
            code,
            detail: detail.into(),
            extra: Map::new(),
            headers: HeaderMap::new(),
        }))
    }

    /// Creates a problem of a kind that the API description lists.
    pub fn from_kind(kind: ProblemKind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(kind.status, kind.code, detail)
    }

    /// Adds a member to the body.
    #[must_use]
    pub fn with_member(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.0.extra.insert(member.to_owned(), value.into());
        self
    }

    /// Adds a response header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.insert(name, value);
        self
    }

    /// HTTP status of the response.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// Stable, machine-readable code.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// Human-readable sentence.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// A member added by [`with_member`](Self::with_member).
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.0.extra.get(name)
    }

    /// The body of the response, with the request's id if known.
    pub fn document(&self, request: Option<RequestId>) -> Value {
        let mut body = Map::new();
        body.insert("type".into(), "about:blank".into());
        body.insert("title".into(), self.0.status.canonical_reason().unwrap_or("Error").into());
        body.insert("status".into(), self.0.status.as_u16().into());
        body.insert("code".into(), self.0.code.into());
        body.insert("detail".into(), self.0.detail.as_ref().into());
        if let Some(request) = request {
            body.insert("request_id".into(), request.to_string().into());
        }
        body.extend(self.0.extra.clone());
        Value::Object(body)
    }

    /// Renders the response, with the request's id if known.
    pub fn render(&self, request: Option<RequestId>) -> Response {
        let mut response = (self.0.status, self.document(request).to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(PX_ERROR, HeaderValue::from_static(self.0.code));
        headers.extend(self.0.headers.clone());
        response
    }
}

impl IntoResponse for Problem {
    /// The request-id layer takes the problem from the extensions and renders it again with the id.
    fn into_response(self) -> Response {
        let mut response = self.render(None);
        response.extensions_mut().insert(self);
        response
    }
}
