//! Rate limits: exact counters per agent and window (`docs/reference/behavior/proxy.md#rate-limit`).

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, WorkspaceId};

use crate::db::sql;
use crate::{Executor, StoreError};

/// Result of counting a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// True if the request was admitted and counted.
    pub admitted: bool,
    /// Number of requests admitted in this window so far.
    pub count: i64,
}

/// Counts one request if fewer than `limit` were admitted in the window. One statement.
pub async fn admit(
    executor: impl Executor,
    agent: AgentId,
    window_start: UnixMillis,
    limit: i64,
) -> Result<Admission, StoreError> {
    if limit <= 0 {
        return Ok(Admission { admitted: false, count: 0 });
    }
    let query = sql("INSERT INTO rate_windows (agent_id, window_start_at, count) VALUES ($1, $2, 1) \
         ON CONFLICT (agent_id, window_start_at) DO UPDATE SET count = rate_windows.count + 1 \
         WHERE rate_windows.count < $3 RETURNING count");
    let row = executor.returning(query.bind(agent).bind(window_start).bind(limit)).await?.pop();
    Ok(match row {
        Some((count,)) => Admission { admitted: true, count },
        None => Admission { admitted: false, count: limit },
    })
}

/// Number of requests admitted in a window for each agent of a workspace. Agents without a limit are not counted.
pub async fn used(
    executor: impl Executor,
    workspace: WorkspaceId,
    window_start: UnixMillis,
) -> Result<Vec<(AgentId, i64)>, StoreError> {
    let query = sql("SELECT agents.id, rate_windows.count FROM agents \
         JOIN rate_windows ON rate_windows.agent_id = agents.id AND rate_windows.window_start_at = $1 \
         WHERE agents.workspace_id = $2");
    executor.all(query.bind(window_start).bind(workspace)).await
}

/// Deletes windows that started before a time. Returns their number.
pub async fn purge(executor: impl Executor, before: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM rate_windows WHERE window_start_at < $1").bind(before)).await
}
