//! Jobs that score many addresses (`docs/reference/behavior/score-jobs.md`).
//!
//! A job is added in the state `uploading`, receives its chunks, and is queued. One node at a time holds a running job.
//! Each step of that node is conditional on still holding it, so a node that lost the job cannot change it.

mod chunks;
mod rewrite;

pub use chunks::{
    Chunk, ChunkResult, ChunkTotals, NewChunk, append, commit_chunk, next_pending, remove_chunks, results,
};
pub use rewrite::{RewrittenChunk, StoredChunk, interrupt, keys, replace, stored};

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{NodeId, ScoreJobId, ScorerId, WorkspaceId};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

/// Time for which a claim of a job lasts without being renewed.
pub const HOLD: Duration = Duration::from_secs(30);

stored_enum! {
    pub ScoreJobState {
        /// Its addresses are arriving.
        Uploading = "uploading",
        /// It waits for a node.
        Queued = "queued",
        /// A node works on it.
        Running = "running",
        /// Every row has a result.
        Done = "done",
        /// A person ended it.
        Canceled = "canceled",
        /// It could not be finished.
        Failed = "failed",
        /// It is being deleted.
        Removed = "removed",
    }
}

row! {
    pub ScoreJobRow: "score_jobs", score_job_columns {
        /// Unique identifier.
        id: ScoreJobId,
        /// Workspace of the scorer.
        workspace_id: WorkspaceId,
        /// Scorer of the scores.
        scorer_id: ScorerId,
        /// Display name.
        name: String,
        /// Current state.
        state: ScoreJobState,
        /// Name of the person who added it.
        created_by: String,
        /// Time at which it was added.
        created_at: UnixMillis,
        /// Time of the first claim.
        started_at: Option<UnixMillis>,
        /// Time at which it was done, canceled or given up.
        finished_at: Option<UnixMillis>,
        /// Number of rows.
        total: i64,
        /// Rows with a score.
        scored: i64,
        /// Rows without one.
        failed: i64,
        /// Failed rows that can be run again, because they have an address.
        retryable: i64,
        /// Reason that it could not be finished.
        problem: Option<String>,
    }
}

/// A job to add.
#[derive(Clone, Debug)]
pub struct NewScoreJob {
    /// Unique identifier.
    pub id: ScoreJobId,
    /// Scorer of the scores.
    pub scorer: ScorerId,
    /// Display name.
    pub name: String,
    /// Name of the person who adds it.
    pub created_by: String,
    /// Current time.
    pub created_at: UnixMillis,
}

/// Adds a job in the state `uploading`, held by `holder`. `Reference` if there is no such scorer.
pub async fn insert(
    executor: impl Executor,
    workspace: WorkspaceId,
    new: &NewScoreJob,
    holder: NodeId,
) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO score_jobs (id, workspace_id, scorer_id, name, state, created_by, created_at, total, \
         scored, failed, retryable, claims, holder, held_until_at) \
         VALUES ($1, $2, $3, $4, 'uploading', $5, $6, 0, 0, 0, 0, 0, $7, $8)",
    )
    .bind(new.id)
    .bind(workspace)
    .bind(new.scorer)
    .bind(&new.name)
    .bind(&new.created_by)
    .bind(new.created_at)
    .bind(holder)
    .bind(new.created_at.plus(HOLD));
    executor.execute(query).await.map(|_| ())
}

/// Queues an uploaded job. Returns false if its upload was given up meanwhile.
pub async fn queue(tx: &mut Tx, id: ScoreJobId, holder: NodeId) -> Result<bool, StoreError> {
    let query = sql("UPDATE score_jobs SET state = 'queued', holder = NULL, held_until_at = 0 \
         WHERE id = $1 AND state = 'uploading' AND holder = $2");
    Ok(tx.execute(query.bind(id).bind(holder)).await? == 1)
}

