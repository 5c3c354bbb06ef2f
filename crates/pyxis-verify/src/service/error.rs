//! Failures of the registry and of networks as refusals of a manager's operation.

use pyxis_core::BoxError;
use pyxis_core::admin_error::AdminError;

use crate::error::Error;
use crate::registry::StatementRejection;

/// Either of them keeps a change from being made.
fn unavailable(source: impl Into<BoxError>) -> AdminError {
    AdminError::Unavailable { what: "the database or the node of a network", source: source.into() }
}

impl From<StatementRejection> for AdminError {
    fn from(refusal: StatementRejection) -> Self {
        match refusal {
            StatementRejection::NotFound => Self::not_found("proof"),
            StatementRejection::Field { field, reason } => Self::field(field, reason),
            StatementRejection::Unavailable(error) => unavailable(error),
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
                Self::internal(refusal)
            }
        }
    }
}

impl From<Error> for AdminError {
    fn from(error: Error) -> Self {
        match error {
            Error::UnsupportedNetwork(_) => Self::field("network", "unknown network"),
            Error::Unavailable(error) => unavailable(error),
            error @ (Error::OtherClock(_) | Error::Behind(_)) => unavailable(error),
            other => Self::internal(other),
        }
    }
}
