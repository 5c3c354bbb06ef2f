//! Addresses whose proofs are ignored, with the range of heights.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{NetworkName, Subject};

use crate::db::{insert, row, sql};
use crate::{Executor, StoreError};

row! {
    /// A block of a subject on a network.
    pub BlockedRow: "blocked_subjects", blocked_columns {
        /// Row number.
        id: i64,
        /// Network on which the block applies.
        network: NetworkName,
        /// Blocked subject.
        subject: Subject,
        /// First height at which the block applies.
        from_height: i64,
        /// First height at which it no longer applies; `None` while it does.
        until_height: Option<i64>,
        /// Reason for the block.
        reason: String,
        /// Creation time.
        blocked_at: UnixMillis,
    }
}

/// Blocks an address. `id` and `until_height` are ignored. `Conflict` if the address is already blocked there.
pub async fn add(executor: impl Executor, new: &BlockedRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO blocked_subjects (network, subject, from_height, reason, blocked_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING")
    .bind(&new.network)
    .bind(new.subject)
    .bind(new.from_height)
    .bind(&new.reason)
    .bind(new.blocked_at);
    insert(executor, query).await
}

/// Lifts the block of an address on a network. Returns true if there was one.
pub async fn lift(
    executor: impl Executor,
    network: &NetworkName,
    subject: Subject,
    height: i64,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE blocked_subjects SET until_height = $1 WHERE network = $2 AND subject = $3 \
         AND until_height IS NULL");
    Ok(executor.execute(query.bind(height).bind(network).bind(subject)).await? == 1)
}

/// Active blocks, newest first.
pub async fn list(executor: impl Executor, limit: u32) -> Result<Vec<BlockedRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        blocked_columns!(),
        " FROM blocked_subjects WHERE until_height IS NULL ORDER BY id DESC"
    ));
    executor.all(query.limit(limit)).await
}

/// Active blocks of an address, on any network.
pub async fn of_subject(executor: impl Executor, subject: Subject) -> Result<Vec<BlockedRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        blocked_columns!(),
        " FROM blocked_subjects WHERE subject = $1 AND until_height IS NULL ORDER BY network"
    ));
    executor.all(query.bind(subject)).await
}