/// A job of a workspace, unless it is being uploaded or deleted.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScoreJobId,
) -> Result<Option<ScoreJobRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        score_job_columns!(),
        " FROM score_jobs WHERE workspace_id = $1 AND id = $2 AND state NOT IN ('uploading', 'removed')"
    ));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Jobs of a workspace, newest first, before a given one.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    before: Option<ScoreJobId>,
    limit: u32,
) -> Result<Vec<ScoreJobRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        score_job_columns!(),
        " FROM score_jobs WHERE workspace_id = $1 AND state NOT IN ('uploading', 'removed')"
    ));
    let query = query.bind(workspace).push_if(" AND id < ?", before).append(" ORDER BY id DESC").limit(limit);
    executor.all(query).await
}

/// Number of jobs of a workspace that are stored, with those that are being uploaded.
pub async fn count(executor: impl Executor, workspace: WorkspaceId) -> Result<u64, StoreError> {
    let query = sql("SELECT count(*) FROM score_jobs WHERE workspace_id = $1 AND state <> 'removed'");
    let found: Option<(i64,)> = executor.optional(query.bind(workspace)).await?;
    Ok(found.map_or(0, |(count,)| u64::try_from(count).unwrap_or(0)))
}

/// Number of jobs of all workspaces in each state.
pub async fn count_by_state(executor: impl Executor) -> Result<Vec<(ScoreJobState, i64)>, StoreError> {
    executor.all(sql("SELECT state, count(*) FROM score_jobs GROUP BY state ORDER BY state")).await
}

/// A job that waits: queued, or running on a node that no longer holds it. With `only`, this one.
pub async fn waiting(
    executor: impl Executor,
    only: Option<ScoreJobId>,
    now: UnixMillis,
) -> Result<Option<ScoreJobRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        score_job_columns!(),
        " FROM score_jobs WHERE state IN ('queued', 'running') AND held_until_at <= $1"
    ));
    let query = query.bind(now).push_if(" AND id = ?", only).append(" ORDER BY id LIMIT 1");
    Ok(executor.all(query).await?.pop())
}

/// Claims a waiting job. Returns the number of claims without progress, with this one; `None` if another node has it or
/// it no longer waits.
pub async fn claim(
    executor: impl Executor,
    id: ScoreJobId,
    holder: NodeId,
    now: UnixMillis,
) -> Result<Option<i64>, StoreError> {
    let query = sql("UPDATE score_jobs SET state = 'running', holder = $1, held_until_at = $2, \
         started_at = COALESCE(started_at, $3), claims = claims + 1 \
         WHERE id = $4 AND state IN ('queued', 'running') AND held_until_at <= $3 RETURNING claims")
    .bind(holder)
    .bind(now.plus(HOLD))
    .bind(now)
    .bind(id);
    Ok(executor.returning::<(i64,)>(query).await?.pop().map(|(claims,)| claims))
}

/// Prolongs a claim or an upload. Returns false if it was lost.
pub async fn renew(
    executor: impl Executor,
    id: ScoreJobId,
    holder: NodeId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE score_jobs SET held_until_at = $1 \
         WHERE id = $2 AND holder = $3 AND state IN ('running', 'uploading')");
    Ok(executor.execute(query.bind(now.plus(HOLD)).bind(id).bind(holder)).await? == 1)
}

/// Returns a claimed job to the queue, so that another node continues it.
pub async fn release(executor: impl Executor, id: ScoreJobId, holder: NodeId) -> Result<(), StoreError> {
    let query = sql("UPDATE score_jobs SET state = 'queued', holder = NULL, held_until_at = 0, claims = 0 \
         WHERE id = $1 AND holder = $2 AND state = 'running'");
    executor.execute(query.bind(id).bind(holder)).await.map(|_| ())
}

/// Ends a claimed job whose chunks all have results. Returns false if it was lost, or a chunk is pending.
pub async fn finish(
    executor: impl Executor,
    id: ScoreJobId,
    holder: NodeId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql(
        "UPDATE score_jobs SET state = 'done', holder = NULL, held_until_at = 0, claims = 0, finished_at = $1 \
         WHERE id = $2 AND holder = $3 AND state = 'running' \
         AND NOT EXISTS (SELECT 1 FROM score_job_chunks c WHERE c.job_id = score_jobs.id AND c.state = 'pending')",
    );
    Ok(executor.execute(query.bind(now).bind(id).bind(holder)).await? == 1)
}

