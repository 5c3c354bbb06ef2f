//! Changes of a scorer's terms that apply from a moment (`docs/reference/behavior/scoring.md#scores`).
//!
//! The terms at a moment are a function of time: those of the scorer, then each due change in order. [`apply_due`] only
//! writes down what this function already says, under the same revision.

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerChangeId, ScorerId, WorkspaceId};
use pyxis_core::score::{KeptWeight, Weights};

use crate::db::{FromRow, Row, row, sql};
use crate::scorers::{self, Terms};
use crate::{Executor, Store, StoreError, Tx};

row! {
    StoredChange: "scorer_changes", change_columns {
        id: ScorerChangeId,
        effective_from: UnixMillis,
        threshold: Option<Decimal>,
        weights: Option<String>,
        keep_until_expiry: bool,
        created_at: UnixMillis,
        created_by: String,
        applied_at: Option<UnixMillis>,
        kept: Option<String>,
    }
}

/// New terms from a moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScorerChangeRow {
    /// Identifier.
    pub id: ScorerChangeId,
    /// First moment of the new terms.
    pub effective_from: UnixMillis,
    /// New threshold; `None`: unchanged.
    pub threshold: Option<Decimal>,
    /// All new weights; `None`: unchanged.
    pub weights: Option<Weights>,
    /// True if credentials issued before keep a weight that this lowers, until they expire.
    pub keep_until_expiry: bool,
    /// Time at which the change was scheduled.
    pub created_at: UnixMillis,
    /// Name of who scheduled it.
    pub created_by: String,
    /// Time at which it was written down as the scorer's own terms; `None` before.
    pub applied_at: Option<UnixMillis>,
    /// Weights that holders keep after it, once it was written down.
    pub kept: Vec<KeptWeight>,
}

impl FromRow for ScorerChangeRow {
    const TABLE: &'static str = "scorer_changes";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let stored = StoredChange::from_row(row)?;
        let corrupt = |column| {
            let row = stored.id.to_string();
            move |_| StoreError::Corrupt { table: "scorer_changes", column, row }
        };
        let weights = stored.weights.map(|text| serde_json::from_str(&text)).transpose();
        let weights = weights.map_err(corrupt("weights"))?;
        let kept = stored.kept.map(|text| serde_json::from_str(&text)).transpose();
        let kept: Option<Vec<KeptWeight>> = kept.map_err(corrupt("kept"))?;
        Ok(Self {
            id: stored.id,
            effective_from: stored.effective_from,
            threshold: stored.threshold,
            weights,
            keep_until_expiry: stored.keep_until_expiry,
            created_at: stored.created_at,
            created_by: stored.created_by,
            applied_at: stored.applied_at,
            kept: kept.unwrap_or_default(),
        })
    }
}

impl ScorerChangeRow {
    /// The terms after this change.
    fn after(self, before: Terms) -> Terms {
        let keeps_from = self.keep_until_expiry.then_some(self.effective_from);
        let after = before.changed(self.threshold, self.weights, keeps_from);
        Terms { revision: after.revision + 1, ..after }
    }
}

/// Adds a change. The scorer must be locked by [`hold`].
pub async fn insert(
    tx: &mut Tx,
    workspace: WorkspaceId,
    scorer: ScorerId,
    new: &ScorerChangeRow,
) -> Result<(), StoreError> {
    let weights = new.weights.as_ref().map(serde_json::to_string).transpose();
    let query =
        sql("INSERT INTO scorer_changes (id, workspace_id, scorer_id, effective_from, threshold, weights, \
         keep_until_expiry, created_at, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
        .bind(new.id)
        .bind(workspace)
        .bind(scorer)
        .bind(new.effective_from)
        .bind(new.threshold)
        .bind(weights.map_err(StoreError::unavailable)?)
        .bind(new.keep_until_expiry)
        .bind(new.created_at)
        .bind(&new.created_by);
    tx.execute(query).await?;
    note_next(tx, workspace, scorer).await
}

/// Locks a scorer until the transaction ends. Returns its revision, or `None` if it does not exist.
pub async fn hold(tx: &mut Tx, workspace: WorkspaceId, scorer: ScorerId) -> Result<Option<i64>, StoreError> {
    let query = sql("SELECT revision FROM scorers WHERE workspace_id = $1 AND id = $2 AND revision > 0");
    let query = query.bind(workspace).bind(scorer);
    let query = if tx.is_sqlite() { query } else { query.append(" FOR NO KEY UPDATE") };
    Ok(tx.optional(query).await?.map(|(revision,)| revision))
}

/// Removes a change that is not in force yet. Returns it, or `None` if there is none. The scorer must be locked by
/// [`hold`].
pub async fn withdraw(
    tx: &mut Tx,
    workspace: WorkspaceId,
    scorer: ScorerId,
    id: ScorerChangeId,
    now: UnixMillis,
) -> Result<Option<ScorerChangeRow>, StoreError> {
    let waiting = list(&mut *tx, workspace, scorer).await?;
    let found = waiting
        .into_iter()
        .find(|change| change.id == id && change.applied_at.is_none() && change.effective_from > now);
    if found.is_some() {
        let query = sql("DELETE FROM scorer_changes WHERE workspace_id = $1 AND id = $2");
        tx.execute(query.bind(workspace).bind(id)).await?;
        note_next(tx, workspace, scorer).await?;
    }
    Ok(found)
}

/// Every change of a scorer, in the order in which they take effect.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
) -> Result<Vec<ScorerChangeRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        change_columns!(),
        " FROM scorer_changes WHERE workspace_id = $1 AND scorer_id = $2 ORDER BY effective_from, id"
    ));
    executor.all(query.bind(workspace).bind(scorer)).await
}

