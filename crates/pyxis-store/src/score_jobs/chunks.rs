//! Chunks of a job: some addresses, and their results.

use lz4_flex::block::{compress_prepend_size, decompress, uncompressed_size};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{NodeId, ScoreJobId, WorkspaceId};

use crate::db::{Bind, Cell, Column, FromRow, Row, Rows, Value, sql};
use crate::score_jobs::HOLD;
use crate::{Executor, Store, StoreError, Tx};

/// Largest document of a chunk, in bytes. A larger size means damaged data.
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// Chunks deleted in one transaction.
const DELETED_TOGETHER: i64 = 64;

/// A compressed document: length and LZ4 block.
pub(super) struct Packed(pub(super) Vec<u8>);

impl Packed {
    pub(super) fn pack(document: &str) -> Self {
        Self(compress_prepend_size(document.as_bytes()))
    }

    pub(super) fn unpack(&self) -> Option<String> {
        let (length, block) = uncompressed_size(&self.0).ok().filter(|(length, _)| *length <= MAX_BYTES)?;
        String::from_utf8(decompress(block, length).ok()?).ok()
    }
}

impl Bind for Packed {
    const NULL: Value = Value::Bytes(None);

    fn bind(self) -> Value {
        self.0.bind()
    }
}

/// The document of a chunk. A damaged one is an error of its row.
struct Document(String);

impl Column for Document {
    fn read(cell: Cell<'_>) -> Option<Self> {
        Packed(Column::read(cell)?).unpack().map(Self)
    }
}

/// A chunk to add.
#[derive(Clone, Debug)]
pub struct NewChunk {
    /// Index in the job: 0, 1, 2 …
    pub number: i64,
    /// Number of rows.
    pub rows: i64,
    /// The addresses, encoded by the caller.
    pub input: String,
}

/// A chunk that waits for its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Index in the job.
    pub number: i64,
    /// Counts of its present result.
    pub totals: ChunkTotals,
    /// The addresses.
    pub input: String,
    /// The present result, whose failed rows are to run again.
    pub result: Option<String>,
}

impl FromRow for Chunk {
    const TABLE: &'static str = "score_job_chunks";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let number = row.take("number")?;
        let totals = ChunkTotals {
            scored: row.take("scored")?,
            failed: row.take("failed")?,
            retryable: row.take("retryable")?,
        };
        let Document(input) = row.take("input")?;
        let result: Option<Document> = row.take("result")?;
        Ok(Self { number, totals, input, result: result.map(|Document(text)| text) })
    }
}

/// Rows of a chunk by their result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkTotals {
    /// With a score.
    pub scored: i64,
    /// Without one.
    pub failed: i64,
    /// Failed with an address.
    pub retryable: i64,
}

#[derive(Clone, Debug)]
pub struct ChunkResult {
    /// Index in the job.
    pub number: i64,
    /// Counts of the result that it replaces.
    pub before: ChunkTotals,
    /// Counts of this result.
    pub totals: ChunkTotals,
    /// Every row, encoded by the caller.
    pub result: String,
}

/// Adds chunks to a job that is being uploaded. Returns false if the upload was given up.
pub async fn append(
    store: &Store,
    id: ScoreJobId,
    holder: NodeId,
    chunks: &[NewChunk],
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let rows: i64 = chunks.iter().map(|chunk| chunk.rows).sum();
    let mut tx = store.begin().await?;
    let query = sql("UPDATE score_jobs SET total = total + $1, held_until_at = $2 \
         WHERE id = $3 AND state = 'uploading' AND holder = $4");
    if tx.execute(query.bind(rows).bind(now.plus(HOLD)).bind(id).bind(holder)).await? == 0 {
        return Ok(false);
    }
    let row = |chunk: &NewChunk| vec![id.bind(), chunk.number.bind(), Packed::pack(&chunk.input).bind()];
    let rows: Rows = chunks.iter().map(row).collect();
    tx.execute_each(
        "INSERT INTO score_job_chunks (job_id, number, state, scored, failed, retryable, input) \
         VALUES ($1, $2, 'pending', 0, 0, 0, $3)"
            .into(),
        rows,
    )
    .await?;
    tx.commit().await?;
    Ok(true)
}

/// The first chunk without a result.
pub async fn next_pending(executor: impl Executor, id: ScoreJobId) -> Result<Option<Chunk>, StoreError> {
    let query = sql("SELECT number, scored, failed, retryable, input, result FROM score_job_chunks \
         WHERE job_id = $1 AND state = 'pending' ORDER BY number LIMIT 1");
    Ok(executor.all(query.bind(id)).await?.pop())
}

/// Stores the result of a pending chunk and counts it, if `holder` still holds the running job. Returns false if not;
/// nothing is then stored.
pub async fn commit_chunk(
    store: &Store,
    id: ScoreJobId,
    holder: NodeId,
    done: &ChunkResult,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    if !count_chunk(&mut tx, id, holder, done, now).await? {
        return Ok(false);
    }
    let query = sql(
        "UPDATE score_job_chunks SET state = 'done', scored = $1, failed = $2, retryable = $3, result = $4 \
         WHERE job_id = $5 AND number = $6 AND state = 'pending'",
    )
    .bind(done.totals.scored)
    .bind(done.totals.failed)
    .bind(done.totals.retryable)
    .bind(Packed::pack(&done.result))
    .bind(id)
    .bind(done.number);
    if tx.execute(query).await? == 0 {
        return Ok(false);
    }
    tx.commit().await?;
    Ok(true)
}

async fn count_chunk(
    tx: &mut Tx,
    id: ScoreJobId,
    holder: NodeId,
    done: &ChunkResult,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let ChunkResult { before, totals, .. } = done;
    let query =
        sql("UPDATE score_jobs SET scored = scored + $1, failed = failed + $2, retryable = retryable + $3, \
         claims = 0, held_until_at = $4 WHERE id = $5 AND state = 'running' AND holder = $6")
        .bind(totals.scored - before.scored)
        .bind(totals.failed - before.failed)
        .bind(totals.retryable - before.retryable)
        .bind(now.plus(HOLD))
        .bind(id)
        .bind(holder);
    Ok(tx.execute(query).await? == 1)
}

/// Results of a job's chunks from a number on, in order: number and result. With `failed`, only of chunks with failed
/// rows.
pub async fn results(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ScoreJobId,
    from: i64,
    failed: bool,
    limit: u32,
) -> Result<Vec<(i64, String)>, StoreError> {
    let least = i64::from(failed);
    let query = sql("SELECT c.number, c.result FROM score_jobs j JOIN score_job_chunks c ON c.job_id = j.id \
         WHERE j.workspace_id = $1 AND j.id = $2 AND j.state <> 'removed' AND c.number >= $3 AND c.failed >= $4 \
         AND c.result IS NOT NULL ORDER BY c.number")
    .bind(workspace)
    .bind(id)
    .bind(from)
    .bind(least)
    .limit(limit);
    let found: Vec<(i64, Document)> = executor.all(query).await?;
    Ok(found.into_iter().map(|(number, Document(text))| (number, text)).collect())
}

/// Deletes some chunks of a job that is marked for deletion. Returns how many.
pub async fn remove_chunks(executor: impl Executor, id: ScoreJobId) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM score_job_chunks WHERE job_id = $1 AND number IN \
         (SELECT c.number FROM score_job_chunks c JOIN score_jobs j ON j.id = c.job_id \
          WHERE c.job_id = $1 AND j.state = 'removed' ORDER BY c.number LIMIT $2)");
    executor.execute(query.bind(id).bind(DELETED_TOGETHER)).await
}
