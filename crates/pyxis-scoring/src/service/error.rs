//! Failures of the engine as refusals of a manager's operation.

use pyxis_core::admin_error::AdminError;

use crate::error::Error;

impl From<Error> for AdminError {
    fn from(error: Error) -> Self {
        match error {
            Error::NoScorer => Self::not_found("scorer"),
            Error::Busy => Self::Busy,
            Error::ScoreTooLarge => Self::Conflict(
                "the score or its threshold exceeds 429496.7295, the most that the schema holds",
            ),
            Error::Unavailable(error) => error.into(),
            Error::Internal(error) => Self::Internal(error),
            // These answer requests with an API key; the engine never returns them.
            Error::InvalidKey
            | Error::Forbidden
            | Error::InvalidAddress
            | Error::InvalidAddresses(_)
            | Error::NotTexts(..)
            | Error::InvalidLimit
            | Error::InvalidToken
            | Error::MethodNotAllowed
            | Error::Parameter(_)
            | Error::Body { .. }
            | Error::Shape { .. }
            | Error::PartialScore
            | Error::RateLimited(_)
            | Error::Source(_)
            | Error::Widget(_)
            | Error::TimedOut => Self::internal(error),
        }
    }
}
