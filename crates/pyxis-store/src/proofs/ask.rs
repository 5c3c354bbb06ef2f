//! Queries of the registry at a height.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, Kind, NetworkName, Subject};

use super::{ProofRow, proof_columns};
use crate::db::sql;
use crate::{Executor, StoreError};

/// Question about an address.
#[derive(Clone, Debug)]
pub struct RegistryQuery {
    /// Network to check.
    pub network: NetworkName,
    /// Required kind of proof.
    pub kind: Kind,
    /// Required action id; `None` for any.
    pub action_id: Option<ActionId>,
    /// Height at which the state is read; `i64::MAX` for the current state.
    pub height: i64,
    /// Time of that block. A proof counts if it expires later.
    pub at: UnixMillis,
}

/// Expiry of an address's active proof. `None` without one, or if the address is blocked. A point read.
pub async fn live_until(
    executor: impl Executor,
    question: &RegistryQuery,
    subject: Subject,
) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT max(expires_at) FROM proofs WHERE network = $1 AND kind = $2 AND subject = $3 \
         AND from_height <= $4 AND (until_height IS NULL OR until_height > $4) AND expires_at > $5 \
         AND NOT EXISTS (SELECT 1 FROM blocked_subjects b WHERE b.subject = $3 AND b.network = $1 \
         AND b.from_height <= $4 AND (b.until_height IS NULL OR b.until_height > $4))")
    .bind(&question.network)
    .bind(question.kind)
    .bind(subject)
    .bind(question.height)
    .bind(question.at)
    .push_if(" AND action_id = ?", question.action_id);
    Ok(executor.optional::<(Option<UnixMillis>,)>(query).await?.and_then(|(expires_at,)| expires_at))
}

/// Those of the given addresses that have an active proof and are not blocked, in no particular order.
pub async fn live_among(
    executor: impl Executor + Copy,
    question: &RegistryQuery,
    subjects: &[Subject],
) -> Result<Vec<Subject>, StoreError> {
    if subjects.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let live = sql("SELECT subject FROM proofs WHERE network = $1 AND kind = $2 AND from_height <= $3 \
         AND (until_height IS NULL OR until_height > $3) AND expires_at > $4")
    .bind(&question.network)
    .bind(question.kind)
    .bind(question.height)
    .bind(question.at)
    .push_if(" AND action_id = ?", question.action_id)
    .and_in(engine, "subject", subjects);
    let live: Vec<(Subject,)> = executor.all(live).await?;
    let live: Vec<Subject> = live.into_iter().map(|(subject,)| subject).collect();
    if live.is_empty() {
        return Ok(live);
    }
    let blocked = blocked_among(executor, question, &live).await?;
    Ok(live.into_iter().filter(|subject| !blocked.contains(subject)).collect())
}

/// Those of the given addresses that are blocked on the network at the height, in no particular order.
pub async fn blocked_among(
    executor: impl Executor,
    question: &RegistryQuery,
    subjects: &[Subject],
) -> Result<Vec<Subject>, StoreError> {
    if subjects.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql("SELECT subject FROM blocked_subjects WHERE network = $1 AND from_height <= $2 \
         AND (until_height IS NULL OR until_height > $2)")
    .bind(&question.network)
    .bind(question.height)
    .and_in(engine, "subject", subjects);
    let found: Vec<(Subject,)> = executor.all(query).await?;
    Ok(found.into_iter().map(|(subject,)| subject).collect())
}

/// All proofs of the kind that the given addresses had by the height, oldest first, for any action and including ended
/// ones.
pub async fn known_of(
    executor: impl Executor,
    question: &RegistryQuery,
    subjects: &[Subject],
) -> Result<Vec<ProofRow>, StoreError> {
    if subjects.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql(concat!(
        "SELECT ",
        proof_columns!(),
        " FROM proofs WHERE network = $1 AND kind = $2 AND from_height <= $3"
    ));
    let query = query
        .bind(&question.network)
        .bind(question.kind)
        .bind(question.height)
        .and_in(engine, "subject", subjects)
        .append(" ORDER BY from_height, id");
    executor.all(query).await
}
