//! Workers: claim a job, score its chunks one after the other, and finish it.

use std::collections::HashMap;
use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::id::{NodeId, ScoreJobId};
use pyxis_store::score_jobs::{self, Chunk, ChunkResult, ChunkTotals, ScoreJobRow};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::batch::{self, Context};
use super::decoded;
use super::membership::Membership;
use super::rows::{InputRow, ResultRow, RowOutcome};
use crate::error::{Error, Result};
use crate::score_metrics::METRICS;
use crate::state::State;

/// Pause of an idle worker, in case another node queued a job or died with one.
const NAP: Duration = Duration::from_secs(5);
/// Interval between renewals of a claim.
const RENEWAL: Duration = Duration::from_secs(10);
/// Interval between deletions of old jobs.
const CLEANING: Duration = Duration::from_mins(10);
/// Claims of a job without a finished chunk in between. After these it is given up: each may have ended a node.
const MOST_CLAIMS: i64 = 10;

/// End of a run of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Every row has a result.
    Done,
    /// It was canceled, or another node has it.
    Lost,
    /// It was given up.
    GivenUp,
}

/// Runs jobs until `stop` turns true. A job that runs then returns to the queue.
pub async fn run(state: State, stop: watch::Receiver<bool>) {
    let mut workers = JoinSet::new();
    for _ in 0..state.config.jobs.at_once {
        workers.spawn(work(state.clone(), stop.clone()));
    }
    workers.spawn(clean(state, stop));
    while workers.join_next().await.is_some() {}
}

async fn work(state: State, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        match run_one(&state, None, &mut stop).await {
            Ok(Some(JobEnd::Done | JobEnd::GivenUp)) => continue,
            Ok(Some(JobEnd::Lost) | None) => {}
            Err(error) => tracing::warn!(%error, "a score job was interrupted; will continue it"),
        }
        tokio::select! {
            () = state.job_queued.notified() => {}
            () = tokio::time::sleep(NAP) => {}
            () = wait_until_stopped(&mut stop) => return,
        }
    }
}

async fn clean(state: State, mut stop: watch::Receiver<bool>) {
    loop {
        if let Err(error) = clean_once(&state).await {
            tracing::warn!(%error, "cannot delete old score jobs; will retry");
        }
        tokio::select! {
            () = tokio::time::sleep(CLEANING) => {}
            () = wait_until_stopped(&mut stop) => return,
        }
    }
}

/// Deletes jobs past their retention, removed ones, and uploads that no one continues.
pub(crate) async fn clean_once(state: &State) -> Result<()> {
    let now = state.now();
    for job in score_jobs::expire(&state.store, now.minus(state.config.jobs.retention), now).await? {
        while score_jobs::remove_chunks(&state.store, job).await? > 0 {}
        score_jobs::delete(&state.store, job).await?;
    }
    Ok(())
}

/// Runs a waiting job, or the given one if it waits. `None` if there is none, or another node was faster.
pub async fn run_one(
    state: &State,
    only: Option<ScoreJobId>,
    stop: &mut watch::Receiver<bool>,
) -> Result<Option<JobEnd>> {
    let now = state.now();
    let Some(job) = score_jobs::waiting(&state.store, only, now).await? else { return Ok(None) };
    let holder = NodeId::new(now, &*state.entropy);
    let Some(claims) = score_jobs::claim(&state.store, job.id, holder, now).await? else { return Ok(None) };
    let run = Run { state, job: &job, holder };
    if claims > MOST_CLAIMS {
        return run.give_up("it was interrupted too often without progress; look at the server's log").await;
    }
    let worked = tokio::select! {
        worked = run.chunks() => worked,
        () = run.renew_until_lost() => return Ok(Some(JobEnd::Lost)),
        () = wait_until_stopped(stop) => {
            score_jobs::release(&state.store, job.id, holder).await?;
            return Ok(Some(JobEnd::Lost));
        }
    };
    match worked {
        Ok(true) => Ok(Some(run.finish().await?)),
        // Without its scorer, which was removed, the job is gone too.
        Ok(false) | Err(Error::NoScorer) => Ok(Some(JobEnd::Lost)),
        // The claim expires automatically if the database is away now.
        Err(error) => Err(error),
    }
}

/// Returns once `stop` is true, or its sender is gone.
async fn wait_until_stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A claimed job.
struct Run<'a> {
    state: &'a State,
    job: &'a ScoreJobRow,
    holder: NodeId,
}

