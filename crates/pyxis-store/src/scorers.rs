//! Scorers (`docs/reference/behavior/scoring.md#scores`), each with its own Stamp weights.

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::{KeptWeight, Weights, kept_after};
use pyxis_core::stamp::StampName;

use crate::db::{Bind, FromRow, Row, Rows, row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    pub ScorerRow: "scorers", scorer_columns {
        /// Scorer number, from 1.
        id: ScorerId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// Display name.
        name: String,
        /// Minimum score to pass.
        threshold: Decimal,
        /// Starts at 1 and rises with every change of weights or threshold. A removed scorer has 0 until its data is
        /// deleted, and is not found by these functions.
        revision: i64,
        /// Creation time.
        created_at: UnixMillis,
        /// Moment of the earliest scheduled change that is not written down yet ([`crate::scorer_changes`]).
        next_change_at: Option<UnixMillis>,
    }
}
pub(crate) use scorer_columns;

impl ScorerRow {
    /// True if other terms are in force than this row has.
    pub fn is_due(&self, now: UnixMillis) -> bool {
        self.next_change_at.is_some_and(|at| at <= now)
    }
}

/// The number of scorer $2 if it belongs to workspace $1. Rows of a scorer are found by this number alone. With the
/// workspace as a second condition, PostgreSQL without statistics may prefer to read all rows of both.
macro_rules! own_scorer {
    () => {
        "(SELECT id FROM scorers WHERE workspace_id = $1 AND id = $2 AND revision > 0)"
    };
}
pub(crate) use own_scorer;

/// Terms of a scorer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Revision of the terms.
    pub revision: i64,
    /// Minimum score to pass.
    pub threshold: Decimal,
    /// Contribution of each Stamp.
    pub weights: Weights,
    /// Earlier weights that credentials from before a change keep.
    pub kept: Vec<KeptWeight>,
}

impl Terms {
    /// The terms after a change, with the same revision. `None` leaves a part unchanged. With `keeps_from`, credentials
    /// issued before this moment keep a weight that the change lowers.
    #[must_use]
    pub fn changed(
        self,
        threshold: Option<Decimal>,
        weights: Option<Weights>,
        keeps_from: Option<UnixMillis>,
    ) -> Self {
        let threshold = threshold.unwrap_or(self.threshold);
        let Some(weights) = weights else { return Self { threshold, ..self } };
        let kept = kept_after(&self.kept, &self.weights, &weights, keeps_from);
        Self { revision: self.revision, threshold, weights, kept }
    }
}

/// Adds a scorer. Returns its number.
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

/// The scorer with this number.
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

/// The scorer with this number, in any workspace: for scorers that the operator opened to everyone.
pub async fn find_anywhere(executor: impl Executor, id: ScorerId) -> Result<Option<ScorerRow>, StoreError> {
    let query = sql(concat!("SELECT ", scorer_columns!(), " FROM scorers WHERE id = $1 AND revision > 0"));
    executor.optional(query.bind(id)).await
}

pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<ScorerRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        scorer_columns!(),
        " FROM scorers WHERE workspace_id = $1 AND revision > 0 ORDER BY id"
    ));
    executor.all(query.bind(workspace)).await
}

/// Terms of a scorer, read consistently, without changes that are due and not written down yet.
pub async fn terms(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScorerId,
) -> Result<Option<Terms>, StoreError> {
    Ok(terms_and_next(executor, workspace, id).await?.map(|(terms, _)| terms))
}

/// The terms of a scorer with one of its weights.
struct TermsLine {
    revision: i64,
    threshold: Decimal,
    next_change_at: Option<UnixMillis>,
    weight: Option<(StampName, Decimal)>,
    /// Set if the weight is one that older credentials keep.
    issued_before: Option<UnixMillis>,
}

impl FromRow for TermsLine {
    const TABLE: &'static str = "scorers";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let (revision, threshold) = (row.take("revision")?, row.take("threshold")?);
        let next_change_at = row.take("next_change_at")?;
        let provider: Option<StampName> = row.take("provider")?;
        let weight: Option<Decimal> = row.take("weight")?;
        let issued_before = row.take("issued_before")?;
        Ok(Self { revision, threshold, next_change_at, weight: provider.zip(weight), issued_before })
    }
}