/// Ends a claimed job that cannot be finished. Returns false if it was lost.
pub async fn give_up(
    executor: impl Executor,
    id: ScoreJobId,
    holder: NodeId,
    problem: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE score_jobs SET state = 'failed', holder = NULL, held_until_at = 0, claims = 0, \
         problem = $1, finished_at = $2 WHERE id = $3 AND holder = $4 AND state = 'running'");
    Ok(executor.execute(query.bind(problem).bind(now).bind(id).bind(holder)).await? == 1)
}

/// Cancels a job that waits or runs. Returns false if it has ended.
pub async fn cancel(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: ScoreJobId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query =
        sql("UPDATE score_jobs SET state = 'canceled', holder = NULL, held_until_at = 0, finished_at = $1 \
         WHERE workspace_id = $2 AND id = $3 AND state IN ('queued', 'running')");
    Ok(tx.execute(query.bind(now).bind(workspace).bind(id)).await? == 1)
}

/// Queues an ended job again: its failed rows that have an address, and the chunks without a result if it did not reach
/// them. Returns the rows to run; `None` if it has not ended.
pub async fn retry(tx: &mut Tx, workspace: WorkspaceId, id: ScoreJobId) -> Result<Option<i64>, StoreError> {
    let query = sql("UPDATE score_jobs SET state = 'queued', holder = NULL, held_until_at = 0, claims = 0, \
         problem = NULL, finished_at = NULL, failed = failed - retryable, retryable = 0 \
         WHERE workspace_id = $1 AND id = $2 AND state IN ('done', 'canceled', 'failed') \
         RETURNING total - scored - failed");
    let left: Option<(i64,)> = tx.returning(query.bind(workspace).bind(id)).await?.pop();
    if left.is_some() {
        let query =
            sql("UPDATE score_job_chunks SET state = 'pending', failed = failed - retryable, retryable = 0 \
             WHERE job_id = $1 AND retryable > 0");
        tx.execute(query.bind(id)).await?;
    }
    Ok(left.map(|(left,)| left))
}

/// Marks an ended job for deletion. Returns false if it has not ended.
pub async fn remove(tx: &mut Tx, workspace: WorkspaceId, id: ScoreJobId) -> Result<bool, StoreError> {
    let query = sql("UPDATE score_jobs SET state = 'removed' \
         WHERE workspace_id = $1 AND id = $2 AND state IN ('done', 'canceled', 'failed')");
    Ok(tx.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Abandons an upload.
pub async fn abandon(executor: impl Executor, id: ScoreJobId, holder: NodeId) -> Result<(), StoreError> {
    let query =
        sql("UPDATE score_jobs SET state = 'removed' WHERE id = $1 AND state = 'uploading' AND holder = $2");
    executor.execute(query.bind(id).bind(holder)).await.map(|_| ())
}

/// Marks jobs for deletion that ended before a time, and uploads whose node is gone. Returns every job that is to be
/// deleted.
pub async fn expire(
    executor: impl Executor,
    ended_before: UnixMillis,
    now: UnixMillis,
) -> Result<Vec<ScoreJobId>, StoreError> {
    let query = sql("UPDATE score_jobs SET state = 'removed' WHERE state = 'removed' \
         OR (state IN ('done', 'canceled', 'failed') AND finished_at < $1) \
         OR (state = 'uploading' AND held_until_at <= $2) RETURNING id");
    let found: Vec<(ScoreJobId,)> = executor.returning(query.bind(ended_before).bind(now)).await?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// Deletes a job that is marked for it and whose chunks are gone.
pub async fn delete(executor: impl Executor, id: ScoreJobId) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM score_jobs WHERE id = $1 AND state = 'removed'");
    Ok(executor.execute(query.bind(id)).await? == 1)
}
