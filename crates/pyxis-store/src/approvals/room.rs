//! Limit on the pending requests of an agent.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, WorkspaceId};

use crate::db::SqlQuery;
use crate::db::sql;
use crate::{Executor, Store, StoreError, Tx};

/// The limit on pending requests that the agent has reached, or `None` if one more fits. Concurrent checks of the same
/// agent wait until the transaction ends, so the limit is exact for requests added in it.
pub async fn reached_limit(
    tx: &mut Tx,
    workspace: WorkspaceId,
    agent: AgentId,
    now: UnixMillis,
) -> Result<Option<i64>, StoreError> {
    // On SQLite a transaction has exclusive write access.
    let lock = if tx.is_sqlite() { "" } else { " FOR NO KEY UPDATE" };
    let limit: Option<(i64,)> = tx.optional(limit_query(workspace, agent).then(lock)).await?;
    let Some((limit,)) = limit else { return Ok(None) };
    let pending: Option<(i64,)> = tx.optional(pending_query(workspace, agent, now)).await?;
    Ok(pending.is_some_and(|(count,)| count >= limit).then_some(limit))
}

/// The limit that an agent has reached according to a plain read, to refuse early. Takes no lock, so another request
/// may take the last place afterwards. Call [`reached_limit`] in the transaction that adds one.
pub async fn limit_seen(
    store: &Store,
    workspace: WorkspaceId,
    agent: AgentId,
    now: UnixMillis,
) -> Result<Option<i64>, StoreError> {
    let limit: Option<(i64,)> = store.optional(limit_query(workspace, agent)).await?;
    let Some((limit,)) = limit else { return Ok(None) };
    let pending: Option<(i64,)> = store.optional(pending_query(workspace, agent, now)).await?;
    Ok(pending.is_some_and(|(count,)| count >= limit).then_some(limit))
}

fn limit_query(workspace: WorkspaceId, agent: AgentId) -> SqlQuery {
    sql("SELECT max_pending FROM agents WHERE workspace_id = $1 AND id = $2").bind(workspace).bind(agent)
}

fn pending_query(workspace: WorkspaceId, agent: AgentId, now: UnixMillis) -> SqlQuery {
    let query = sql("SELECT count(*) FROM approvals \
         WHERE agent_id = $1 AND state = 'pending' AND expires_at > $2 AND workspace_id = $3");
    query.bind(agent).bind(now).bind(workspace)
}
