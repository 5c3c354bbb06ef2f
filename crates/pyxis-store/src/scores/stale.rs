//! Stale scores of a scorer, as needed to score everything again.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};

use crate::db::sql;
use crate::scorers::own_scorer;
use crate::{Executor, StoreError};

/// Addresses scored by a scorer, in order, after a given one.
pub async fn addresses(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    after: Option<EvmAddress>,
    limit: u32,
) -> Result<Vec<EvmAddress>, StoreError> {
    let query = sql(concat!("SELECT address FROM scores WHERE scorer_id = ", own_scorer!()))
        .bind(workspace)
        .bind(scorer)
        .push_if(" AND address > ?", after)
        .append(" ORDER BY address")
        .limit(limit);
    let found = executor.all(query).await?;
    Ok(found.into_iter().map(|(address,)| address).collect())
}

/// Number of addresses scored by a scorer.
pub async fn count(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
) -> Result<i64, StoreError> {
    let query = sql(concat!("SELECT count(*) FROM scores WHERE scorer_id = ", own_scorer!()));
    Ok(executor.optional(query.bind(workspace).bind(scorer)).await?.map_or(0, |(count,)| count))
}

/// Addresses with a stale stored score, in order, after a given one.
pub async fn stale(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    now: UnixMillis,
    after: Option<EvmAddress>,
    limit: u32,
) -> Result<Vec<EvmAddress>, StoreError> {
    let query = sql(concat!(
        "SELECT address FROM scores WHERE scorer_id = ",
        own_scorer!(),
        " AND (stale OR valid_until <= $3 OR revision <> (SELECT revision FROM scorers WHERE id = $2))"
    ))
    .bind(workspace)
    .bind(scorer)
    .bind(now)
    .push_if(" AND address > ?", after)
    .append(" ORDER BY address")
    .limit(limit);
    let found = executor.all(query).await?;
    Ok(found.into_iter().map(|(address,)| address).collect())
}

/// Number of stored and stale scores of a scorer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaleProgress {
    /// All stored scores.
    pub stored: i64,
    /// Stale scores, which are recomputed when next requested.
    pub outdated: i64,
}

/// Counts the scores of a scorer that are stale under its current terms. Reads every one of them.
pub async fn progress(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    now: UnixMillis,
) -> Result<StaleProgress, StoreError> {
    let query = sql("SELECT count(*), count(CASE WHEN scores.stale OR scores.valid_until <= $1 \
         OR scores.revision <> scorers.revision OR scorers.next_change_at <= $1 THEN 1 END) \
         FROM scorers JOIN scores ON scores.scorer_id = scorers.id \
         WHERE scorers.workspace_id = $2 AND scorers.id = $3");
    let found = executor.optional(query.bind(now).bind(workspace).bind(scorer)).await?;
    Ok(found.map_or_else(StaleProgress::default, |(stored, outdated)| StaleProgress { stored, outdated }))
}
