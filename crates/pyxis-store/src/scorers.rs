//! Scorers (Spec 1): each weighs Stamps in its own way.

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::Weights;
use pyxis_core::stamp::StampName;

use crate::db::{Bind, Rows, row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// A scorer.
    pub ScorerRow: "scorers", scorer_columns {
        /// Number, from 1.
        id: ScorerId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// Name.
        name: String,
        /// The score needed to pass.
        threshold: Decimal,
        /// Rises with every change of weights or threshold, from 1. One that was removed has 0 as long as there is
        /// anything left of it, and is found by nothing here.
        revision: i64,
        /// Creation.
        created_at: UnixMillis,
    }
}

/// The number of scorer $2 if it is of workspace $1. Rows of a scorer are found by it alone: with the
/// workspace beside it PostgreSQL, before it has statistics, may prefer to read every row of both.
macro_rules! own_scorer {
    () => {
        "(SELECT id FROM scorers WHERE workspace_id = $1 AND id = $2 AND revision > 0)"
    };
}
pub(crate) use own_scorer;

/// What a scorer scores by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Which state of them this is.
    pub revision: i64,
    /// The score needed to pass.
    pub threshold: Decimal,
    /// What each Stamp contributes.
    pub weights: Weights,
}

/// Adds a scorer; its number.
pub async fn insert(
    tx: &mut Tx,
    workspace: WorkspaceId,
    name: &str,
    threshold: Decimal,
    weights: &Weights,
    now: UnixMillis,
) -> Result<ScorerId, StoreError> {
    let query = sql("INSERT INTO scorers (workspace_id, name, threshold, revision, created_at) \
         VALUES ($1, $2, $3, 1, $4) RETURNING id");
    let row = tx.returning(query.bind(workspace).bind(name).bind(threshold).bind(now)).await?.pop();
    let (id,) = row.ok_or(StoreError::Aborted)?;
    insert_weights(tx, workspace, id, weights).await?;
    Ok(id)
}

/// The scorer.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScorerId,
) -> Result<Option<ScorerRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        scorer_columns!(),
        " FROM scorers WHERE workspace_id = $1 AND id = $2 AND revision > 0"
    ));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// The scorers of a workspace.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<ScorerRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        scorer_columns!(),
        " FROM scorers WHERE workspace_id = $1 AND revision > 0 ORDER BY id"
    ));
    executor.all(query.bind(workspace)).await
}

/// What a scorer scores by, of one moment.
pub async fn terms(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScorerId,
) -> Result<Option<Terms>, StoreError> {
    type Line = (i64, Decimal, Option<StampName>, Option<Decimal>);
    let query =
        sql("SELECT scorers.revision, scorers.threshold, scorer_weights.provider, scorer_weights.weight \
         FROM scorers LEFT JOIN scorer_weights ON scorer_weights.scorer_id = scorers.id \
         WHERE scorers.workspace_id = $1 AND scorers.id = $2 AND scorers.revision > 0");
    let lines: Vec<Line> = executor.all(query.bind(workspace).bind(id)).await?;
    let head = lines.first().map(|(revision, threshold, ..)| (*revision, *threshold));
    let weights = lines.into_iter().filter_map(|(_, _, provider, weight)| Some((provider?, weight?)));
    Ok(head.map(|(revision, threshold)| Terms { revision, threshold, weights: weights.collect() }))
}

/// Renames a scorer; whether it exists.
pub async fn rename(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScorerId,
    name: &str,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE scorers SET name = $1 WHERE workspace_id = $2 AND id = $3 AND revision > 0");
    Ok(executor.execute(query.bind(name).bind(workspace).bind(id)).await? == 1)
}

/// Replaces weights and threshold of a scorer that is still at `terms.revision`; the new revision, or
/// `None` if it is not, or gone.
pub async fn set_terms(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: ScorerId,
    terms: &Terms,
) -> Result<Option<i64>, StoreError> {
    let raise = sql("UPDATE scorers SET threshold = $1, revision = revision + 1 WHERE workspace_id = $2 \
         AND id = $3 AND revision = $4 AND revision > 0 RETURNING revision");
    let query = raise.bind(terms.threshold).bind(workspace).bind(id).bind(terms.revision);
    let Some((revision,)) = tx.returning(query).await?.pop() else { return Ok(None) };
    let forget = sql("DELETE FROM scorer_weights WHERE scorer_id = $1");
    tx.execute(forget.bind(id)).await?;
    insert_weights(tx, workspace, id, &terms.weights).await?;
    Ok(Some(revision))
}

/// Removes a scorer; whether it existed. What it scored stays for [`clear`] to remove.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScorerId,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE scorers SET revision = 0 WHERE workspace_id = $1 AND id = $2 AND revision > 0");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Removed scorers of which something is left.
pub async fn removed(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<ScorerId>, StoreError> {
    let query = sql("SELECT id FROM scorers WHERE workspace_id = $1 AND revision = 0 ORDER BY id");
    let found = executor.all(query.bind(workspace)).await?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// A piece of what a removed scorer scored. Others wait while it is deleted, so it is not large.
macro_rules! piece {
    ($table:literal, $key:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE scorer_id = (SELECT id FROM scorers WHERE workspace_id = $1 AND id = $2 AND revision = 0) \
             AND (",
            $key,
            ") IN (SELECT ",
            $key,
            " FROM ",
            $table,
            " WHERE scorer_id = $2 ORDER BY ",
            $key,
            " LIMIT 2000)"
        )
    };
}

/// Deletes a piece of what a removed scorer scored, in the end its row; whether there may be more.
pub async fn clear(tx: &mut Tx, workspace: WorkspaceId, id: ScorerId) -> Result<bool, StoreError> {
    for piece in [
        piece!("scores", "address"),
        piece!("score_history", "address, computed_at"),
        piece!("claims", "nullifier"),
    ] {
        if tx.execute(sql(piece).bind(workspace).bind(id)).await? > 0 {
            return Ok(true);
        }
    }
    // With what came in meanwhile by transactions that knew the scorer.
    let query = sql("DELETE FROM scorers WHERE workspace_id = $1 AND id = $2 AND revision = 0");
    tx.execute(query.bind(workspace).bind(id)).await?;
    Ok(false)
}

async fn insert_weights(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: ScorerId,
    weights: &Weights,
) -> Result<(), StoreError> {
    let row = |(provider, weight): (&StampName, &Decimal)| {
        vec![id.bind(), provider.bind(), workspace.bind(), weight.bind()]
    };
    let rows: Rows = weights.iter().map(row).collect();
    tx.execute_each(
        "INSERT INTO scorer_weights (scorer_id, provider, workspace_id, weight) VALUES ($1, $2, $3, $4)"
            .into(),
        rows,
    )
    .await?;
    Ok(())
}
