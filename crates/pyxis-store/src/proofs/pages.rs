//! Proofs for people: pages of them, and how many came in when.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{Kind, NetworkName, Subject};

use super::{ProofRow, proof_columns};
use crate::db::sql;
use crate::{Executor, StoreError};

/// Which proofs.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this network.
    pub network: Option<NetworkName>,
    /// Of this kind.
    pub kind: Option<Kind>,
    /// Of this address.
    pub subject: Option<Subject>,
    /// Older than this number.
    pub before: Option<i64>,
}

/// Proofs, newest first.
pub async fn list(executor: impl Executor, filter: &Filter, limit: u32) -> Result<Vec<ProofRow>, StoreError> {
    let query = sql(concat!("SELECT ", proof_columns!(), " FROM proofs WHERE id < $1"))
        .bind(filter.before.unwrap_or(i64::MAX))
        .push_if(" AND network = ?", filter.network.as_ref())
        .push_if(" AND kind = ?", filter.kind)
        .push_if(" AND subject = ?", filter.subject)
        .then(" ORDER BY id DESC")
        .limit(limit);
    executor.all(query).await
}

/// How many proofs of a kind came in on a day.
pub type DayCount = (Kind, i64, i64);

/// Kind, day (days since the epoch, UTC) and number of registrations since `since`, from the log. A proof that
/// only moved to another address is none: its entry follows right after that of the rebinding.
pub async fn per_day(executor: impl Executor, since: UnixMillis) -> Result<Vec<DayCount>, StoreError> {
    let query = sql("SELECT kind, at / 86400000, COUNT(*) FROM proof_log l WHERE at >= $1 \
         AND kind IS NOT NULL AND change = 'register' AND NOT EXISTS (SELECT 1 FROM proof_log r \
         WHERE r.id = l.id - 1 AND r.change = 'rebind' AND r.network = l.network AND r.kind = l.kind \
         AND r.nullifier = l.nullifier) GROUP BY kind, at / 86400000 ORDER BY 2, 1");
    executor.all(query.bind(since)).await
}