/// Terms of a scorer, and the moment of the earliest change that is not written down yet.
pub(crate) async fn terms_and_next(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScorerId,
) -> Result<Option<(Terms, Option<UnixMillis>)>, StoreError> {
    let query = sql(
        "SELECT scorers.revision, scorers.threshold, scorers.next_change_at, scorer_weights.provider, \
         scorer_weights.weight, CAST(NULL AS BIGINT) AS issued_before \
         FROM scorers LEFT JOIN scorer_weights ON scorer_weights.scorer_id = scorers.id \
         WHERE scorers.workspace_id = $1 AND scorers.id = $2 AND scorers.revision > 0 \
         UNION ALL SELECT scorers.revision, scorers.threshold, scorers.next_change_at, kept_weights.provider, \
         kept_weights.weight, kept_weights.issued_before \
         FROM scorers JOIN kept_weights ON kept_weights.scorer_id = scorers.id \
         WHERE scorers.workspace_id = $1 AND scorers.id = $2 AND scorers.revision > 0",
    );
    let lines: Vec<TermsLine> = executor.all(query.bind(workspace).bind(id)).await?;
    let head = lines.first().map(|line| (line.revision, line.threshold, line.next_change_at));
    let (mut weights, mut kept) = (Weights::new(), Vec::new());
    for TermsLine { weight, issued_before, .. } in lines {
        match (weight, issued_before) {
            (Some((provider, weight)), None) => drop(weights.insert(provider, weight)),
            (Some((provider, weight)), Some(issued_before)) => {
                kept.push(KeptWeight { provider, weight, issued_before });
            }
            (None, _) => {}
        }
    }
    kept.sort_unstable_by(|one, other| {
        (one.issued_before, &one.provider).cmp(&(other.issued_before, &other.provider))
    });
    Ok(head.map(|(revision, threshold, next)| (Terms { revision, threshold, weights, kept }, next)))
}

/// Renames a scorer. Returns true if it exists.
pub async fn rename(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScorerId,
    name: &str,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE scorers SET name = $1 WHERE workspace_id = $2 AND id = $3 AND revision > 0");
    Ok(executor.execute(query.bind(name).bind(workspace).bind(id)).await? == 1)
}

/// Replaces the weights and threshold of a scorer that is still at `terms.revision`. Returns the new revision, or
/// `None` if it changed or was removed.
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
    replace_kept(tx, workspace, id, &terms.kept).await?;
    Ok(Some(revision))
}

/// Removes a scorer. Its scores stay until [`clear`] deletes them. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScorerId,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE scorers SET revision = 0 WHERE workspace_id = $1 AND id = $2 AND revision > 0");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Removed scorers with data left.
pub async fn removed(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<ScorerId>, StoreError> {
    let query = sql("SELECT id FROM scorers WHERE workspace_id = $1 AND revision = 0 ORDER BY id");
    let found = executor.all(query.bind(workspace)).await?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// One batch of a removed scorer's data. It is small, because others wait while it is deleted.
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

/// Deletes one batch of a removed scorer's data, and finally its row. Returns true if there may be more.
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
    // Includes rows added meanwhile by transactions that still knew the scorer.
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

async fn replace_kept(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: ScorerId,
    kept: &[KeptWeight],
) -> Result<(), StoreError> {
    tx.execute(sql("DELETE FROM kept_weights WHERE scorer_id = $1").bind(id)).await?;
    let row = |KeptWeight { provider, weight, issued_before }: &KeptWeight| {
        vec![id.bind(), provider.bind(), issued_before.bind(), workspace.bind(), weight.bind()]
    };
    let rows: Rows = kept.iter().map(row).collect();
    tx.execute_each(
        "INSERT INTO kept_weights (scorer_id, provider, issued_before, workspace_id, weight) \
         VALUES ($1, $2, $3, $4, $5)"
            .into(),
        rows,
    )
    .await?;
    Ok(())
}
