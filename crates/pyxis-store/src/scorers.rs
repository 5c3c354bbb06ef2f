//! Scorers (Spec 1): a positive integer names one.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// A scorer.
    pub ScorerRow: "scorers", scorer_columns {
        /// Number, from 1.
        id: i64,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// Name.
        name: String,
        /// Creation.
        created_at: UnixMillis,
    }
}

/// Adds a scorer; its number.
pub async fn insert(
    executor: impl Executor,
    workspace: WorkspaceId,
    name: &str,
    now: UnixMillis,
) -> Result<i64, StoreError> {
    let query = sql("INSERT INTO scorers (workspace_id, name, created_at) VALUES ($1, $2, $3) RETURNING id");
    let row = executor.returning(query.bind(workspace).bind(name).bind(now)).await?.pop();
    row.map(|(id,)| id).ok_or(StoreError::Aborted)
}

/// The scorer.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: i64,
) -> Result<Option<ScorerRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", scorer_columns!(), " FROM scorers WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// The scorers of a workspace.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<ScorerRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", scorer_columns!(), " FROM scorers WHERE workspace_id = $1 ORDER BY id"));
    executor.all(query.bind(workspace)).await
}
