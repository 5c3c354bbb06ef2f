//! Tasks: lists of actions that a person approves once (`docs/reference/behavior/proxy.md#tasks`).

mod ends;
mod expiry;
mod lists;
mod uses;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, TaskId, WorkspaceId};
use pyxis_core::policy::Method;
use pyxis_core::task::TaskState;

use crate::db::{row, sql};
use crate::{Executor, StoreError, StoredName, Tx, chat_messages};

pub use ends::{
    StoppedTask, TaskStop, stop, stop_beyond_scope, stop_for_agent, stop_for_credential, withdraw_for_agent,
};
pub use expiry::{due, expire, next_expiry};
pub use lists::{TaskFilter, actions_of, count_proposed, list, list_proposed, purge};
pub use uses::{ClaimedUse, TaskLookup, claim, covering, return_use};

row! {
    pub TaskRow: "tasks", task_columns {
        /// Unique identifier.
        id: TaskId,
        workspace_id: WorkspaceId,
        /// Agent that proposed the task. No other agent can use it.
        agent_id: AgentId,
        /// Name of the agent when it proposed the task.
        agent_name: String,
        /// Purpose, as the agent wrote it.
        purpose: String,
        /// Digest of the proposal, by which identical ones are found.
        fingerprint: String,
        /// State as stored. [`TaskState::at`] has the current one.
        state: TaskState,
        /// Length as proposed, in minutes.
        minutes: i64,
        created_at: UnixMillis,
        /// End of the time to decide. Once approved, the end of the task.
        expires_at: UnixMillis,
        decided_at: Option<UnixMillis>,
        /// Email address of the person who decided.
        decided_by_email: Option<String>,
        /// Reason of a denial or of an early end.
        reason: Option<String>,
        /// Email address of the person who stopped the task.
        stopped_by_email: Option<String>,
        /// Time of an early end.
        ended_at: Option<UnixMillis>,
        /// Name of the passkey that confirmed the approval.
        passkey: Option<String>,
    }
}
pub(crate) use task_columns;

row! {
    pub TaskActionRow: "task_actions", task_action_columns {
        task_id: TaskId,
        /// Position in the proposal, from 1.
        position: i64,
        workspace_id: WorkspaceId,
        credential_id: CredentialId,
        /// Name of the credential when the task was proposed.
        credential_name: String,
        /// Version of the secret at the proposal, and then at the approval.
        credential_version: i64,
        /// HTTP method.
        method: StoredName<Method>,
        /// URL pattern.
        url: String,
        /// Conditions on the content, as a JSON list; see [`TaskActionRow::conditions`].
        content: String,
        /// Number of uses as proposed.
        proposed_uses: i64,
        /// Number of uses as approved; 0 if a person removed the action.
        max_uses: i64,
        /// Number of uses so far.
        uses: i64,
        /// Time of the last use.
        last_used_at: Option<UnixMillis>,
        /// URL pattern without secrets, if it has any; see [`TaskActionRow::redacted_url`].
        shown_url: Option<String>,
        /// Conditions without secrets, if they have any; see [`TaskActionRow::shown_conditions`].
        shown_content: Option<String>,
    }
}
pub(crate) use task_action_columns;

impl TaskActionRow {
    /// The URL pattern for people, chats and records, without secrets.
    pub fn redacted_url(&self) -> &str {
        self.shown_url.as_deref().unwrap_or(&self.url)
    }

    /// Conditions that the content of each request meets, as written. An unreadable list is an error: without its
    /// conditions an action would allow more.
    pub fn conditions(&self) -> Result<Vec<String>, StoreError> {
        self.listed(&self.content, "content")
    }

    /// The conditions for people, chats and records, without secrets.
    pub fn shown_conditions(&self) -> Result<Vec<String>, StoreError> {
        match &self.shown_content {
            Some(shown) => self.listed(shown, "shown_content"),
            None => self.conditions(),
        }
    }

    fn listed(&self, text: &str, column: &'static str) -> Result<Vec<String>, StoreError> {
        serde_json::from_str(text).map_err(|_| StoreError::Corrupt {
            table: "task_actions",
            column,
            row: format!("{} {}", self.task_id, self.position),
        })
    }
}

