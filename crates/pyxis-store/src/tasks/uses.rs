//! Uses of approved tasks.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, TaskId, WorkspaceId};
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_core::task::TaskUrl;

use super::{TaskActionRow, task_action_columns};
use crate::db::sql;
use crate::{Executor, Store, StoreError, StoreEvent};

/// Search for an action that covers a request.
#[derive(Clone, Copy, Debug)]
pub struct TaskLookup<'a> {
    /// Workspace of the request.
    pub workspace: WorkspaceId,
    /// Requesting agent.
    pub agent: AgentId,
    /// Credential to use.
    pub credential: CredentialId,
    /// Current version of the credential.
    pub credential_version: i64,
    /// HTTP method.
    pub method: Method,
    /// URL of the request.
    pub target: &'a Target,
    /// True if only tasks that a passkey confirmed count.
    pub passkey_required: bool,
    /// Current time.
    pub now: UnixMillis,
}

/// One counted use of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedUse {
    /// Task of the action.
    pub task: TaskId,
    /// Position of the action.
    pub position: i64,
}

/// Actions that cover the request, apart from its content, and have a use left, in order. Does not count a use.
pub async fn covering(
    executor: impl Executor,
    wanted: &TaskLookup<'_>,
) -> Result<Vec<TaskActionRow>, StoreError> {
    let confirmed = if wanted.passkey_required { " AND passkey IS NOT NULL" } else { "" };
    let query = sql(concat!(
        "SELECT ",
        task_action_columns!(),
        " FROM task_actions WHERE workspace_id = $1 AND credential_id = $2 AND method = $3 \
         AND credential_version = $4 AND uses < max_uses AND task_id IN (SELECT id FROM tasks \
         WHERE workspace_id = $1 AND agent_id = $5 AND state = 'approved' AND expires_at > $6"
    ))
    .bind(wanted.workspace)
    .bind(wanted.credential)
    .bind(wanted.method.as_str())
    .bind(wanted.credential_version)
    .bind(wanted.agent)
    .bind(wanted.now)
    .append(confirmed)
    .append(") ORDER BY task_id, position");
    let found: Vec<TaskActionRow> = executor.all(query).await?;
    let covers = |url: &str| TaskUrl::parse(url).is_ok_and(|url| url.matches(wanted.target));
    Ok(found.into_iter().filter(|action| covers(&action.url)).collect())
}

/// Counts one use of an action from [`covering`], if it has one left and its task runs. Exact under concurrency.
pub async fn claim(
    store: &Store,
    action: &TaskActionRow,
    now: UnixMillis,
) -> Result<Option<ClaimedUse>, StoreError> {
    let query = sql("UPDATE task_actions SET uses = uses + 1, last_used_at = $1 \
         WHERE workspace_id = $2 AND task_id = $3 AND position = $4 AND uses < max_uses \
         AND EXISTS (SELECT 1 FROM tasks WHERE id = $3 AND state = 'approved' AND expires_at > $1)")
    .bind(now)
    .bind(action.workspace_id)
    .bind(action.task_id)
    .bind(action.position);
    let mut tx = store.begin().await?;
    if tx.execute(query).await? != 1 {
        return Ok(None);
    }
    tx.notify(StoreEvent::TaskUse { workspace: action.workspace_id, task: action.task_id });
    tx.commit().await?;
    Ok(Some(ClaimedUse { task: action.task_id, position: action.position }))
}

/// Returns a use that [`claim`] counted for a request that was not sent. Returns true if one was counted.
pub async fn return_use(
    executor: impl Executor,
    workspace: WorkspaceId,
    claimed: ClaimedUse,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE task_actions SET uses = uses - 1 \
         WHERE workspace_id = $1 AND task_id = $2 AND position = $3 AND uses > 0");
    let query = query.bind(workspace).bind(claimed.task).bind(claimed.position);
    Ok(executor.execute(query).await? == 1)
}
