//! Requests of API keys, counted in windows of a quarter of an hour (Spec 1, Limits).

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, NodeId, WorkspaceId};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    /// What is counted apart.
    pub Surface {
        /// The Stamps endpoints, of every version.
        Stamps = "stamps",
        /// The models endpoint.
        Models = "models",
    }
}

/// Requests of one key that came at about the same time.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// The key.
    pub key: ApiKeyId,
    /// Where they came.
    pub surface: Surface,
    /// Start of the window.
    pub window_start: UnixMillis,
    /// How many.
    pub requests: i64,
    /// How many the window admits.
    pub limit: i64,
    /// The present moment.
    pub now: UnixMillis,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How many of the batch were admitted.
    pub admitted: i64,
    /// How many were in the window altogether.
    pub used: i64,
}

// These writes are relaxed: what they said holds over restarts and crashes of Pyxis. A power cut, or a crash
// of PostgreSQL itself, may take back those of its last moments, and so forget requests that were let in.

/// Counts a batch and admits what fits: one statement, exact whoever else counts.
pub async fn count(executor: impl Executor, batch: &Batch) -> Result<Counted, StoreError> {
    let first = batch.requests.min(batch.limit).max(0);
    let query = sql("INSERT INTO usage_windows AS u \
         (api_key_id, surface, window_start_at, admitted, previous, refused, last_at) \
         VALUES ($1, $2, $3, $4, 0, $5, $6) \
         ON CONFLICT (api_key_id, surface, window_start_at) DO UPDATE SET \
         admitted = u.admitted + CASE WHEN u.admitted >= $7 THEN 0 \
         WHEN u.admitted + $8 > $7 THEN $7 - u.admitted ELSE $8 END, \
         refused = u.refused + CASE WHEN u.admitted >= $7 THEN $8 \
         WHEN u.admitted + $8 > $7 THEN u.admitted + $8 - $7 ELSE 0 END, \
         previous = u.admitted, \
         last_at = CASE WHEN u.last_at > $6 THEN u.last_at ELSE $6 END \
         RETURNING admitted, previous")
    .bind(batch.key)
    .bind(batch.surface)
    .bind(batch.window_start)
    .bind(first)
    .bind(batch.requests - first)
    .bind(batch.now)
    .bind(batch.limit)
    .bind(batch.requests)
    .relaxed();
    let (used, previous): (i64, i64) = executor.returning(query).await?.pop().ok_or(StoreError::Aborted)?;
    Ok(Counted { admitted: used - previous, used })
}

/// Admits a batch that is yet to come if all of it fits into a window that has been counted in; how many are
/// in the window then. What does not fit has not been refused.
pub async fn reserve(executor: impl Executor, batch: &Batch) -> Result<Option<i64>, StoreError> {
    let query = sql("UPDATE usage_windows SET admitted = admitted + $1, \
         last_at = CASE WHEN last_at > $2 THEN last_at ELSE $2 END \
         WHERE api_key_id = $3 AND surface = $4 AND window_start_at = $5 AND admitted <= $6 \
         RETURNING admitted")
    .bind(batch.requests)
    .bind(batch.now)
    .bind(batch.key)
    .bind(batch.surface)
    .bind(batch.window_start)
    .bind(batch.limit.saturating_sub(batch.requests))
    .relaxed();
    Ok(executor.returning::<(i64,)>(query).await?.pop().map(|(used,)| used))
}

/// Notes that a node reserved a batch, beside what it has in this slot of its own for the same window.
pub async fn note_reserved(
    executor: impl Executor,
    node: NodeId,
    slot: i64,
    batch: &Batch,
) -> Result<(), StoreError> {
    let query = sql("INSERT INTO usage_reservations AS r \
         (node_id, slot, api_key_id, surface, window_start_at, requests) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (node_id, slot) DO UPDATE SET requests = r.requests + excluded.requests")
    .bind(node)
    .bind(slot)
    .bind(batch.key)
    .bind(batch.surface)
    .bind(batch.window_start)
    .bind(batch.requests);
    executor.execute(query).await?;
    Ok(())
}

/// The slots in which a node has something.
pub async fn slots_of(executor: impl Executor, node: NodeId) -> Result<Vec<i64>, StoreError> {
    let query = sql("SELECT slot FROM usage_reservations WHERE node_id = $1 ORDER BY slot");
    let slots: Vec<(i64,)> = executor.all(query.bind(node)).await?;
    Ok(slots.into_iter().map(|(slot,)| slot).collect())
}

