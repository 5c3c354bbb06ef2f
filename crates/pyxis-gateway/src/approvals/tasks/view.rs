//! Queries of tasks, with their actions and current states.

use std::collections::{HashMap, HashSet};

use pyxis_core::actor::ActorId;
use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, TaskId, WorkspaceId};
use pyxis_core::task::{self, TaskState};
use pyxis_store::Store;
use pyxis_store::audit::{self, AuditEntry, AuditFilter};
use pyxis_store::tasks::{self, TaskActionRow, TaskRow};

use crate::approvals::announce::approval_subject::task_credentials;
use crate::error::{Error, Result};
use crate::identity::voters;

pub use pyxis_store::tasks::TaskFilter;

/// Maximum number of waiting tasks in the inbox.
const MAX_PROPOSED: u32 = 200;
/// Maximum number of requests shown with a task.
const MAX_REQUESTS: u32 = 100;

/// A task with its actions and current state.
#[derive(Clone, Debug)]
pub struct TaskView {
    /// The stored row.
    pub row: TaskRow,
    /// Actions, in order.
    pub actions: Vec<TaskActionRow>,
    /// Current state.
    pub state: TaskState,
}

impl TaskView {
    /// Reads the actions of a row. Fails if conditions of an action cannot be read, so that none is shown without them.
    pub async fn of_row(store: &Store, row: TaskRow, now: UnixMillis) -> Result<Self> {
        let actions = tasks::actions(store, row.workspace_id, row.id).await?;
        Self::new(row, actions, now)
    }

    fn new(row: TaskRow, actions: Vec<TaskActionRow>, now: UnixMillis) -> Result<Self> {
        for action in &actions {
            action.conditions()?;
            action.shown_conditions()?;
        }
        let is_used_up = actions.iter().all(|action| action.uses >= action.max_uses);
        Ok(Self { state: row.state.at(now, row.expires_at, is_used_up), row, actions })
    }

    /// Reads the actions of several rows at once.
    async fn of_rows(
        store: &Store,
        workspace: WorkspaceId,
        rows: Vec<TaskRow>,
        now: UnixMillis,
    ) -> Result<Vec<Self>> {
        let ids: Vec<TaskId> = rows.iter().map(|row| row.id).collect();
        let mut of_task: HashMap<TaskId, Vec<TaskActionRow>> = HashMap::new();
        for action in tasks::actions_of(store, workspace, &ids).await? {
            of_task.entry(action.task_id).or_default().push(action);
        }
        let views = rows.into_iter().map(|row| {
            let actions = of_task.remove(&row.id).unwrap_or_default();
            Self::new(row, actions, now)
        });
        views.collect()
    }

    /// True if all its credentials are among these; `None` for all credentials.
    pub fn is_within(&self, approvable: Option<&[CredentialId]>) -> bool {
        let listed =
            |among: &[CredentialId]| self.actions.iter().all(|action| among.contains(&action.credential_id));
        approvable.is_none_or(listed)
    }

    /// Number of uses so far, and the maximum.
    pub fn uses(&self) -> (i64, i64) {
        let approved = self.actions.iter();
        approved.fold((0, 0), |(uses, most), action| (uses + action.uses, most + action.max_uses))
    }
}

pub async fn load(store: &Store, workspace: WorkspaceId, id: TaskId, now: UnixMillis) -> Result<TaskView> {
    let row = tasks::find(store, workspace, id).await?.ok_or(Error::not_found("task"))?;
    TaskView::of_row(store, row, now).await
}

/// The task with this id, if this agent proposed it.
pub(super) async fn load_for_agent(
    store: &Store,
    workspace: WorkspaceId,
    agent: AgentId,
    id: TaskId,
    now: UnixMillis,
) -> Result<TaskView> {
    let found = tasks::find(store, workspace, id).await?.filter(|row| row.agent_id == agent);
    TaskView::of_row(store, found.ok_or(Error::not_found("task"))?, now).await
}

/// Tasks, newest first.
pub async fn list(
    store: &Store,
    workspace: WorkspaceId,
    filter: &TaskFilter,
    now: UnixMillis,
) -> Result<Vec<TaskView>> {
    TaskView::of_rows(store, workspace, tasks::list(store, workspace, filter, now).await?, now).await
}

/// Proposed tasks that a person with these credentials may decide, oldest first; `None` for all credentials.
pub async fn proposed(
    store: &Store,
    workspace: WorkspaceId,
    approvable: Option<&[CredentialId]>,
    now: UnixMillis,
) -> Result<Vec<TaskView>> {
    let rows = tasks::list_proposed(store, workspace, approvable, now, MAX_PROPOSED).await?;
    TaskView::of_rows(store, workspace, rows, now).await
}

/// Number of tasks that wait for the decision of a person with these credentials; `None` for all.
pub async fn count_proposed(
    store: &Store,
    workspace: WorkspaceId,
    approvable: Option<&[CredentialId]>,
    now: UnixMillis,
) -> Result<i64> {
    Ok(tasks::count_proposed(store, workspace, approvable, now).await?)
}

/// Positions of the actions whose approval needs a passkey now.
pub async fn passkey_positions(store: &Store, seen: &TaskView) -> Result<Vec<i64>> {
    let mut needed = HashSet::new();
    for id in task_credentials(&seen.actions) {
        let policy = voters::policy_of(store, seen.row.workspace_id, id).await?;
        if task::passkey_required(policy.as_ref()) {
            needed.insert(id);
        }
    }
    let needs = |action: &&TaskActionRow| needed.contains(&action.credential_id);
    Ok(seen.actions.iter().filter(needs).map(|action| action.position).collect())
}

/// Requests that a task allowed, newest first, with their outcomes.
pub async fn requests(store: &Store, task: &TaskView) -> Result<Vec<AuditEntry>> {
    let Some(from) = task.row.decided_at else { return Ok(Vec::new()) };
    let filter = AuditFilter {
        actor: Some(ActorId::Agent(task.row.agent_id)),
        decision: Some(AuditDecision::Task.into()),
        text: Some(task.row.id.to_string()),
        from: Some(from),
        limit: MAX_REQUESTS,
        ..AuditFilter::default()
    };
    Ok(audit::search(store, task.row.workspace_id, &filter).await?)
}
