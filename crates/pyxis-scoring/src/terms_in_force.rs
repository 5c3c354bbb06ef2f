//! Scorers with the terms of the moment: changes that were scheduled apply from their moment on, to the first reader.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_store::scorers::{self, ScorerRow};
use pyxis_store::{Store, scorer_changes};

use crate::conflicts::retry_on_conflict;
use crate::error::Result;

/// The scorer with the terms in force; `None` if the workspace has none with this number.
pub(crate) async fn find(
    store: &Store,
    workspace: WorkspaceId,
    scorer: ScorerId,
    now: UnixMillis,
) -> Result<Option<ScorerRow>> {
    let found = scorers::find(store, workspace, scorer).await?;
    if found.as_ref().is_none_or(|row| !row.is_due(now)) {
        return Ok(found);
    }
    apply(store, workspace, scorer, now).await?;
    Ok(scorers::find(store, workspace, scorer).await?)
}

/// The scorer with the terms in force, in any workspace.
pub(crate) async fn find_anywhere(
    store: &Store,
    scorer: ScorerId,
    now: UnixMillis,
) -> Result<Option<ScorerRow>> {
    let Some(found) = scorers::find_anywhere(store, scorer).await? else { return Ok(None) };
    if found.is_due(now) { find(store, found.workspace_id, scorer, now).await } else { Ok(Some(found)) }
}

/// Every scorer of a workspace with the terms in force.
pub(crate) async fn list(store: &Store, workspace: WorkspaceId, now: UnixMillis) -> Result<Vec<ScorerRow>> {
    let found = scorers::list(store, workspace).await?;
    let due: Vec<ScorerId> = found.iter().filter(|row| row.is_due(now)).map(|row| row.id).collect();
    if due.is_empty() {
        return Ok(found);
    }
    for scorer in due {
        apply(store, workspace, scorer, now).await?;
    }
    Ok(scorers::list(store, workspace).await?)
}

/// Writes down what is due, unless another process did.
pub(crate) async fn apply(
    store: &Store,
    workspace: WorkspaceId,
    scorer: ScorerId,
    now: UnixMillis,
) -> Result<()> {
    retry_on_conflict(|| async {
        let mut tx = store.begin().await?;
        if scorer_changes::apply_due(&mut tx, workspace, scorer, now).await? {
            tx.commit().await?;
            return Ok(Some(()));
        }
        let is_gone = scorers::find(store, workspace, scorer).await?.is_none();
        Ok(is_gone.then_some(()))
    })
    .await
}
