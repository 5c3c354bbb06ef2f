//! Rate limits for clients without a key: exact counters for each client and window, per installation.

use pyxis_core::clock::UnixMillis;

use crate::db::sql;
use crate::{Executor, StoreError};

/// Counts a request if fewer than `limit` were admitted in the window. Returns true if admitted. The first request of a
/// window deletes the client's older counters.
pub async fn admit(
    executor: impl Executor + Copy,
    client: &str,
    window_start: UnixMillis,
    limit: i64,
) -> Result<bool, StoreError> {
    let query = sql("INSERT INTO visits (client, window_start_at, count) VALUES ($1, $2, 1) \
         ON CONFLICT (client, window_start_at) DO UPDATE SET count = visits.count + 1 \
         WHERE visits.count < $3 RETURNING count")
    .relaxed();
    let rows = executor.returning::<(i64,)>(query.bind(client).bind(window_start).bind(limit)).await?;
    let Some((count,)) = rows.into_iter().next() else { return Ok(false) };
    if count == 1 {
        let query = sql("DELETE FROM visits WHERE window_start_at < $1");
        executor.execute(query.bind(window_start)).await?;
    }
    Ok(true)
}
