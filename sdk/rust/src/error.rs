//! Everything that can go wrong.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure. Match on the variant and, for [`Error::Api`], on its kind and code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that cannot be sent. Nothing was sent.
    #[error("{0}")]
    InvalidArgument(String),
    /// No response: no connection, it broke off, or the time was over.
    #[error("{message}")]
    Transport {
        message: String,
        /// False if the request certainly did not reach the server.
        may_have_arrived: bool,
        timed_out: bool,
        /// Number of times that the request was sent.
        attempts: u32,
    },
    /// A response that is not what the API describes, so another program may have sent it.
    #[error("{0}")]
    InvalidResponse(String),
    /// A refusal or failure that the server reports.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// A person denied the request. Nothing was sent to the upstream.
    #[error("a person denied the request{}", reason.as_deref().map(|words| format!(": {words}")).unwrap_or_default())]
    ApprovalDenied { txn_id: String, reason: Option<String> },
    /// No one decided in time, or the request was withdrawn. Nothing was sent to the upstream.
    #[error("the request expired or was withdrawn before a decision")]
    ApprovalExpired { txn_id: String },
    /// No one has decided in the time that the caller allowed. The request still waits.
    #[error("no one has decided about {txn_id} yet")]
    StillPending { txn_id: String },
    /// Approved, but not completed. With the code `outcome_unknown` it may have been executed.
    #[error("{code}: {detail}")]
    NotCompleted { txn_id: String, code: String, detail: String },
}

impl Error {
    /// The server's refusal, if it is one.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            _ => None,
        }
    }
}

/// Refusals and failures by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiErrorKind {
    /// 400: the request cannot be read.
    BadRequest,
    /// 401: the key is missing, unknown or revoked.
    Authentication,
    /// 403: the key may not do this.
    PermissionDenied,
    /// 404: not there, or not yours.
    NotFound,
    /// 409: the state does not allow it.
    Conflict,
    /// 422: well formed, with a bad value.
    Unprocessable,
    /// 429: too many requests. `retry_after` says when to send it again.
    RateLimited,
    /// A forwarded request was sent and got no response: it may have been executed.
    OutcomeUnknown,
    /// 502 or 504: what the server needed to ask failed or did not answer in time.
    Upstream,
    /// 503: nothing was sent or changed.
    Unavailable,
    /// Any other 5xx.
    Server,
    /// Any other 4xx.
    Other,
}

/// One bad entry of a list. `index` is its position in the list that the caller gave, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidEntry {
    pub index: usize,
    pub value: String,
    pub reason: String,
}

/// A response that is no success.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApiError {
    pub kind: ApiErrorKind,
    pub status: u16,
    /// Stable code (`docs/reference/errors.md`); `None` on interfaces that have no codes.
    pub code: Option<String>,
    pub title: Option<String>,
    /// A sentence for people, which can change.
    pub detail: String,
    /// Name of the request in the server's log.
    pub request_id: Option<String>,
    /// Time after which the same request may be sent again.
    pub retry_after: Option<Duration>,
    /// Number of times that the request was sent.
    pub attempts: u32,
    /// True if the attempts were used up.
    pub exhausted: bool,
    /// Bad entries of a list, the first 20 of them.
    pub invalid: Vec<InvalidEntry>,
    /// Every member of the body, for what has no field here.
    pub members: Map<String, Value>,
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.exhausted && self.attempts > 1 {
            write!(formatter, "given up after {} attempts: ", self.attempts)?;
        }
        write!(formatter, "{}: {}", self.status, self.detail)
    }
}

impl std::error::Error for ApiError {}
