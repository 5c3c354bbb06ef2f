//! Workspaces, which own all other rows.

use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use crate::db::{normalize_name, row, sql};
use crate::{Executor, StoreError};

row! {
    pub WorkspaceRow: "workspaces", workspace_columns {
        /// Unique identifier.
        id: WorkspaceId,
        /// Unique name, ignoring case.
        name: String,
        /// Treatment of credentials without a policy.
        mode: ApprovalMode,
        /// Approval window in seconds; `None` uses the configured default.
        approval_timeout_secs: Option<i64>,
        /// Creation time.
        created_at: UnixMillis,
    }
}

/// Adds a workspace. `Conflict` if the name is taken.
pub async fn insert(executor: impl Executor, new: &WorkspaceRow) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO workspaces (id, name, name_folded, mode, approval_timeout_secs, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING")
        .bind(new.id)
        .bind(&new.name)
        .bind(normalize_name(&new.name))
        .bind(new.mode)
        .bind(new.approval_timeout_secs)
        .bind(new.created_at);
    crate::db::insert(executor, query).await
}

pub async fn find(executor: impl Executor, id: WorkspaceId) -> Result<Option<WorkspaceRow>, StoreError> {
    executor
        .optional(sql(concat!("SELECT ", workspace_columns!(), " FROM workspaces WHERE id = $1")).bind(id))
        .await
}

/// The workspace with this name, ignoring case.
pub async fn find_by_name(executor: impl Executor, name: &str) -> Result<Option<WorkspaceRow>, StoreError> {
    let query = sql(concat!("SELECT ", workspace_columns!(), " FROM workspaces WHERE name_folded = $1"));
    executor.optional(query.bind(normalize_name(name))).await
}

/// All workspaces, oldest first.
pub async fn list(executor: impl Executor) -> Result<Vec<WorkspaceRow>, StoreError> {
    executor.all(sql(concat!("SELECT ", workspace_columns!(), " FROM workspaces ORDER BY id"))).await
}

/// True for the oldest workspace, which belongs to the operator of the installation.
pub async fn is_first(executor: impl Executor, id: WorkspaceId) -> Result<bool, StoreError> {
    let first: Option<(WorkspaceId,)> =
        executor.optional(sql("SELECT id FROM workspaces ORDER BY id LIMIT 1")).await?;
    Ok(first.is_some_and(|(first,)| first == id))
}

/// Changes the settings. Returns true if the workspace exists.
pub async fn update_settings(
    executor: impl Executor,
    workspace: WorkspaceId,
    mode: ApprovalMode,
    approval_timeout_secs: Option<i64>,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE workspaces SET mode = $1, approval_timeout_secs = $2 WHERE id = $3")
        .bind(mode)
        .bind(approval_timeout_secs)
        .bind(workspace);
    Ok(executor.execute(query).await? == 1)
}
