//! Failures of a change, with their messages.

use axum::response::{IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use pyxis_http::Problem;
use pyxis_store::StoreError;

use crate::error::{BoxError, Error as Unanswered};
use crate::registry::StatementRejection;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every failure of a manager's operation. Variants are what the caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such thing.
    #[error("not found: {0}")]
    NotFound(&'static str),
    /// The registry belongs to the installation's first workspace.
    #[error("proofs are managed in the first workspace of this installation")]
    Forbidden,
    /// The thing is already in that state.
    #[error("conflict: {0}")]
    Conflict(&'static str),
    /// A bad value.
    #[error("invalid field {field}: {detail}")]
    InvalidField {
        field: &'static str,
        /// The fault and its remedy.
        detail: String,
    },
    /// The database, or a network's node, does not respond.
    #[error("cannot write to the registry")]
    Unavailable(#[source] BoxError),
    /// A fault of the server.
    #[error("internal error")]
    Internal(#[source] BoxError),
}

impl Error {
    /// A 422 that names a field.
    pub fn field(field: &'static str, detail: impl Into<String>) -> Self {
        Self::InvalidField { field, detail: detail.into() }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Text => Self::field("text", "must not contain the NUL character"),
            StoreError::Unavailable(_) => Self::Unavailable(error.into()),
            other => Self::Internal(other.into()),
        }
    }
}

impl From<StatementRejection> for Error {
    fn from(refusal: StatementRejection) -> Self {
        match refusal {
            StatementRejection::NotFound => Self::NotFound("proof"),
            StatementRejection::Field { field, reason } => Self::field(field, reason),
            StatementRejection::Unavailable(error) => Self::Unavailable(error),
            StatementRejection::Internal(error) => Self::Internal(error),
            StatementRejection::AlreadyRegistered => {
                Self::Conflict("another address is registered with this nullifier")
            }
            StatementRejection::AddressTaken => {
                Self::Conflict("the new address is registered with another nullifier")
            }
            StatementRejection::Superseded => {
                Self::Conflict("a later statement about this address is already in effect")
            }
            StatementRejection::HasEnded(_) => Self::Conflict("the proof has ended"),
            // Managers sign nothing.
            StatementRejection::IssuerNotAllowed | StatementRejection::BadSignature => {
                Self::Internal(refusal.into())
            }
        }
    }
}

impl From<Unanswered> for Error {
    fn from(error: Unanswered) -> Self {
        match error {
            Unanswered::UnsupportedNetwork => Self::field("network", "unknown network"),
            Unanswered::Unavailable(error) => Self::Unavailable(error),
            error @ (Unanswered::OtherClock(_) | Unanswered::Behind(_)) => Self::Unavailable(error.into()),
            other => Self::Internal(other.into()),
        }
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        use StatusCode as S;
        let said = error.to_string();
        match error {
            Error::NotFound(_) => Self::new(S::NOT_FOUND, "not_found", said),
            Error::Forbidden => Self::new(S::FORBIDDEN, "forbidden", said),
            Error::Conflict(_) => Self::new(S::CONFLICT, "conflict", said),
            Error::InvalidField { field, detail } => {
                Self::new(S::UNPROCESSABLE_ENTITY, "invalid_field", format!("{field}: {detail}"))
                    .with("field", *field)
            }
            Error::Unavailable(_) => Self::new(
                S::SERVICE_UNAVAILABLE,
                "unavailable",
                "the database or the node of a network is unavailable, so nothing was changed",
            )
            .with_header(RETRY_AFTER, HeaderValue::from_static("5")),
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
