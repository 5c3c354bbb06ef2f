//! The registry of proofs (decisions, Registry): who proved what, from which height until which.
//!
//! It belongs to the installation: its public endpoints ask for no key, so they know no workspace. Whoever
//! changes it holds every clock ([`crate::block_clocks::lock`]).

mod ask;
mod holders;
mod pages;

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, Kind, NetworkName, ProofNullifier, Subject};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

pub use ask::{RegistryQuery, blocked_among, known_of, live_among, live_until};
pub use holders::{release, take};
pub use pages::{DayCount, Filter, list, per_day};

stored_enum! {
    /// Why a proof has ended before it expired.
    pub Ended {
        /// Its issuer or a manager revoked it.
        Revoked = "revoked",
        /// The human has another address now.
        Rebound = "rebound",
        /// A newer proof of the same address took its place.
        Replaced = "replaced",
        /// It had expired when another address registered its nullifier.
        Expired = "expired",
    }
}

row! {
    /// A proof.
    pub ProofRow: "proofs", proof_columns {
        /// Number, higher than that of every proof before.
        id: i64,
        /// Where it counts.
        network: NetworkName,
        /// What was proved.
        kind: Kind,
        /// Who proved it.
        subject: Subject,
        /// For which use.
        action_id: ActionId,
        /// The human's mark.
        nullifier: ProofNullifier,
        /// Who signed the registration.
        issuer: String,
        /// When the issuer signed.
        issued_at: UnixMillis,
        /// When it expires, if nothing ends it before.
        expires_at: UnixMillis,
        /// The first block in which it holds.
        from_height: i64,
        /// The first block in which it does not; `None` while nothing ended it.
        until_height: Option<i64>,
        /// What ended it.
        ended: Option<Ended>,
        /// When it came in.
        registered_at: UnixMillis,
    }
}

use proof_columns;

/// A proof to store.
#[derive(Clone, Debug)]
pub struct NewProof {
    /// Where it counts.
    pub network: NetworkName,
    /// What was proved.
    pub kind: Kind,
    /// Who proved it.
    pub subject: Subject,
    /// For which use.
    pub action_id: ActionId,
    /// The human's mark.
    pub nullifier: ProofNullifier,
    /// Who signed the registration.
    pub issuer: String,
    /// When the issuer signed.
    pub issued_at: UnixMillis,
    /// When it expires.
    pub expires_at: UnixMillis,
    /// The first block in which it holds.
    pub from_height: i64,
    /// The present moment.
    pub registered_at: UnixMillis,
}

/// Stores a proof; its number. The address must have no open proof of the same kind and action there.
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

/// Ends a proof at a height; whether nothing had ended it before.
pub async fn end(executor: impl Executor, id: i64, height: i64, ended: Ended) -> Result<bool, StoreError> {
    let query = sql("UPDATE proofs SET until_height = $1, ended = $2 WHERE id = $3 AND until_height IS NULL");
    Ok(executor.execute(query.bind(height).bind(ended).bind(id)).await? == 1)
}

/// The same by the word of an issuer or a manager: what was signed about the address before `outdated_before`
/// has no effect any more.
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

/// The moment before which nothing that was signed about an address takes effect any more: it is older than
/// what did. `None` while nothing was said.
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

/// One proof.
pub async fn find(executor: impl Executor, id: i64) -> Result<Option<ProofRow>, StoreError> {
    executor.optional(sql(concat!("SELECT ", proof_columns!(), " FROM proofs WHERE id = $1")).bind(id)).await
}

/// The proof of an address that nothing has ended; it may have expired.
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

/// The proofs of a nullifier that nothing has ended, on every network; they may have expired.
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

/// Every proof of an address, whatever became of it, newest first.
pub async fn of_subject(executor: impl Executor, subject: Subject) -> Result<Vec<ProofRow>, StoreError> {
    let query = sql(concat!("SELECT ", proof_columns!(), " FROM proofs WHERE subject = $1 ORDER BY id DESC"));
    executor.all(query.bind(subject)).await
}
