//! Proof lists and registration counts for the dashboard.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{Kind, NetworkName, Subject};

use super::{ProofRow, proof_columns};
use crate::db::sql;
use crate::{Executor, StoreError};

/// Filter for proofs; `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only on this network.
    pub network: Option<NetworkName>,
    /// Only of this kind.
    pub kind: Option<Kind>,
    /// Only of this address.
    pub subject: Option<Subject>,
    /// Only with a lower number.
    pub before: Option<i64>,
}

/// Proofs, newest first.
pub async fn list(executor: impl Executor, filter: &Filter, limit: u32) -> Result<Vec<ProofRow>, StoreError> {
    let query = sql(concat!("SELECT ", proof_columns!(), " FROM proofs WHERE id < $1"))
        .bind(filter.before.unwrap_or(i64::MAX))
        .push_if(" AND network = ?", filter.network.as_ref())
        .push_if(" AND kind = ?", filter.kind)
        .push_if(" AND subject = ?", filter.subject)
        .append(" ORDER BY id DESC")
        .limit(limit);
    executor.all(query).await
}

/// Number of registrations: kind, day (days since the epoch, UTC), count.
pub type DayCount = (Kind, i64, i64);

/// Registrations per kind and day since `since`, from the log. A proof that only moved to another address does not
/// count; its entry directly follows that of the rebinding.
pub async fn per_day(executor: impl Executor, since: UnixMillis) -> Result<Vec<DayCount>, StoreError> {
    let query = sql("SELECT kind, at / 86400000, COUNT(*) FROM proof_log l WHERE at >= $1 \
         AND kind IS NOT NULL AND change = 'register' AND NOT EXISTS (SELECT 1 FROM proof_log r \
         WHERE r.id = l.id - 1 AND r.change = 'rebind' AND r.network = l.network AND r.kind = l.kind \
         AND r.nullifier = l.nullifier) GROUP BY kind, at / 86400000 ORDER BY 2, 1");
    executor.all(query.bind(since)).await
}
