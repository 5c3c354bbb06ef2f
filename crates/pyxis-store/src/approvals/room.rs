//! Room for another request: limits on what waits for approval and on the bytes kept, for an agent and its workspace.
//!
//! Bytes count until they are deleted, some time after the decision. A response is added to them later and never
//! refused.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, WorkspaceId};

use crate::db::SqlQuery;
use crate::db::sql;
use crate::{Executor, Store, StoreError, Tx};

/// Limits of the installation. Each agent also has its own `max_pending`.
#[derive(Clone, Copy, Debug)]
pub struct RoomLimits {
    /// Maximum pending requests of a workspace.
    pub workspace_pending: i64,
    /// Maximum bytes of requests and responses kept for an agent.
    pub agent_bytes: i64,
    /// Maximum bytes of requests and responses kept for a workspace.
    pub workspace_bytes: i64,
}

/// A limit that leaves no room, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// Pending requests of the agent.
    AgentPending(i64),
    /// Pending requests of the workspace.
    WorkspacePending(i64),
    /// Bytes kept for the agent.
    AgentBytes(i64),
    /// Bytes kept for the workspace.
    WorkspaceBytes(i64),
}

impl std::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AgentPending(limit) => {
                write!(f, "{limit} requests of this agent already wait for approval")
            }
            Self::WorkspacePending(limit) => {
                write!(f, "{limit} requests of this workspace already wait for approval")
            }
            Self::AgentBytes(limit) => {
                write!(f, "requests and responses kept for this agent would exceed {limit} bytes")
            }
            Self::WorkspaceBytes(limit) => {
                write!(f, "requests and responses kept for this workspace would exceed {limit} bytes")
            }
        }
    }
}

/// A request to add.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer {
    pub workspace: WorkspaceId,
    pub agent: AgentId,
    /// Bytes to keep for it.
    pub bytes: i64,
    pub now: UnixMillis,
}

/// The agent's limit that leaves no room for a request. Concurrent checks of the same agent wait until the transaction
/// ends, so limits are exact for requests added in it.
pub async fn agent_limit(
    tx: &mut Tx,
    limits: &RoomLimits,
    new: &Newcomer,
) -> Result<Option<NoRoom>, StoreError> {
    // On SQLite a transaction has exclusive write access.
    let lock = if tx.is_sqlite() { "" } else { " FOR NO KEY UPDATE" };
    let query = sql("SELECT max_pending FROM agents WHERE workspace_id = $1 AND id = $2");
    let query = query.bind(new.workspace).bind(new.agent).append(lock);
    let Some((max_pending,)) = tx.optional(query).await? else { return Ok(None) };
    let used = tx.optional(agent_query(new)).await?;
    Ok(used.and_then(|used| limits.of_agent(max_pending, used, new.bytes)))
}

/// The limit that leaves no room for more bytes of an agent, according to a plain read.
pub async fn bytes_limit(
    store: &Store,
    limits: &RoomLimits,
    new: &Newcomer,
) -> Result<Option<NoRoom>, StoreError> {
    let used = store.optional(agent_query(new)).await?;
    let full = used.and_then(|used| limits.of_agent(i64::MAX, used, new.bytes));
    if full.is_some() {
        return Ok(full);
    }
    let unlimited = RoomLimits { workspace_pending: i64::MAX, ..*limits };
    let used = store.optional(workspace_query(new.workspace, new.now)).await?;
    Ok(used.and_then(|used| unlimited.of_workspace(used, 0, new.bytes)))
}

/// The workspace's limit that is exceeded, after a request was added and recorded in the transaction. The append to the
/// audit trail has made concurrent ones wait, so limits are exact.
pub async fn workspace_limit(
    tx: &mut Tx,
    limits: &RoomLimits,
    workspace: WorkspaceId,
    now: UnixMillis,
) -> Result<Option<NoRoom>, StoreError> {
    let used = tx.optional(workspace_query(workspace, now)).await?;
    Ok(used.and_then(|used| limits.of_workspace(used, 0, 0)))
}

/// The limit that leaves no room according to a plain read, to refuse early. Takes no lock, so another request may take
/// the last place afterwards. The other functions are for the transaction that adds one.
pub async fn limit_seen(
    store: &Store,
    limits: &RoomLimits,
    new: &Newcomer,
) -> Result<Option<NoRoom>, StoreError> {
    let query = sql("SELECT max_pending FROM agents WHERE workspace_id = $1 AND id = $2");
    let agent = store.optional(query.bind(new.workspace).bind(new.agent)).await?;
    let Some((max_pending,)) = agent else { return Ok(None) };
    let used = store.optional(agent_query(new)).await?;
    if let Some(full) = used.and_then(|used| limits.of_agent(max_pending, used, new.bytes)) {
        return Ok(Some(full));
    }
    let used = store.optional(workspace_query(new.workspace, new.now)).await?;
    Ok(used.and_then(|used| limits.of_workspace(used, 1, new.bytes)))
}

impl RoomLimits {
    fn of_agent(&self, max_pending: i64, (pending, kept): (i64, i64), bytes: i64) -> Option<NoRoom> {
        if pending >= max_pending {
            return Some(NoRoom::AgentPending(max_pending));
        }
        (kept.saturating_add(bytes) > self.agent_bytes).then_some(NoRoom::AgentBytes(self.agent_bytes))
    }

    fn of_workspace(&self, (pending, kept): (i64, i64), more: i64, bytes: i64) -> Option<NoRoom> {
        if pending.saturating_add(more) > self.workspace_pending {
            return Some(NoRoom::WorkspacePending(self.workspace_pending));
        }
        let is_over = kept.saturating_add(bytes) > self.workspace_bytes;
        is_over.then_some(NoRoom::WorkspaceBytes(self.workspace_bytes))
    }
}

/// Pending requests, and bytes kept, of the agent.
fn agent_query(new: &Newcomer) -> SqlQuery {
    let query = sql("SELECT (SELECT count(*) FROM approvals \
         WHERE agent_id = $1 AND state = 'pending' AND expires_at > $2 AND workspace_id = $3), \
         CAST((SELECT coalesce(sum(bytes), 0) FROM approval_bodies WHERE workspace_id = $3 AND agent_id = $1) \
         + (SELECT coalesce(sum(bytes), 0) FROM idempotency WHERE workspace_id = $3 AND agent_id = $1) AS BIGINT)");
    query.bind(new.agent).bind(new.now).bind(new.workspace)
}

/// The same of the workspace.
fn workspace_query(workspace: WorkspaceId, now: UnixMillis) -> SqlQuery {
    let query = sql("SELECT (SELECT count(*) FROM approvals \
         WHERE workspace_id = $1 AND state = 'pending' AND expires_at > $2), \
         CAST((SELECT coalesce(sum(bytes), 0) FROM approval_bodies WHERE workspace_id = $1) \
         + (SELECT coalesce(sum(bytes), 0) FROM idempotency WHERE workspace_id = $1) AS BIGINT)");
    query.bind(workspace).bind(now)
}
