//! The registry: issuers' statements take effect once, and a person has one address for each use.
//!
//! Every change holds the clocks. So changes happen one after the other, and none in a block that was already answered
//! for.

mod apply;
mod issuer;
mod wire;

use std::borrow::Cow;
use std::collections::BTreeSet;

use pyxis_core::proof::{NetworkName, Statement};
use pyxis_store::StoreError;
use pyxis_store::proofs::Ended;

use crate::error::{BoxError, Error};
use crate::state::State;

pub(crate) use apply::Register;
pub use issuer::{InvalidIssuer, Issuer, IssuerKey, typed_hash};
pub(crate) use wire::StatementBody;
pub use wire::{InvalidStatement, parse, to_json};

/// A statement with its signature.
#[derive(Clone, Debug)]
pub struct SignedStatement {
    pub statement: Statement,
    pub issuer: Issuer,
    /// 64 bytes for Ed25519, 65 for secp256k1.
    pub signature: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementEffect {
    /// `registered`, `revoked` or `rebound`.
    pub status: &'static str,
    /// True if it took effect now, false if it had before.
    pub new: bool,
    /// Block of the change.
    pub height: i64,
    /// Id of the proof that it registered.
    pub proof: Option<i64>,
}

/// Reasons why a statement had no effect.
#[derive(Debug, thiserror::Error)]
pub enum StatementRejection {
    /// The issuer is not on the list of this kind, or the proof is another issuer's.
    #[error("the issuer is not trusted for this kind")]
    IssuerNotAllowed,
    /// The signature is not the issuer's over this statement.
    #[error("the signature does not match the statement and its issuer")]
    BadSignature,
    /// Another address has the nullifier.
    #[error("another address is registered with this nullifier")]
    AlreadyRegistered,
    /// The address that a proof would move to has a proof of another nullifier.
    #[error("the new address is registered with another nullifier")]
    AddressTaken,
    /// A statement that was signed later has already taken effect.
    #[error("a later statement about this address is already in effect")]
    Superseded,
    /// The proof of this very statement has ended.
    #[error("this registration has ended: {}", .0.as_str())]
    HasEnded(Ended),
    /// There is no such live proof.
    #[error("there is no such proof in force")]
    NotFound,
    /// A field has an invalid value.
    #[error("{field}: {reason}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// The fault and its remedy.
        reason: Cow<'static, str>,
    },
    /// The block of a network is unknown, or the database does not respond.
    #[error("cannot write to the registry")]
    Unavailable(#[source] BoxError),
    /// A fault of the server.
    #[error("internal error")]
    Internal(#[source] BoxError),
}

impl StatementRejection {
    /// A stable name for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::IssuerNotAllowed => "issuer_not_allowed",
            Self::BadSignature => "bad_signature",
            Self::AlreadyRegistered | Self::AddressTaken => "already_registered",
            Self::Superseded => "superseded",
            Self::HasEnded(ended) => ended.as_str(),
            Self::NotFound => "not_found",
            Self::Field { .. } => "invalid_field",
            Self::Unavailable(_) => "unavailable",
            Self::Internal(_) => "internal",
        }
    }
}

impl From<StoreError> for StatementRejection {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::Unavailable(error.into()),
            StoreError::Text => {
                Self::Field { field: "nonce", reason: "must not contain the NUL character".into() }
            }
            other => Self::Internal(other.into()),
        }
    }
}

impl From<Error> for StatementRejection {
    fn from(error: Error) -> Self {
        match error {
            Error::UnsupportedNetwork(_) => {
                Self::Field { field: "network", reason: "unknown network".into() }
            }
            Error::Unavailable(error) => Self::Unavailable(error),
            error @ (Error::OtherClock(_) | Error::Behind(_)) => Self::Unavailable(error.into()),
            other => Self::Internal(other.into()),
        }
    }
}

/// Checks and applies one statement.
pub async fn submit(state: &State, signed: &SignedStatement) -> Result<StatementEffect, StatementRejection> {
    // Anyone may send one. So an invalid statement must cost no query to a node and block no other writer.
    apply::check(&state.store, signed, state.now(), state.networks()).await?;
    let outcomes = submit_all(state, std::slice::from_ref(signed)).await?;
    outcomes.into_iter().next().unwrap_or(Err(StatementRejection::NotFound))
}

/// Checks and applies statements in order, in one transaction. A refused one does not affect the others; an error of
/// the whole leaves everything unchanged.
pub async fn submit_all(
    state: &State,
    signed: &[SignedStatement],
) -> Result<Vec<Result<StatementEffect, StatementRejection>>, StatementRejection> {
    let named = signed.iter().filter_map(|one| one.statement.network().cloned());
    let mut networks: BTreeSet<NetworkName> = named.collect();
    loop {
        let mut register = Register::open(state, &networks).await?;
        match register.apply_all(signed).await {
            // The nullifier's holder and network are known only now. Nothing was changed.
            Err(refusal) => match register.lacking.take() {
                Some(network) if networks.insert(network.clone()) => {}
                _ => return Err(refusal),
            },
            Ok(outcomes) => {
                if outcomes.iter().flatten().any(|outcome| outcome.new) {
                    register.tx.commit().await?;
                }
                return Ok(outcomes);
            }
        }
    }
}
