//! Ends of tasks other than by time, use and decision.

use std::collections::HashMap;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, TaskId, WorkspaceId};
use pyxis_core::task::TaskState;

use super::lists::actions_of;
use super::{TaskRow, task_columns};
use crate::db::{SqlQuery, sql};
use crate::{Executor, StoreError, StoreEvent, Tx, chat_messages};

/// End of running tasks before their time.
#[derive(Clone, Copy, Debug)]
pub struct TaskStop<'a> {
    /// Reason, as the agent and people see it.
    pub reason: &'a str,
    /// Email address of the person; `None` after a change of policy, secret or agent.
    pub by: Option<&'a str>,
    /// Current time.
    pub now: UnixMillis,
}

impl<'a> TaskStop<'a> {
    /// A stop after a change of configuration.
    pub const fn after_change(reason: &'a str, now: UnixMillis) -> Self {
        Self { reason, by: None, now }
    }

    /// The statement up to the selection of tasks.
    fn statement(self, workspace: WorkspaceId) -> SqlQuery {
        sql("UPDATE tasks SET state = 'stopped', ended_at = $1, reason = $2, stopped_by_email = $3 \
             WHERE workspace_id = $4 AND state = 'approved' AND expires_at > $1")
        .bind(self.now)
        .bind(self.reason)
        .bind(self.by)
        .bind(workspace)
    }
}

/// A task that was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedTask {
    /// Unique identifier.
    pub id: TaskId,
    /// Name of the agent when it proposed the task.
    pub agent_name: String,
    /// Purpose, as the agent wrote it.
    pub purpose: String,
    /// Number of requests that used it.
    pub uses: i64,
}

/// Stops the selected tasks, updates the messages about them, and wakes the pages that show them.
async fn stop_selected(
    tx: &mut Tx,
    workspace: WorkspaceId,
    now: UnixMillis,
    query: SqlQuery,
) -> Result<Vec<StoppedTask>, StoreError> {
    let rows: Vec<(TaskId, String, String)> =
        tx.returning(query.append(" RETURNING id, agent_name, purpose")).await?;
    let ids: Vec<TaskId> = rows.iter().map(|(id, ..)| *id).collect();
    let mut uses: HashMap<TaskId, i64> = HashMap::new();
    for action in actions_of(&mut *tx, workspace, &ids).await? {
        *uses.entry(action.task_id).or_default() += action.uses;
    }
    for task in ids {
        chat_messages::set_desired_state(&mut *tx, workspace, task, TaskState::Stopped, now).await?;
        tx.notify(StoreEvent::Task { workspace, task });
    }
    let stopped = |(id, agent_name, purpose): (TaskId, String, String)| StoppedTask {
        uses: uses.get(&id).copied().unwrap_or_default(),
        id,
        agent_name,
        purpose,
    };
    Ok(rows.into_iter().map(stopped).collect())
}

/// Stops an approved task. Returns `None` if it is no longer running.
pub async fn stop(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: TaskId,
    stop: TaskStop<'_>,
) -> Result<Option<StoppedTask>, StoreError> {
    let query = stop.statement(workspace).push(" AND id = ?", id);
    Ok(stop_selected(tx, workspace, stop.now, query).await?.pop())
}

/// Stops all approved tasks of an agent.
pub async fn stop_for_agent(
    tx: &mut Tx,
    workspace: WorkspaceId,
    agent: AgentId,
    stop: TaskStop<'_>,
) -> Result<Vec<StoppedTask>, StoreError> {
    let query = stop.statement(workspace).push(" AND agent_id = ?", agent);
    stop_selected(tx, workspace, stop.now, query).await
}

/// Stops all approved tasks of an agent with an action of a credential that the agent may no longer use. The agent does
/// not use all credentials.
pub async fn stop_beyond_scope(
    tx: &mut Tx,
    workspace: WorkspaceId,
    agent: AgentId,
    stop: TaskStop<'_>,
) -> Result<Vec<StoppedTask>, StoreError> {
    let query = stop.statement(workspace).push(" AND agent_id = ?", agent).push(
        " AND EXISTS (SELECT 1 FROM task_actions WHERE task_actions.task_id = tasks.id AND max_uses > 0 \
         AND credential_id NOT IN (SELECT credential_id FROM agent_credentials WHERE agent_id = ?))",
        agent,
    );
    stop_selected(tx, workspace, stop.now, query).await
}

/// Stops all approved tasks with an action of this credential, after a new secret.
pub async fn stop_for_credential(
    tx: &mut Tx,
    workspace: WorkspaceId,
    credential: CredentialId,
    stop: TaskStop<'_>,
) -> Result<Vec<StoppedTask>, StoreError> {
    let query = stop.statement(workspace).push(
        " AND id IN (SELECT task_id FROM task_actions WHERE credential_id = ? AND max_uses > 0)",
        credential,
    );
    stop_selected(tx, workspace, stop.now, query).await
}

/// Withdraws all proposed tasks of an agent that is disabled or removed, and wakes the pages that show them.
pub async fn withdraw_for_agent(
    tx: &mut Tx,
    workspace: WorkspaceId,
    agent: AgentId,
    (reason, now): (&str, UnixMillis),
) -> Result<Vec<TaskRow>, StoreError> {
    let query = sql("UPDATE tasks SET state = 'withdrawn', decided_at = $1, reason = $2 \
         WHERE workspace_id = $3 AND agent_id = $4 AND state = 'proposed' AND expires_at > $1");
    let query = query.bind(now).bind(reason).bind(workspace).bind(agent);
    let withdrawn: Vec<TaskRow> = tx.returning(query.append(concat!(" RETURNING ", task_columns!()))).await?;
    for task in &withdrawn {
        chat_messages::set_desired_state(&mut *tx, workspace, task.id, TaskState::Withdrawn, now).await?;
        tx.notify(StoreEvent::Task { workspace, task: task.id });
    }
    Ok(withdrawn)
}