/// Empties a slot of a node: of what it reserved it has let so many in, and the others never came. May be repeated.
pub async fn give_back(tx: &mut Tx, node: NodeId, slot: i64, spent: i64) -> Result<(), StoreError> {
    let query = sql("DELETE FROM usage_reservations WHERE node_id = $1 AND slot = $2 \
         RETURNING api_key_id, surface, window_start_at, requests");
    let held: Vec<(ApiKeyId, Surface, UnixMillis, i64)> = tx.returning(query.bind(node).bind(slot)).await?;
    for (key, surface, window_start, requests) in held {
        let query = sql("UPDATE usage_windows SET admitted = admitted - $1 \
             WHERE api_key_id = $2 AND surface = $3 AND window_start_at = $4 AND admitted >= $1")
        .bind((requests - spent).max(0))
        .bind(key)
        .bind(surface)
        .bind(window_start);
        tx.execute(query).await?;
    }
    Ok(())
}

row! {
    /// A window of a key.
    pub WindowRow: "usage_windows", window_columns {
        /// What was counted.
        surface: Surface,
        /// Its start.
        window_start_at: UnixMillis,
        /// Requests that were admitted, those included that are reserved.
        admitted: i64,
        /// Requests that were refused.
        refused: i64,
        /// The last request.
        last_at: UnixMillis,
    }
}

/// The windows of a key that start in `from..to`, oldest first.
pub async fn windows(
    executor: impl Executor,
    workspace: WorkspaceId,
    key: ApiKeyId,
    from: UnixMillis,
    to: UnixMillis,
) -> Result<Vec<WindowRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        window_columns!(),
        " FROM usage_windows WHERE api_key_id = \
         (SELECT id FROM api_keys WHERE workspace_id = $1 AND id = $2) \
         AND window_start_at >= $3 AND window_start_at < $4 ORDER BY window_start_at, surface"
    ));
    executor.all(query.bind(workspace).bind(key).bind(from).bind(to)).await
}

/// How many requests of a key were admitted and refused, on every surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Start of the bucket.
    pub at: UnixMillis,
    /// The key.
    pub key: ApiKeyId,
    /// Requests that were admitted.
    pub admitted: i64,
    /// Requests that were refused.
    pub refused: i64,
}

/// Requests by key of the windows that start in `from..to`, in buckets of `bucket_ms` that start at `from`.
pub async fn over_time(
    executor: impl Executor,
    workspace: WorkspaceId,
    from: UnixMillis,
    to: UnixMillis,
    bucket_ms: i64,
) -> Result<Vec<Tally>, StoreError> {
    let query = sql("SELECT CAST($1 AS BIGINT) + (window_start_at - $1) / $2 * $2, api_key_id, \
         CAST(sum(admitted) AS BIGINT), CAST(sum(refused) AS BIGINT) FROM usage_windows \
         WHERE api_key_id IN (SELECT id FROM api_keys WHERE workspace_id = $3) \
         AND window_start_at >= $1 AND window_start_at < $4 GROUP BY 1, 2 ORDER BY 1, 2");
    let found: Vec<(UnixMillis, ApiKeyId, i64, i64)> =
        executor.all(query.bind(from).bind(bucket_ms.max(1)).bind(workspace).bind(to)).await?;
    let tally = |(at, key, admitted, refused)| Tally { at, key, admitted, refused };
    Ok(found.into_iter().map(tally).collect())
}

/// Removes windows that started before, and what is reserved in them; how many windows. The last use of their keys is
/// kept.
pub async fn purge(tx: &mut Tx, before: UnixMillis) -> Result<u64, StoreError> {
    tx.execute(sql("DELETE FROM usage_reservations WHERE window_start_at < $1").bind(before)).await?;
    let keep = sql("UPDATE api_keys SET last_used_at = \
         (SELECT max(last_at) FROM usage_windows WHERE api_key_id = api_keys.id) \
         WHERE id IN (SELECT api_key_id FROM usage_windows WHERE window_start_at < $1)");
    tx.execute(keep.bind(before)).await?;
    tx.execute(sql("DELETE FROM usage_windows WHERE window_start_at < $1").bind(before)).await
}