/// Changes that are due and not written down yet, in the order in which they take effect.
async fn due(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    now: UnixMillis,
) -> Result<Vec<ScorerChangeRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        change_columns!(),
        " FROM scorer_changes WHERE workspace_id = $1 AND scorer_id = $2 AND applied_at IS NULL \
         AND effective_from <= $3 ORDER BY effective_from, id"
    ));
    executor.all(query.bind(workspace).bind(scorer).bind(now)).await
}

/// Terms of a scorer that are in force at a moment.
pub async fn terms_at(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: ScorerId,
    now: UnixMillis,
) -> Result<Option<Terms>, StoreError> {
    let Some((terms, next)) = scorers::terms_and_next(&mut *tx, workspace, id).await? else {
        return Ok(None);
    };
    if next.is_none_or(|next| next > now) {
        return Ok(Some(terms));
    }
    let due = due(&mut *tx, workspace, id, now).await?;
    Ok(Some(after_all(terms, due)))
}

/// Like [`terms_at`], outside a transaction.
pub async fn read_terms_at(
    store: &Store,
    workspace: WorkspaceId,
    id: ScorerId,
    now: UnixMillis,
) -> Result<Option<Terms>, StoreError> {
    loop {
        let Some((terms, next)) = scorers::terms_and_next(store, workspace, id).await? else {
            return Ok(None);
        };
        if next.is_none_or(|next| next > now) {
            return Ok(Some(terms));
        }
        let due = due(store, workspace, id, now).await?;
        // Without any, someone wrote them down between the two reads.
        if !due.is_empty() {
            return Ok(Some(after_all(terms, due)));
        }
    }
}

/// The terms after the given changes, in their order.
pub fn after_all(before: Terms, changes: impl IntoIterator<Item = ScorerChangeRow>) -> Terms {
    changes.into_iter().fold(before, |terms, change| change.after(terms))
}

/// Writes down due changes as the scorer's own terms. Returns false if the scorer changed meanwhile, or was removed:
/// roll back and read it again.
pub async fn apply_due(
    tx: &mut Tx,
    workspace: WorkspaceId,
    scorer: ScorerId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    if hold(tx, workspace, scorer).await?.is_none() {
        return Ok(false);
    }
    let Some(mut terms) = scorers::terms(&mut *tx, workspace, scorer).await? else { return Ok(false) };
    for change in due(&mut *tx, workspace, scorer, now).await? {
        let id = change.id;
        let after = change.after(terms.clone());
        let set = Terms { revision: terms.revision, ..after };
        let Some(revision) = scorers::set_terms(tx, workspace, scorer, &set).await? else { return Ok(false) };
        terms = Terms { revision, ..set };
        let kept = serde_json::to_string(&terms.kept).map_err(StoreError::unavailable)?;
        let mark =
            sql("UPDATE scorer_changes SET applied_at = $1, kept = $2 WHERE workspace_id = $3 AND id = $4");
        tx.execute(mark.bind(now).bind(kept).bind(workspace).bind(id)).await?;
    }
    note_next(tx, workspace, scorer).await?;
    Ok(true)
}

async fn note_next(tx: &mut Tx, workspace: WorkspaceId, scorer: ScorerId) -> Result<(), StoreError> {
    let query = sql("UPDATE scorers SET next_change_at = (SELECT min(effective_from) FROM scorer_changes \
         WHERE scorer_changes.scorer_id = scorers.id AND applied_at IS NULL) WHERE workspace_id = $1 AND id = $2");
    tx.execute(query.bind(workspace).bind(scorer)).await.map(drop)
}
