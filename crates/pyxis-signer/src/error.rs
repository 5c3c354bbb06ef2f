//! Errors of the signer and their HTTP responses.

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use pyxis_http::Problem;
use pyxis_signing::oauth1::{AmbiguousBody, ReservedParameter};

/// Any failure of the signer. Each variant is something that the caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request lacks the signer's bearer token, or has a wrong one.
    #[error("send the signer's token: Authorization: Bearer <token>")]
    Unauthenticated,
    /// A required header is missing.
    #[error("missing header: {0}")]
    MissingHeader(&'static str),
    /// A header that must occur once occurs more than once.
    #[error("header sent twice: {0}")]
    DuplicateHeader(&'static str),
    /// The header is not text.
    #[error("bad value in header: {0}")]
    InvalidHeader(&'static str),
    /// The method cannot be forwarded.
    #[error("X-PX-Method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")]
    InvalidMethod,
    /// The URL cannot be signed.
    #[error("invalid target: {0}")]
    InvalidTarget(String),
    /// The egress guard refuses the target.
    #[error("target is not allowed: {0}")]
    TargetNotAllowed(String),
    /// The request already contains `oauth_*` parameters.
    #[error(transparent)]
    Reserved(#[from] ReservedParameter),
    /// The form has a `Content-Encoding`, so its parameters cannot be read.
    #[error("a form body with a Content-Encoding cannot be signed: its parameters are part of the signature")]
    EncodedForm,
    /// No credential has this name.
    #[error("there is no such credential")]
    UnknownCredential {
        /// Names of the existing credentials.
        known: Vec<String>,
    },
    /// The form is larger than the limit for signing.
    #[error("a form body may have at most {max} bytes: its parameters are part of the signature")]
    FormTooLarge {
        /// The limit, in bytes.
        max: usize,
    },
    /// The body ended early.
    #[error("the body ended early")]
    IncompleteBody,
    /// The target is unreachable; nothing was sent.
    #[error("{0}; nothing was sent")]
    Unreachable(&'static str),
    /// Connecting to the target timed out; nothing was sent.
    #[error("connecting to the target timed out; nothing was sent")]
    ConnectTimeout,
    /// The target closed the connection early.
    #[error("{0}")]
    Upstream(&'static str),
    /// The target did not answer in time.
    #[error("the target did not respond in time")]
    UpstreamTimeout,
    /// A request that changes something got no response, and may have been executed.
    #[error("{why}; the request may have been executed and is not sent again")]
    OutcomeUnknown {
        /// Description of the failure.
        why: &'static str,
        /// True if the target stayed silent for too long.
        is_timeout: bool,
    },
    /// Unknown path.
    #[error("unknown path; the signer serves / and /health")]
    NotFound,
    /// `/health` supports only GET and HEAD.
    #[error("/health answers GET and HEAD")]
    MethodNotAllowed,
}

impl From<pyxis_net::Error> for Error {
    fn from(error: pyxis_net::Error) -> Self {
        use pyxis_net::{Error as E, Wait};
        match error {
            E::Blocked(blocked) => Self::TargetNotAllowed(blocked.to_string()),
            E::Timeout(Wait::Connect) => Self::ConnectTimeout,
            E::Timeout(_) => Self::UpstreamTimeout,
            E::RequestBody(_) => Self::IncompleteBody,
            E::Invalid(invalid) => Self::InvalidTarget(invalid.to_string()),
            // These refusals may arrive after the request was sent, but the host did not process it.
            error if error.was_sent() || matches!(error, E::Refused(_) | E::Unprocessed(_)) => {
                Self::Upstream(error.public_message())
            }
            error => Self::Unreachable(error.public_message()),
        }
    }
}

impl Error {
    /// Converts the failure of a request whose method changes something.
    pub(crate) fn unanswered(error: pyxis_net::Error) -> Self {
        use pyxis_net::Error as E;
        // A caller whose own body failed is told so.
        if !error.was_sent() || matches!(error, E::RequestBody(_)) {
            return error.into();
        }
        Self::OutcomeUnknown { why: error.public_message(), is_timeout: matches!(error, E::Timeout(_)) }
    }
}

impl From<AmbiguousBody> for Error {
    fn from(why: AmbiguousBody) -> Self {
        match why {
            AmbiguousBody::TwoTypes => Self::DuplicateHeader("Content-Type"),
            AmbiguousBody::NoText => Self::InvalidHeader("Content-Type"),
            AmbiguousBody::EncodedForm => Self::EncodedForm,
        }
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        use StatusCode as S;
        let (status, code) = match error {
            Error::Unauthenticated => (S::UNAUTHORIZED, "unauthenticated"),
            Error::MissingHeader(_) => (S::BAD_REQUEST, "missing_header"),
            Error::DuplicateHeader(_) => (S::BAD_REQUEST, "duplicate_header"),
            Error::InvalidHeader(_) => (S::BAD_REQUEST, "invalid_header"),
            Error::InvalidMethod => (S::BAD_REQUEST, "invalid_method"),
            Error::InvalidTarget(_) => (S::BAD_REQUEST, "invalid_target"),
            Error::TargetNotAllowed(_) => (S::FORBIDDEN, "target_not_allowed"),
            Error::Reserved(_) => (S::BAD_REQUEST, "oauth_parameter"),
            Error::EncodedForm => (S::BAD_REQUEST, "encoded_form"),
            Error::UnknownCredential { .. } => (S::NOT_FOUND, "credential_not_found"),
            Error::FormTooLarge { .. } => (S::PAYLOAD_TOO_LARGE, "body_too_large"),
            Error::IncompleteBody => (S::BAD_REQUEST, "incomplete_body"),
            Error::Unreachable(_) | Error::Upstream(_) => (S::BAD_GATEWAY, "upstream_error"),
            Error::ConnectTimeout | Error::UpstreamTimeout => (S::GATEWAY_TIMEOUT, "upstream_timeout"),
            Error::OutcomeUnknown { is_timeout: true, .. } => (S::GATEWAY_TIMEOUT, "outcome_unknown"),
            Error::OutcomeUnknown { is_timeout: false, .. } => (S::BAD_GATEWAY, "outcome_unknown"),
            Error::NotFound => (S::NOT_FOUND, "not_found"),
            Error::MethodNotAllowed => (S::METHOD_NOT_ALLOWED, "method_not_allowed"),
        };
        let problem = Self::new(status, code, error.to_string());
        match error {
            Error::Unauthenticated => {
                problem.with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
            }
            Error::UnknownCredential { known } => problem.with_member("credentials", known.clone()),
            Error::MethodNotAllowed => problem.with_header(ALLOW, HeaderValue::from_static("GET, HEAD")),
            _ => problem,
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        Problem::from(&self).into_response()
    }
}