impl Run<'_> {
    /// Scores every pending chunk. Returns false if the job was lost.
    async fn chunks(&self) -> Result<bool> {
        let Self { state, job, holder } = *self;
        let context = Context {
            workspace: job.workspace_id,
            scorer: job.scorer_id,
            models: state.models.current().await?,
            membership: Membership::read(&state.store).await?,
        };
        while let Some(chunk) = score_jobs::next_pending(&state.store, job.id).await? {
            let done = chunk_result(state, &context, chunk).await?;
            if !score_jobs::commit_chunk(&state.store, job.id, holder, &done, state.now()).await? {
                return Ok(false);
            }
            METRICS.job_rows_scored.increment(to_count(done.totals.scored - done.before.scored));
            METRICS.job_rows_failed.increment(to_count(done.totals.failed - done.before.failed));
        }
        Ok(true)
    }

    async fn finish(&self) -> Result<JobEnd> {
        let Self { state, job, holder } = *self;
        if !score_jobs::finish(&state.store, job.id, holder, state.now()).await? {
            return Ok(JobEnd::Lost);
        }
        METRICS.jobs_done.increment(1);
        tracing::info!(job = %job.id, scorer = %job.scorer_id, rows = job.total, "a score job is done");
        Ok(JobEnd::Done)
    }

    async fn give_up(&self, why: &str) -> Result<Option<JobEnd>> {
        let Self { state, job, holder } = *self;
        let ended = score_jobs::give_up(&state.store, job.id, holder, why, state.now()).await?;
        if ended {
            METRICS.jobs_given_up.increment(1);
            tracing::error!(job = %job.id, why, "a score job was given up");
        }
        Ok(Some(if ended { JobEnd::GivenUp } else { JobEnd::Lost }))
    }

    /// Renews the claim until it is lost.
    async fn renew_until_lost(&self) {
        let Self { state, job, holder } = *self;
        loop {
            tokio::time::sleep(RENEWAL).await;
            match score_jobs::renew(&state.store, job.id, holder, state.now()).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => tracing::debug!(job = %job.id, %error, "cannot renew the claim of a score job"),
            }
        }
    }
}

fn to_count(rows: i64) -> u64 {
    u64::try_from(rows).unwrap_or(0)
}

/// Scores the rows of a chunk that have no score yet; the others keep their results.
async fn chunk_result(state: &State, context: &Context, chunk: Chunk) -> Result<ChunkResult> {
    let Chunk { number, totals: before, input, result } = chunk;
    let input: Vec<InputRow> = decoded(&input)?;
    let kept: Vec<ResultRow> = result.as_deref().map(decoded).transpose()?.unwrap_or_default();
    let mut kept: HashMap<u64, ResultRow> = kept
        .into_iter()
        .filter(|row| !matches!(row.outcome, RowOutcome::Failed(_)))
        .map(|row| (row.line, row))
        .collect();
    let missing = input.iter().filter(|row| !kept.contains_key(&row.line));
    let wanted: Vec<EvmAddress> = missing.filter_map(|row| row.address.as_ref().ok().copied()).collect();
    let scored = batch::score(state, context, &wanted).await?;
    let rows: Vec<ResultRow> = input
        .into_iter()
        .map(|row| kept.remove(&row.line).unwrap_or_else(|| result_row(row, &scored)))
        .collect();
    let result = serde_json::to_string(&rows).map_err(|error| Error::Internal(error.into()))?;
    Ok(ChunkResult { number, before, totals: totals(&rows), result })
}

fn result_row(row: InputRow, scored: &HashMap<EvmAddress, RowOutcome>) -> ResultRow {
    let (address, outcome) = match row.address {
        Err(bad) => (bad.text, RowOutcome::Invalid(bad.reason)),
        Ok(address) => {
            let missing = || RowOutcome::Failed("the server returned no result".to_owned());
            (address.to_string(), scored.get(&address).cloned().unwrap_or_else(missing))
        }
    };
    ResultRow { line: row.line, address, outcome }
}

pub(super) fn totals(rows: &[ResultRow]) -> ChunkTotals {
    let mut totals = ChunkTotals::default();
    for row in rows {
        match row.outcome {
            RowOutcome::Scored(_) => totals.scored += 1,
            RowOutcome::Failed(_) => {
                totals.failed += 1;
                totals.retryable += 1;
            }
            RowOutcome::Invalid(_) => totals.failed += 1,
        }
    }
    totals
}
