//! The end of the time to decide about proposed tasks.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, TaskId, WorkspaceId};
use pyxis_core::task::TaskState;

use crate::db::{SqlQuery, sql};
use crate::{Executor, StoreError, StoreEvent, Tx, chat_messages};

/// Proposed tasks whose time has ended, in all workspaces, longest overdue first.
pub async fn due(
    executor: impl Executor,
    now: UnixMillis,
    limit: u32,
) -> Result<Vec<(WorkspaceId, TaskId)>, StoreError> {
    let query = sql("SELECT workspace_id, id FROM tasks WHERE state = 'proposed' AND expires_at <= $1 \
         ORDER BY expires_at");
    executor.all(query.bind(now).limit(limit)).await
}

/// Earliest end of the time to decide about a task, over all workspaces.
pub async fn next_expiry(executor: impl Executor) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(expires_at) FROM tasks WHERE state = 'proposed'");
    Ok(executor.optional(query).await?.and_then(|(at,)| at))
}

/// Expires a proposed task whose time has ended. Returns false if it was not pending or is not due.
pub async fn expire(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: TaskId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = overdue(workspace, now).push(" AND id = ?", id);
    Ok(expire_selected(tx, workspace, now, query).await? == 1)
}

/// Expires the proposed tasks of an agent whose time has ended. Returns their number.
pub(super) async fn expire_for_agent(
    tx: &mut Tx,
    workspace: WorkspaceId,
    agent: AgentId,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = overdue(workspace, now).push(" AND agent_id = ?", agent);
    expire_selected(tx, workspace, now, query).await
}

/// The statement up to the selection of tasks.
fn overdue(workspace: WorkspaceId, now: UnixMillis) -> SqlQuery {
    sql("UPDATE tasks SET state = 'expired', ended_at = expires_at \
         WHERE workspace_id = $1 AND state = 'proposed' AND expires_at <= $2")
    .bind(workspace)
    .bind(now)
}

/// Expires the selected tasks, updates the messages about them, and wakes the pages that show them. Returns their number.
async fn expire_selected(
    tx: &mut Tx,
    workspace: WorkspaceId,
    now: UnixMillis,
    query: SqlQuery,
) -> Result<u64, StoreError> {
    let expired: Vec<(TaskId,)> = tx.returning(query.append(" RETURNING id")).await?;
    for (task,) in &expired {
        chat_messages::set_desired_state(&mut *tx, workspace, *task, TaskState::Expired, now).await?;
        tx.notify(StoreEvent::Task { workspace, task: *task });
    }
    Ok(expired.len() as u64)
}
