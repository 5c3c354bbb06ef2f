//! Requests of API keys, counted in 15-minute windows (`docs/reference/behavior/scoring.md#rate-limits`).

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, WorkspaceId};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    /// Endpoint group that is counted separately.
    pub Surface {
        /// The Stamps endpoints, in all versions.
        Stamps = "stamps",
        /// The models endpoint.
        Models = "models",
    }
}

/// Requests of one key that arrived at about the same time.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Key that was used.
    pub key: ApiKeyId,
    /// Endpoint group of the requests.
    pub surface: Surface,
    pub window_start: UnixMillis,
    /// Number of requests.
    pub requests: i64,
    /// Maximum requests in the window.
    pub limit: i64,
    /// Current time.
    pub now: UnixMillis,
}

/// Result of counting a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Admitted requests of the batch.
    pub admitted: i64,
    /// Total requests admitted in the window.
    pub used: i64,
}

// These writes are relaxed: they survive restarts and crashes of Pyxis. A power failure, or a crash of PostgreSQL
// itself, may undo the last moments, so that some admitted requests are no longer counted.

/// Counts a batch and admits the requests that fit. One statement, exact under concurrency.
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

/// Admits a future batch if all of it fits into a window that already exists. Returns the number of requests then in
/// the window. A batch that does not fit does not count as refused.
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

/// Releases a reserved batch that was not spent. Not to be repeated after an unknown outcome.
pub async fn give_back(executor: impl Executor, batch: &Batch) -> Result<(), StoreError> {
    let query = sql("UPDATE usage_windows SET admitted = admitted - $1 \
         WHERE api_key_id = $2 AND surface = $3 AND window_start_at = $4 AND admitted >= $1")
    .bind(batch.requests)
    .bind(batch.key)
    .bind(batch.surface)
    .bind(batch.window_start);
    executor.execute(query).await.map(drop)
}

row! {
    /// Counts of one window.
    pub WindowRow: "usage_windows", window_columns {
        /// Endpoint group.
        surface: Surface,
        window_start_at: UnixMillis,
        /// Admitted requests, including reserved ones.
        admitted: i64,
        /// Refused requests.
        refused: i64,
        /// Time of the last request.
        last_at: UnixMillis,
    }
}

/// Windows of a key that start in `from..to`, oldest first.
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

/// Admitted and refused requests of a key, over all endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Start of the bucket.
    pub at: UnixMillis,
    /// Key that was used.
    pub key: ApiKeyId,
    /// Admitted requests.
    pub admitted: i64,
    /// Refused requests.
    pub refused: i64,
}

/// Requests by key in the windows that start in `from..to`, in buckets of `bucket_ms` that start at `from`.
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

/// Deletes windows that started before a time. Keeps the last use of their keys. Returns the
/// number of windows.
pub async fn purge(tx: &mut Tx, before: UnixMillis) -> Result<u64, StoreError> {
    let keep = sql("UPDATE api_keys SET last_used_at = \
         (SELECT max(last_at) FROM usage_windows WHERE api_key_id = api_keys.id) \
         WHERE id IN (SELECT api_key_id FROM usage_windows WHERE window_start_at < $1)");
    tx.execute(keep.bind(before)).await?;
    tx.execute(sql("DELETE FROM usage_windows WHERE window_start_at < $1").bind(before)).await
}
