//! What can go wrong, and how each of it is told.

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use pyxis_http::Problem;
use pyxis_signing::oauth1::{AmbiguousBody, ReservedParameter};

/// Every failure of the signer. Variants are what the caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The signer wants a bearer token, and this is not it.
    #[error("send the signer's token: Authorization: Bearer <token>")]
    Unauthenticated,
    /// A required header is absent.
    #[error("missing header: {0}")]
    MissingHeader(&'static str),
    /// A header that must stand once stands twice.
    #[error("header sent twice: {0}")]
    DuplicateHeader(&'static str),
    /// A header that is not text.
    #[error("bad value in header: {0}")]
    InvalidHeader(&'static str),
    /// Not a method that can be forwarded.
    #[error("X-PX-Method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")]
    InvalidMethod,
    /// Not a URL that can be signed for.
    #[error("invalid target: {0}")]
    InvalidTarget(String),
    /// The egress guard refuses the target.
    #[error("target is not allowed: {0}")]
    TargetNotAllowed(String),
    /// The request brings `oauth_*` parameters.
    #[error(transparent)]
    Reserved(#[from] ReservedParameter),
    /// A form whose parameters cannot be seen.
    #[error("a form body with a Content-Encoding cannot be signed: its parameters are part of the signature")]
    EncodedForm,
    /// No such credential.
    #[error("there is no such credential")]
    UnknownCredential {
        /// The ones that there are.
        known: Vec<String>,
    },
    /// A form is larger than what is kept in memory to sign it.
    #[error("a form body may have at most {max} bytes: its parameters are part of the signature")]
    FormTooLarge {
        /// The limit, in bytes.
        max: usize,
    },
    /// The body ended early.
    #[error("the body ended early")]
    IncompleteBody,
    /// The target could not be reached: nothing was sent.
    #[error("{0}; nothing was sent")]
    Unreachable(&'static str),
    /// No connection to the target in time: nothing was sent.
    #[error("no connection to the target in time; nothing was sent")]
    ConnectTimeout,
    /// The target broke off.
    #[error("{0}")]
    Upstream(&'static str),
    /// The target did not answer in time.
    #[error("the target did not answer in time")]
    UpstreamTimeout,
    /// A request that changes something has no answer, and may have been carried out.
    #[error("{why}: the request may have been carried out; it is not sent again")]
    OutcomeUnknown {
        /// What happened.
        why: &'static str,
        /// True where the target kept silent for too long.
        is_timeout: bool,
    },
    /// Nothing is served at this path.
    #[error("there is nothing at this path; the signer serves / and /health")]
    NotFound,
    /// `/health` answers GET and HEAD.
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
            // These refusals may come after the request, which such a host does not look at.
            error if error.was_sent() || matches!(error, E::Refused(_) | E::Unprocessed(_)) => {
                Self::Upstream(error.public_message())
            }
            error => Self::Unreachable(error.public_message()),
        }
    }
}

impl Error {
    /// The failure of a request with a method that changes something.
    pub(crate) fn unanswered(error: pyxis_net::Error) -> Self {
        use pyxis_net::Error as E;
        // The caller who broke off its own body is told so.
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
            Error::UnknownCredential { known } => problem.with("credentials", known.clone()),
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
