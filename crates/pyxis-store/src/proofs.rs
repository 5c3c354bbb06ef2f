//! The registry of proofs with their ranges of heights (`docs/reference/behavior/verification.md#registry`).
//!
//! It belongs to the installation: its public endpoints need no key, so they know no workspace. Anyone who changes it
//! locks all clocks ([`crate::block_clocks::lock`]).

mod ask;
mod nullifier_holders;
mod pages;

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, Kind, NetworkName, ProofNullifier, Subject};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

pub use ask::{RegistryQuery, blocked_among, known_of, live_among, live_until};
pub use nullifier_holders::{assign, release};
pub use pages::{DayCount, Filter, list, per_day};

stored_enum! {
    /// Reason that a proof ended before it expired.
    pub Ended {
        /// Its issuer or a manager revoked it.
        Revoked = "revoked",
        /// The proof moved to another address of the same person.
        Rebound = "rebound",
        /// A newer proof of the same address replaced it.
        Replaced = "replaced",
        /// It had expired when another address registered its nullifier.
        Expired = "expired",
    }
}

row! {
    pub ProofRow: "proofs", proof_columns {
        /// Proof number, higher than all earlier ones.
        id: i64,
        /// Network where it counts.
        network: NetworkName,
        /// Kind of proof.
        kind: Kind,
        /// Address that passed the check.
        subject: Subject,
        /// Action id of the proof.
        action_id: ActionId,
        nullifier: ProofNullifier,
        /// Issuer who signed the registration.
        issuer: String,
        /// Time of the issuer's signature.
        issued_at: UnixMillis,
        /// Expiry, unless it ends earlier.
        expires_at: UnixMillis,
        /// First height at which it is valid.
        from_height: i64,
        /// First height at which it is no longer valid; `None` if it has not ended.
        until_height: Option<i64>,
        /// Reason for an early end.
        ended: Option<Ended>,
        /// Time of the registration.
        registered_at: UnixMillis,
    }
}

use proof_columns;

/// A proof to store.
#[derive(Clone, Debug)]
pub struct NewProof {
    /// Network where it counts.
    pub network: NetworkName,
    /// Kind of proof.
    pub kind: Kind,
    /// Address that passed the check.
    pub subject: Subject,
    /// Action id of the proof.
    pub action_id: ActionId,
    pub nullifier: ProofNullifier,
    /// Issuer who signed the registration.
    pub issuer: String,
    /// Time of the issuer's signature.
    pub issued_at: UnixMillis,
    /// Expiry of the proof.
    pub expires_at: UnixMillis,
    /// First height at which it is valid.
    pub from_height: i64,
    /// Current time.
    pub registered_at: UnixMillis,
}

/// Stores a proof and returns its number. The address must have no open proof of the same kind and action on the
/// network.
pub async fn insert(executor: impl Executor, new: &NewProof) -> Result<i64, StoreError> {
    let query = sql("INSERT INTO proofs (network, kind, subject, action_id, nullifier, issuer, issued_at, \
         expires_at, from_height, registered_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id")
    .bind(&new.network)
    .bind(new.kind)
    .bind(new.subject)
    .bind(new.action_id)
    .bind(new.nullifier)
    .bind(&new.issuer)
    .bind(new.issued_at)
    .bind(new.expires_at)
    .bind(new.from_height)
    .bind(new.registered_at);
    let rows = executor.returning::<(i64,)>(query).await?;
    rows.into_iter().next().map(|(id,)| id).ok_or(StoreError::Conflict { constraint: None })
}

/// Ends a proof at a height. Returns true if it had not ended before.
pub async fn end(executor: impl Executor, id: i64, height: i64, ended: Ended) -> Result<bool, StoreError> {
    let query = sql("UPDATE proofs SET until_height = $1, ended = $2 WHERE id = $3 AND until_height IS NULL");
    Ok(executor.execute(query.bind(height).bind(ended).bind(id)).await? == 1)
}

/// Like [`end`], on behalf of an issuer or a manager. Statements about the address signed before `outdated_before` have
/// no effect anymore.
pub async fn end_signed(
    executor: impl Executor,
    id: i64,
    height: i64,
    ended: Ended,
    outdated_before: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE proofs SET until_height = $1, ended = $2, outdated_before = $3 WHERE id = $4 \
         AND until_height IS NULL");
    Ok(executor.execute(query.bind(height).bind(ended).bind(outdated_before).bind(id)).await? == 1)
}

/// Time before which signed statements about an address are outdated, because a newer one took effect. `None` if there
/// was no statement.
pub async fn outdated_before(
    executor: impl Executor,
    network: &NetworkName,
    kind: Kind,
    subject: Subject,
    action_id: ActionId,
) -> Result<Option<UnixMillis>, StoreError> {
    let query =
        sql("SELECT max(CASE WHEN outdated_before > issued_at THEN outdated_before ELSE issued_at END) \
         FROM proofs WHERE network = $1 AND kind = $2 AND subject = $3 AND action_id = $4");
    let query = query.bind(network).bind(kind).bind(subject).bind(action_id);
    Ok(executor.optional::<(Option<UnixMillis>,)>(query).await?.and_then(|(moment,)| moment))
}

/// The proof with this number.
pub async fn find(executor: impl Executor, id: i64) -> Result<Option<ProofRow>, StoreError> {
    executor.optional(sql(concat!("SELECT ", proof_columns!(), " FROM proofs WHERE id = $1")).bind(id)).await
}

/// The proof of an address that has not been ended. It may have expired.
pub async fn open_of_subject(
    executor: impl Executor,
    network: &NetworkName,
    kind: Kind,
    subject: Subject,
    action_id: ActionId,
) -> Result<Option<ProofRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        proof_columns!(),
        " FROM proofs WHERE network = $1 AND kind = $2 AND subject = $3 AND action_id = $4 \
         AND until_height IS NULL"
    ));
    executor.optional(query.bind(network).bind(kind).bind(subject).bind(action_id)).await
}

/// Proofs of a nullifier that have not been ended, on all networks. They may have expired.
pub async fn open_of_nullifier(
    executor: impl Executor,
    kind: Kind,
    action_id: ActionId,
    nullifier: ProofNullifier,
) -> Result<Vec<ProofRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        proof_columns!(),
        " FROM proofs WHERE kind = $1 AND action_id = $2 AND nullifier = $3 AND until_height IS NULL \
         ORDER BY id"
    ));
    executor.all(query.bind(kind).bind(action_id).bind(nullifier)).await
}

/// All proofs of an address, including ended ones, newest first.
pub async fn of_subject(executor: impl Executor, subject: Subject) -> Result<Vec<ProofRow>, StoreError> {
    let query = sql(concat!("SELECT ", proof_columns!(), " FROM proofs WHERE subject = $1 ORDER BY id DESC"));
    executor.all(query.bind(subject)).await
}
