//! Uniqueness: one address for each nullifier (`docs/reference/behavior/verification.md#registry`).

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, Kind, ProofNullifier, Subject};

use crate::db::sql;
use crate::{Executor, StoreError};

/// Assigns a nullifier to an address until `expires_at`, or later if it already holds it longer. Returns false if
/// another address holds it.
pub async fn assign(
    executor: impl Executor,
    (kind, action_id, nullifier): (Kind, ActionId, ProofNullifier),
    subject: Subject,
    expires_at: UnixMillis,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("INSERT INTO nullifier_holders (kind, action_id, nullifier, subject, expires_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, action_id, nullifier) DO UPDATE SET \
         expires_at = CASE WHEN nullifier_holders.subject = excluded.subject \
           AND nullifier_holders.expires_at > excluded.expires_at THEN nullifier_holders.expires_at \
           ELSE excluded.expires_at END, subject = excluded.subject \
         WHERE nullifier_holders.subject = excluded.subject OR nullifier_holders.expires_at <= $6")
    .bind(kind)
    .bind(action_id)
    .bind(nullifier)
    .bind(subject)
    .bind(expires_at)
    .bind(now);
    Ok(executor.execute(query).await? == 1)
}

/// Takes a nullifier from an address. Returns true if the address held it.
pub async fn release(
    executor: impl Executor,
    (kind, action_id, nullifier): (Kind, ActionId, ProofNullifier),
    subject: Subject,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM nullifier_holders WHERE kind = $1 AND action_id = $2 AND nullifier = $3 \
         AND subject = $4");
    Ok(executor.execute(query.bind(kind).bind(action_id).bind(nullifier).bind(subject)).await? == 1)
}
