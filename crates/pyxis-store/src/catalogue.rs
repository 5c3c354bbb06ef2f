//! Custom Stamp catalogues of workspaces (`docs/reference/behavior/scoring.md#catalogue`). A change raises the
//! generation.

use pyxis_core::catalogue::Platform;
use pyxis_core::id::WorkspaceId;

use crate::db::{Bind, Cell, Column, Rows, Value, sql};
use crate::{Executor, StoreError, Tx};

/// Stored as JSON.
impl Bind for Platform {
    const NULL: Value = Value::Text(None);

    fn bind(self) -> Value {
        // Serialization fails only for maps with non-string keys.
        serde_json::to_string(&self).ok().bind()
    }
}

impl Column for Platform {
    fn read(cell: Cell<'_>) -> Option<Self> {
        if let Cell::Text(text) = cell { serde_json::from_str(text).ok() } else { None }
    }
}

/// Platforms of a workspace, in order. An empty list means the built-in catalogue.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<Platform>, StoreError> {
    let query = sql("SELECT id, document FROM platforms WHERE workspace_id = $1 ORDER BY position, id");
    let rows: Vec<(String, Platform)> = executor.all(query.bind(workspace)).await?;
    Ok(rows.into_iter().map(|(_, platform)| platform).collect())
}

/// Replaces the catalogue of a workspace. An empty list restores the built-in one. `Conflict` if two platforms have the
/// same id.
pub async fn replace(tx: &mut Tx, workspace: WorkspaceId, platforms: &[Platform]) -> Result<(), StoreError> {
    tx.execute(sql("DELETE FROM platforms WHERE workspace_id = $1").bind(workspace)).await?;
    let row = |(position, platform): (i64, &Platform)| {
        vec![workspace.bind(), platform.id.clone().bind(), position.bind(), platform.bind()]
    };
    let rows: Rows = (1..).zip(platforms).map(row).collect();
    tx.execute_each(
        "INSERT INTO platforms (workspace_id, id, position, document) VALUES ($1, $2, $3, $4)".into(),
        rows,
    )
    .await?;
    Ok(())
}
