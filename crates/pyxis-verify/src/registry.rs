//! The registry: what issuers sign takes effect, once, and one human has one address for each use.
//!
//! Every change holds the clocks, so changes happen one after the other and none in a block for which an
//! answer was given.

mod apply;
mod issuer;
mod wire;

use std::collections::BTreeSet;

use pyxis_core::proof::{NetworkName, Statement};
use pyxis_store::StoreError;
use pyxis_store::proofs::Ended;

use crate::error::{BoxError, Error};
use crate::state::State;

pub(crate) use apply::Register;
pub use issuer::{InvalidIssuer, Issuer, IssuerKey, typed_hash};
pub use wire::{InvalidStatement, parse, to_json};

/// A statement with its signature.
#[derive(Clone, Debug)]
pub struct SignedStatement {
    /// What is said.
    pub statement: Statement,
    /// Who says so.
    pub issuer: Issuer,
    /// 64 bytes of Ed25519, or 65 of secp256k1.
    pub signature: Vec<u8>,
}

/// What a statement did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementEffect {
    /// `registered`, `revoked` or `rebound`.
    pub status: &'static str,
    /// True if it did so now; else it had before.
    pub new: bool,
    /// In which block.
    pub height: i64,
    /// The proof that it registered.
    pub proof: Option<i64>,
}

/// Why a statement did nothing.
#[derive(Debug, thiserror::Error)]
pub enum StatementRejection {
    /// The issuer is not on the list of this kind, or the proof is another issuer's.
    #[error("the issuer is not allowed to say so about this kind")]
    IssuerNotAllowed,
    /// The signature is not the issuer's, over this statement.
    #[error("the signature does not fit the statement and its issuer")]
    BadSignature,
    /// Another address has the nullifier.
    #[error("another address is registered with this nullifier")]
    AlreadyRegistered,
    /// The address that a proof would move to has a proof of another nullifier.
    #[error("the new address is registered with another nullifier")]
    AddressTaken,
    /// Something that was signed later took effect already.
    #[error("a later statement about this address took effect already")]
    Superseded,
    /// The proof of this very statement has ended.
    #[error("this registration has ended: {}", .0.as_str())]
    HasEnded(Ended),
    /// There is no such proof that still counts.
    #[error("there is no live proof like that")]
    NotFound,
    /// A field cannot be.
    #[error("{field}: {reason}")]
    Field {
        /// Which.
        field: &'static str,
        /// What is wrong and what to do.
        reason: &'static str,
    },
    /// The block of a network is not known, or the database does not answer.
    #[error("the registry cannot be written to")]
    Unavailable(#[source] BoxError),
    /// Ours.
    #[error("internal error")]
    Internal(#[source] BoxError),
}

impl StatementRejection {
    /// Its stable name.
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
            StoreError::Text => Self::Field { field: "nonce", reason: "must not hold the NUL character" },
            other => Self::Internal(other.into()),
        }
    }
}

impl From<Error> for StatementRejection {
    fn from(error: Error) -> Self {
        match error {
            Error::UnsupportedNetwork => Self::Field { field: "network", reason: "there is no such network" },
            Error::Unavailable(error) => Self::Unavailable(error),
            error @ (Error::OtherClock(_) | Error::Behind(_)) => Self::Unavailable(error.into()),
            other => Self::Internal(other.into()),
        }
    }
}

/// Checks and applies one statement.
pub async fn submit(state: &State, signed: &SignedStatement) -> Result<StatementEffect, StatementRejection> {
    // Anybody may send one, so that it costs no node a question, and no other writer its turn, until it is a good one.
    apply::check(&state.store, signed, state.now(), state.networks()).await?;
    let outcomes = submit_all(state, std::slice::from_ref(signed)).await?;
    outcomes.into_iter().next().unwrap_or(Err(StatementRejection::NotFound))
}

/// Checks and applies statements in their order, in one transaction. One that is refused leaves the others
/// alone; an error of the whole leaves everything as it was.
pub async fn submit_all(
    state: &State,
    signed: &[SignedStatement],
) -> Result<Vec<Result<StatementEffect, StatementRejection>>, StatementRejection> {
    let named = signed.iter().filter_map(|one| one.statement.network().cloned());
    let mut networks: BTreeSet<NetworkName> = named.collect();
    loop {
        let mut register = Register::open(state, &networks).await?;
        match register.apply_all(signed).await {
            // Whose nullifier it is, and where, is known only now. Nothing was changed.
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
