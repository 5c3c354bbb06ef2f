//! Addresses whose proofs count nowhere, from which height until which.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{NetworkName, Subject};

use crate::db::{insert, row, sql};
use crate::{Executor, StoreError};

row! {
    /// A block of an address on a network.
    pub BlockedRow: "blocked_subjects", blocked_columns {
        /// Number.
        id: i64,
        /// Where.
        network: NetworkName,
        /// Who.
        subject: Subject,
        /// The first block in which it is in force.
        from_height: i64,
        /// The first in which it is not; `None` while it is.
        until_height: Option<i64>,
        /// Why.
        reason: String,
        /// When it was made.
        blocked_at: UnixMillis,
    }
}

/// Blocks an address; `id` and `until_height` are not looked at. `Conflict` when it is blocked there.
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

/// Ends the block of an address on a network; whether there was one.
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

/// The blocks in force, newest first.
pub async fn list(executor: impl Executor, limit: u32) -> Result<Vec<BlockedRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        blocked_columns!(),
        " FROM blocked_subjects WHERE until_height IS NULL ORDER BY id DESC"
    ));
    executor.all(query.limit(limit)).await
}

/// The blocks in force of an address, on whatever network.
pub async fn of_subject(executor: impl Executor, subject: Subject) -> Result<Vec<BlockedRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        blocked_columns!(),
        " FROM blocked_subjects WHERE subject = $1 AND until_height IS NULL ORDER BY network"
    ));
    executor.all(query.bind(subject)).await
}