/// Adds a proposed task with its actions. `Conflict` if an identical one of the agent is proposed.
pub async fn insert(tx: &mut Tx, new: &TaskRow, actions: &[TaskActionRow]) -> Result<(), StoreError> {
    let query = sql("INSERT INTO tasks (id, workspace_id, agent_id, agent_name, purpose, fingerprint, state, \
         minutes, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(new.agent_id)
    .bind(&new.agent_name)
    .bind(&new.purpose)
    .bind(&new.fingerprint)
    .bind(new.state)
    .bind(new.minutes)
    .bind(new.created_at)
    .bind(new.expires_at);
    crate::db::insert(&mut *tx, query).await?;
    for action in actions {
        let query = sql("INSERT INTO task_actions (task_id, position, workspace_id, credential_id, \
             credential_name, credential_version, method, url, content, proposed_uses, max_uses, uses, \
             shown_url, shown_content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)")
        .bind(action.task_id)
        .bind(action.position)
        .bind(action.workspace_id)
        .bind(action.credential_id)
        .bind(&action.credential_name)
        .bind(action.credential_version)
        .bind(action.method.as_str())
        .bind(&action.url)
        .bind(&action.content)
        .bind(action.proposed_uses)
        .bind(action.max_uses)
        .bind(action.uses)
        .bind(action.shown_url.as_deref())
        .bind(action.shown_content.as_deref());
        tx.execute(query).await?;
    }
    Ok(())
}

/// Number of proposals of an agent that are pending, according to a plain read.
pub async fn count_waiting(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    now: UnixMillis,
) -> Result<i64, StoreError> {
    let query = sql("SELECT count(*) FROM tasks \
         WHERE workspace_id = $1 AND agent_id = $2 AND state = 'proposed' AND expires_at > $3");
    let query = query.bind(workspace).bind(agent).bind(now);
    Ok(executor.optional(query).await?.map_or(0, |(count,)| count))
}

/// Locks an agent until the transaction ends, so that the number of its proposals is exact. Expires overdue ones.
/// Returns the numbers of pending and of expired ones.
pub async fn lock_proposals(
    tx: &mut Tx,
    workspace: WorkspaceId,
    agent: AgentId,
    now: UnixMillis,
) -> Result<(i64, u64), StoreError> {
    // On SQLite a transaction has exclusive write access.
    let lock = if tx.is_sqlite() { "" } else { " FOR NO KEY UPDATE" };
    let query = sql("SELECT max_pending FROM agents WHERE workspace_id = $1 AND id = $2");
    let _: Option<(i64,)> = tx.optional(query.bind(workspace).bind(agent).append(lock)).await?;
    let expired = expiry::expire_for_agent(tx, workspace, agent, now).await?;
    let query = sql("SELECT count(*) FROM tasks \
         WHERE workspace_id = $1 AND agent_id = $2 AND state = 'proposed'");
    let pending = tx.optional(query.bind(workspace).bind(agent)).await?.map_or(0, |(count,)| count);
    Ok((pending, expired))
}

/// Pending task of the agent with the same fingerprint.
pub async fn find_proposed(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    fingerprint: &str,
    now: UnixMillis,
) -> Result<Option<TaskRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        task_columns!(),
        " FROM tasks WHERE workspace_id = $1 AND agent_id = $2 AND fingerprint = $3 AND state = 'proposed' \
         AND expires_at > $4"
    ));
    executor.optional(query.bind(workspace).bind(agent).bind(fingerprint).bind(now)).await
}

/// The task with this id.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: TaskId,
) -> Result<Option<TaskRow>, StoreError> {
    let query = sql(concat!("SELECT ", task_columns!(), " FROM tasks WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Actions of a task, in order.
pub async fn actions(
    executor: impl Executor,
    workspace: WorkspaceId,
    task: TaskId,
) -> Result<Vec<TaskActionRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        task_action_columns!(),
        " FROM task_actions WHERE workspace_id = $1 AND task_id = $2 ORDER BY position"
    ));
    executor.all(query.bind(workspace).bind(task)).await
}

/// A person's decision about a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskDecision<'a> {
    /// The new state.
    pub state: TaskState,
    /// Email address of the person; `None` if the agent withdraws.
    pub by: Option<&'a str>,
    /// Reason, if one was given.
    pub reason: Option<&'a str>,
    /// New end of the task, if it is approved.
    pub expires_at: Option<UnixMillis>,
    /// Name of the passkey that confirmed an approval.
    pub passkey: Option<&'a str>,
}

/// Decides a proposed task, and updates the messages about it. Returns false if it is no longer pending.
pub async fn decide(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: TaskId,
    decision: TaskDecision<'_>,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let TaskDecision { state, by, reason, expires_at, passkey } = decision;
    let query = sql("UPDATE tasks SET state = $1, decided_at = $2, decided_by_email = $3, reason = $4, \
         expires_at = coalesce(CAST($5 AS BIGINT), expires_at), passkey = $6 \
         WHERE workspace_id = $7 AND id = $8 AND state = 'proposed' AND expires_at > $2")
    .bind(state)
    .bind(now)
    .bind(by)
    .bind(reason)
    .bind(expires_at)
    .bind(passkey)
    .bind(workspace)
    .bind(id);
    if tx.execute(query).await? != 1 {
        return Ok(false);
    }
    chat_messages::set_desired_state(tx, workspace, id, state, now).await?;
    Ok(true)
}

/// Sets the number of uses of an action, and the version of the secret, as approved.
pub async fn approve_action(
    tx: &mut Tx,
    workspace: WorkspaceId,
    (task, position): (TaskId, i64),
    max_uses: i64,
    credential_version: i64,
) -> Result<(), StoreError> {
    let query = sql("UPDATE task_actions SET max_uses = $1, credential_version = $2 \
         WHERE workspace_id = $3 AND task_id = $4 AND position = $5");
    let query = query.bind(max_uses).bind(credential_version).bind(workspace).bind(task).bind(position);
    tx.execute(query).await.map(drop)
}

/// Actions of running tasks with this credential.
pub async fn live_actions(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
    now: UnixMillis,
) -> Result<Vec<TaskActionRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        task_action_columns!(),
        " FROM task_actions WHERE workspace_id = $1 AND credential_id = $2 AND max_uses > 0 \
         AND task_id IN (SELECT id FROM tasks WHERE workspace_id = $1 AND state = 'approved' AND expires_at > $3) \
         ORDER BY task_id, position"
    ));
    executor.all(query.bind(workspace).bind(credential).bind(now)).await
}
