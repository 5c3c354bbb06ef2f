//! Lists of tasks for people, and the end of what is kept.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, TaskId, WorkspaceId};
use pyxis_core::task::TaskState;

use super::{TaskActionRow, TaskRow, task_action_columns, task_columns};
use crate::db::{SqlQuery, readable, sql};
use crate::{Engine, Executor, Store, StoreError};

/// Selection of tasks.
#[derive(Clone, Debug)]
pub struct TaskFilter {
    /// Credentials that the person may approve; `None` for all.
    pub approvable: Option<Vec<CredentialId>>,
    /// Current state.
    pub state: Option<TaskState>,
    /// Last task of the previous page.
    pub before: Option<(UnixMillis, TaskId)>,
    /// Maximum number of tasks.
    pub limit: u32,
}

/// Tasks, newest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    filter: &TaskFilter,
    now: UnixMillis,
) -> Result<Vec<TaskRow>, StoreError> {
    let approvable = filter.approvable.as_deref();
    if approvable.is_some_and(<[CredentialId]>::is_empty) {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query =
        sql(concat!("SELECT ", task_columns!(), " FROM tasks WHERE workspace_id = $1")).bind(workspace);
    let mut query = within(engine, in_state(query, filter.state, now), approvable);
    if let Some((at, id)) = filter.before {
        query = query.push(" AND (created_at, id) < (?", at).push(", ?)", id);
    }
    let query = query.append(" ORDER BY created_at DESC, id DESC").limit(filter.limit);
    Ok(readable(executor.all(query).await?))
}

/// Tasks that wait for the decision of a person with these credentials (`None` for all), oldest first.
pub async fn list_proposed(
    executor: impl Executor,
    workspace: WorkspaceId,
    approvable: Option<&[CredentialId]>,
    now: UnixMillis,
    limit: u32,
) -> Result<Vec<TaskRow>, StoreError> {
    if approvable.is_some_and(<[CredentialId]>::is_empty) {
        return Ok(Vec::new());
    }
    let query =
        sql(concat!("SELECT ", task_columns!(), " FROM tasks WHERE workspace_id = $1")).bind(workspace);
    let query = in_state(query, Some(TaskState::Proposed), now);
    let query = within(executor.engine(), query, approvable).append(" ORDER BY created_at, id").limit(limit);
    Ok(readable(executor.all(query).await?))
}

/// Number of tasks that wait for the decision of a person with these credentials; `None` for all.
pub async fn count_proposed(
    executor: impl Executor,
    workspace: WorkspaceId,
    approvable: Option<&[CredentialId]>,
    now: UnixMillis,
) -> Result<i64, StoreError> {
    if approvable.is_some_and(<[CredentialId]>::is_empty) {
        return Ok(0);
    }
    let query = sql("SELECT count(*) FROM tasks WHERE workspace_id = $1").bind(workspace);
    let query = in_state(query, Some(TaskState::Proposed), now);
    let query = within(executor.engine(), query, approvable);
    Ok(executor.optional(query).await?.map_or(0, |(count,)| count))
}

/// Actions of several tasks, in the order of their positions in each.
pub async fn actions_of(
    executor: impl Executor,
    workspace: WorkspaceId,
    tasks: &[TaskId],
) -> Result<Vec<TaskActionRow>, StoreError> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql(concat!("SELECT ", task_action_columns!(), " FROM task_actions WHERE workspace_id = $1"))
        .bind(workspace)
        .and_in(engine, "task_id", tasks.iter().copied())
        .append(" ORDER BY task_id, position");
    executor.all(query).await
}

/// Deletes tasks that were over before a time, in all workspaces. Returns their number.
pub async fn purge(store: &Store, over_before: UnixMillis) -> Result<u64, StoreError> {
    let mut tx = store.begin().await?;
    let actions = sql("DELETE FROM task_actions WHERE task_id IN (SELECT id FROM tasks WHERE \
         CASE WHEN state IN ('proposed', 'approved') THEN expires_at \
         ELSE coalesce(ended_at, decided_at, expires_at) END < $1)");
    tx.execute(actions.bind(over_before)).await?;
    let tasks = sql("DELETE FROM tasks WHERE CASE WHEN state IN ('proposed', 'approved') THEN expires_at \
         ELSE coalesce(ended_at, decided_at, expires_at) END < $1");
    let count = tx.execute(tasks.bind(over_before)).await?;
    tx.commit().await?;
    Ok(count)
}

/// Adds the condition that tasks are in this state now, as [`TaskState::at`] tells it.
fn in_state(query: SqlQuery, state: Option<TaskState>, now: UnixMillis) -> SqlQuery {
    match state {
        None => query,
        Some(TaskState::Proposed) => query.push(" AND state = 'proposed' AND expires_at > ?", now),
        Some(TaskState::Expired) => {
            query.push(" AND (state = 'expired' OR state = 'proposed' AND expires_at <= ?)", now)
        }
        Some(TaskState::Approved) => query
            .push(" AND state = 'approved' AND expires_at > ?", now)
            .append(" AND EXISTS (SELECT 1 FROM task_actions WHERE task_id = tasks.id AND uses < max_uses)"),
        Some(TaskState::Ended) => {
            query.push(" AND (state = 'ended' OR state = 'approved' AND (expires_at <= ?", now).append(
                " OR NOT EXISTS (SELECT 1 FROM task_actions WHERE task_id = tasks.id AND uses < max_uses)))",
            )
        }
        Some(state @ (TaskState::Denied | TaskState::Withdrawn | TaskState::Stopped)) => {
            query.push(" AND state = ?", state)
        }
    }
}

/// Adds the condition that every credential of a task is one of these; `None` for all.
fn within(engine: Engine, query: SqlQuery, approvable: Option<&[CredentialId]>) -> SqlQuery {
    let Some(approvable) = approvable else { return query };
    query
        .append(
            " AND (SELECT count(*) FROM task_actions WHERE task_id = tasks.id) = \
             (SELECT count(*) FROM task_actions WHERE task_id = tasks.id",
        )
        .and_in(engine, "credential_id", approvable.iter().copied())
        .append(")")
}
