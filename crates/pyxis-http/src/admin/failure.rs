//! Refused operations as [`Problem`] responses.

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::RETRY_AFTER;
use pyxis_core::admin_error::AdminError;

use crate::Problem;
use crate::problem::{Causes, kinds};

/// Result of a handler.
pub type Result<T, E = AdminFailure> = std::result::Result<T, E>;

/// A refused operation, as a response.
#[derive(Debug)]
pub struct AdminFailure(AdminError);

impl<E: Into<AdminError>> From<E> for AdminFailure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl From<&AdminError> for Problem {
    fn from(error: &AdminError) -> Self {
        let said = error.to_string();
        let soon = |problem: Self| problem.with_header(RETRY_AFTER, HeaderValue::from_static("5"));
        match error {
            AdminError::NotFound(_) => Self::from_kind(kinds::NOT_FOUND, said),
            AdminError::Forbidden(_) => Self::from_kind(kinds::FORBIDDEN, said),
            AdminError::Conflict(_) => Self::from_kind(kinds::CONFLICT, said),
            AdminError::Changed { revision } => {
                Self::from_kind(kinds::CHANGED, said).with_member("revision", *revision)
            }
            AdminError::InvalidField { field, detail } => {
                Self::from_kind(kinds::INVALID_FIELD, format!("{field}: {detail}"))
                    .with_member("field", field.as_str())
            }
            AdminError::Busy => soon(Self::from_kind(kinds::BUSY, said)),
            AdminError::Source(_) => soon(Self::from_kind(kinds::UPSTREAM_ERROR, said)),
            AdminError::Unavailable { what, .. } => {
                let detail = format!("{what} is unavailable, so nothing was changed");
                soon(Self::from_kind(kinds::UNAVAILABLE, detail))
            }
            AdminError::Internal(_) => Self::from_kind(kinds::INTERNAL, said),
        }
    }
}

impl IntoResponse for AdminFailure {
    fn into_response(self) -> Response {
        let problem = Problem::from(&self.0);
        if problem.status().is_server_error() {
            tracing::warn!(error = %Causes(&self.0), "administrative request failed");
        }
        problem.into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(error: &AdminError) -> Problem {
        Problem::from(error)
    }

    #[test]
    fn a_refusal_names_the_field_or_the_revision() {
        let field = problem(&AdminError::field("name", "must not be empty"));
        assert_eq!((field.status().as_u16(), field.code()), (422, "invalid_field"));
        assert_eq!(field.detail(), "name: must not be empty");
        assert_eq!(field.member("field"), Some(&"name".into()));
        let changed = problem(&AdminError::Changed { revision: 7 });
        assert_eq!((changed.status().as_u16(), changed.code()), (409, "changed"));
        assert_eq!(changed.member("revision"), Some(&7.into()));
    }

    #[test]
    fn a_refusal_that_may_pass_says_when_to_try_again_and_keeps_the_cause_to_the_log() {
        let cause = || AdminError::Unavailable { what: "the database", source: "connection refused".into() };
        assert_eq!(problem(&cause()).detail(), "the database is unavailable, so nothing was changed");
        assert_eq!(Causes(&cause()).to_string(), "the database does not respond: connection refused");
        for error in [cause(), AdminError::Busy, AdminError::Source("Ethereum")] {
            let response = AdminFailure::from(error).into_response();
            assert_eq!(response.headers()[RETRY_AFTER], "5");
        }
        assert_eq!(problem(&AdminError::internal("a secret")).detail(), "internal error");
    }
}
