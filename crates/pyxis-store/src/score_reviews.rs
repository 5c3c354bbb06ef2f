//! Reviews of scores, which the scored people ask for and managers decide
//! (`docs/reference/behavior/scoring.md#reviews`).

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScoreReviewId, ScorerId, WorkspaceId};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    pub ReviewState {
        /// Not decided yet.
        Open = "open",
        /// Decided in favor of the holder.
        Granted = "granted",
        /// Decided against it.
        Declined = "declined",
    }
}

row! {
    pub ScoreReviewRow: "score_reviews", score_review_columns {
        /// Unique identifier.
        id: ScoreReviewId,
        workspace_id: WorkspaceId,
        scorer_id: ScorerId,
        address: EvmAddress,
        /// The holder's reason.
        reason: String,
        /// Score at the time of the request.
        score: Decimal,
        /// Threshold at that time.
        threshold: Decimal,
        state: ReviewState,
        created_at: UnixMillis,
        /// Name of who decided.
        decided_by: Option<String>,
        decided_at: Option<UnixMillis>,
        /// Reason of the decision, which the holder sees.
        answer: Option<String>,
    }
}

/// Adds an open review. `Conflict` if one of the address is open in this scorer.
pub async fn insert(executor: impl Executor, new: &ScoreReviewRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO score_reviews (id, workspace_id, scorer_id, address, reason, score, \
         threshold, state, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 'open', $8) ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(new.scorer_id)
    .bind(new.address)
    .bind(&new.reason)
    .bind(new.score)
    .bind(new.threshold)
    .bind(new.created_at);
    crate::db::insert(executor, query).await
}

/// The latest review of an address in a scorer.
pub async fn latest(
    executor: impl Executor,
    scorer: ScorerId,
    address: EvmAddress,
) -> Result<Option<ScoreReviewRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        score_review_columns!(),
        " FROM score_reviews WHERE scorer_id = $1 AND address = $2 ORDER BY id DESC LIMIT 1"
    ));
    executor.optional(query.bind(scorer).bind(address)).await
}

/// A review of a workspace.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScoreReviewId,
) -> Result<Option<ScoreReviewRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        score_review_columns!(),
        " FROM score_reviews WHERE workspace_id = $1 AND id = $2"
    ));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Reviews of a workspace, newest first, before a given one.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    state: Option<ReviewState>,
    before: Option<ScoreReviewId>,
    limit: u32,
) -> Result<Vec<ScoreReviewRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", score_review_columns!(), " FROM score_reviews WHERE workspace_id = $1"))
            .bind(workspace)
            .push_if(" AND state = ?", state)
            .push_if(" AND id < ?", before)
            .append(" ORDER BY id DESC")
            .limit(limit);
    executor.all(query).await
}

/// Number of open reviews in a scorer.
pub async fn count_open(executor: impl Executor, scorer: ScorerId) -> Result<i64, StoreError> {
    let query = sql("SELECT count(*) FROM score_reviews WHERE scorer_id = $1 AND state = 'open'");
    Ok(executor.optional(query.bind(scorer)).await?.map_or(0, |(count,)| count))
}

/// Decides an open review. Returns false if it is decided already, or gone.
pub async fn decide(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: ScoreReviewId,
    state: ReviewState,
    (by, answer): (&str, &str),
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE score_reviews SET state = $1, decided_by = $2, answer = $3, decided_at = $4 \
         WHERE workspace_id = $5 AND id = $6 AND state = 'open'")
    .bind(state)
    .bind(by)
    .bind(answer)
    .bind(now)
    .bind(workspace)
    .bind(id);
    Ok(tx.execute(query).await? == 1)
}
