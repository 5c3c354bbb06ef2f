//! Failures of a change, with their messages.

use axum::response::{IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use pyxis_http::Problem;
use pyxis_store::StoreError;

use crate::error::{BoxError, Error as ScoringError};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every failure of a manager's operation. Variants are what the caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workspace has no such thing.
    #[error("not found: {0}")]
    NotFound(&'static str),
    /// The thing's state does not allow this.
    #[error("conflict: {0}")]
    Conflict(&'static str),
    /// Someone else changed the thing since it was read.
    #[error("changed in the meantime: revision {revision} is in force; read it and try again")]
    Changed {
        /// The current revision.
        revision: i64,
    },
    /// A bad value.
    #[error("invalid field {field}: {detail}")]
    InvalidField {
        field: String,
        /// The fault and its remedy.
        detail: String,
    },
    /// Other transactions kept changing the same rows.
    #[error("too busy: others are changing the same item; try again")]
    Busy,
    /// A chain's indexer returned no activity.
    #[error("the indexer of {0} does not respond; try again later")]
    Source(&'static str),
    /// The database does not respond.
    #[error("the database does not respond")]
    Unavailable(#[source] StoreError),
    /// A fault of the server.
    #[error("internal error")]
    Internal(#[source] BoxError),
}

impl Error {
    /// A 422 that names a field.
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::InvalidField { field: field.into(), detail: detail.into() }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Text => Self::field("text", "must not contain the NUL character"),
            _ if error.is_contended() => Self::Busy,
            StoreError::Unavailable(_) => Self::Unavailable(error),
            other => Self::Internal(Box::new(other)),
        }
    }
}

impl From<ScoringError> for Error {
    fn from(error: ScoringError) -> Self {
        match error {
            ScoringError::NoScorer => Self::NotFound("scorer"),
            ScoringError::Busy => Self::Busy,
            ScoringError::Unavailable(error) => Self::Unavailable(error),
            ScoringError::Internal(error) => Self::Internal(error),
            // These answer requests with an API key; the engine never returns them.
            ScoringError::InvalidKey
            | ScoringError::Forbidden
            | ScoringError::InvalidAddress
            | ScoringError::InvalidAddresses(_)
            | ScoringError::NotTexts(..)
            | ScoringError::InvalidLimit
            | ScoringError::InvalidToken
            | ScoringError::MethodNotAllowed
            | ScoringError::Parameter(_)
            | ScoringError::Body { .. }
            | ScoringError::Shape { .. }
            | ScoringError::RateLimited(_)
            | ScoringError::Source(_)
            | ScoringError::TimedOut => Self::Internal(Box::new(error)),
        }
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        use StatusCode as S;
        let said = error.to_string();
        let soon = HeaderValue::from_static("5");
        match error {
            Error::NotFound(_) => Self::new(S::NOT_FOUND, "not_found", said),
            Error::Conflict(_) => Self::new(S::CONFLICT, "conflict", said),
            Error::Changed { revision } => {
                Self::new(S::CONFLICT, "changed", said).with("revision", *revision)
            }
            Error::InvalidField { field, detail } => {
                Self::new(S::UNPROCESSABLE_ENTITY, "invalid_field", format!("{field}: {detail}"))
                    .with("field", field.as_str())
            }
            Error::Busy => Self::new(S::SERVICE_UNAVAILABLE, "busy", said).with_header(RETRY_AFTER, soon),
            Error::Source(_) => {
                Self::new(S::BAD_GATEWAY, "upstream_error", said).with_header(RETRY_AFTER, soon)
            }
            Error::Unavailable(_) => Self::new(
                S::SERVICE_UNAVAILABLE,
                "unavailable",
                "the database is unavailable, so nothing was changed",
            )
            .with_header(RETRY_AFTER, soon),
            Error::Internal(_) => Self::new(S::INTERNAL_SERVER_ERROR, "internal", said),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem = Problem::from(&self);
        if problem.status().is_server_error() {
            let cause = std::error::Error::source(&self).map(ToString::to_string);
            tracing::warn!(error = %self, cause, "administrative request failed");
        }
        problem.into_response()
    }
}
