//! How many requests of one agent wait.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, WorkspaceId};

use crate::db::sql;
use crate::{Executor, StoreError, Tx};

/// The limit on pending requests that an agent has reached, or `None` while there is room for one more. Others who ask
/// about this agent wait until the transaction ends, so what is added in it keeps the limit exactly.
pub async fn reached_limit(
    tx: &mut Tx,
    workspace: WorkspaceId,
    agent: AgentId,
    now: UnixMillis,
) -> Result<Option<i64>, StoreError> {
    // On SQLite a transaction has the whole database for itself.
    let lock = if tx.is_sqlite() { "" } else { " FOR NO KEY UPDATE" };
    let query = sql("SELECT max_pending FROM agents WHERE workspace_id = $1 AND id = $2");
    let limit: Option<(i64,)> = tx.optional(query.bind(workspace).bind(agent).then(lock)).await?;
    let Some((limit,)) = limit else { return Ok(None) };
    let query = sql("SELECT count(*) FROM approvals \
         WHERE agent_id = $1 AND state = 'pending' AND expires_at > $2 AND workspace_id = $3");
    let pending: Option<(i64,)> = tx.optional(query.bind(agent).bind(now).bind(workspace)).await?;
    Ok(pending.is_some_and(|(count,)| count >= limit).then_some(limit))
}
