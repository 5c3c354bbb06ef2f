//! Rewriting of stored chunks, to take an address out of them.

use pyxis_core::id::{ScoreJobId, WorkspaceId};

use super::chunks::{ChunkTotals, Packed};
use crate::db::{FromRow, Row, sql};
use crate::{Executor, StoreError, Tx};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChunk {
    /// Counts of its result.
    pub totals: ChunkTotals,
    input: Vec<u8>,
    result: Option<Vec<u8>>,
}

impl FromRow for StoredChunk {
    const TABLE: &'static str = "score_job_chunks";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let totals = ChunkTotals {
            scored: row.take("scored")?,
            failed: row.take("failed")?,
            retryable: row.take("retryable")?,
        };
        Ok(Self { totals, input: row.take("input")?, result: row.take("result")? })
    }
}

impl StoredChunk {
    /// The addresses, and the result if there is one. `None` if they are damaged.
    pub fn documents(&self) -> Option<(String, Option<String>)> {
        let unpack = |bytes: &Vec<u8>| Packed(bytes.clone()).unpack();
        let result = match &self.result {
            None => None,
            Some(bytes) => Some(unpack(bytes)?),
        };
        Some((unpack(&self.input)?, result))
    }
}

/// New documents of a chunk.
#[derive(Clone, Debug)]
pub struct RewrittenChunk {
    /// Job of the chunk.
    pub job: ScoreJobId,
    /// Index in the job.
    pub number: i64,
    /// The chunk that is replaced.
    pub before: StoredChunk,
    /// Counts of the new result.
    pub totals: ChunkTotals,
    /// The addresses, encoded by the caller.
    pub input: String,
    /// The result, encoded by the caller.
    pub result: Option<String>,
}

/// Every chunk of a workspace: job, index, and number of scored rows, which rises with the result.
pub async fn keys(
    executor: impl Executor,
    workspace: WorkspaceId,
) -> Result<Vec<(ScoreJobId, i64, i64)>, StoreError> {
    let query = sql(
        "SELECT c.job_id, c.number, c.scored FROM score_job_chunks c JOIN score_jobs j ON j.id = c.job_id \
         WHERE j.workspace_id = $1 ORDER BY c.job_id, c.number",
    );
    executor.all(query.bind(workspace)).await
}

/// A chunk; `None` if it was deleted.
pub async fn stored(
    executor: impl Executor,
    job: ScoreJobId,
    number: i64,
) -> Result<Option<StoredChunk>, StoreError> {
    let query = sql("SELECT scored, failed, retryable, input, result FROM score_job_chunks \
         WHERE job_id = $1 AND number = $2");
    executor.optional(query.bind(job).bind(number)).await
}

/// Takes the running jobs of a workspace from their nodes. What these read before is then not stored any more, and a
/// node starts them again with the first chunk that has no result.
pub async fn interrupt(tx: &mut Tx, workspace: WorkspaceId) -> Result<(), StoreError> {
    let query = sql("UPDATE score_jobs SET state = 'queued', holder = NULL, held_until_at = 0, claims = 0 \
         WHERE workspace_id = $1 AND state = 'running'");
    tx.execute(query.bind(workspace)).await.map(drop)
}

/// Replaces the documents of a chunk and counts its rows again, unless it changed since it was read. Returns true if it
/// did not.
pub async fn replace(tx: &mut Tx, chunk: &RewrittenChunk) -> Result<bool, StoreError> {
    let RewrittenChunk { job, number, before, totals, .. } = chunk;
    let count = sql("UPDATE score_jobs SET scored = scored + $1, failed = failed + $2, \
         retryable = retryable + $3 WHERE id = $4")
    .bind(totals.scored - before.totals.scored)
    .bind(totals.failed - before.totals.failed)
    .bind(totals.retryable - before.totals.retryable)
    .bind(job);
    tx.execute(count).await?;
    let query = sql("UPDATE score_job_chunks SET input = $1, result = $2, scored = $3, failed = $4, \
         retryable = $5 WHERE job_id = $6 AND number = $7 AND input = $8 AND result IS NOT DISTINCT FROM $9")
    .bind(Packed::pack(&chunk.input))
    .bind(chunk.result.as_deref().map(Packed::pack))
    .bind(totals.scored)
    .bind(totals.failed)
    .bind(totals.retryable)
    .bind(job)
    .bind(number)
    .bind(before.input.clone())
    .bind(before.result.clone());
    Ok(tx.execute(query).await? == 1)
}
