//! Jobs that score many addresses, for managers.

mod download;

use bytes::Bytes;
use futures_util::Stream;
use pyxis_core::BoxError;
use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{NodeId, ScoreJobId, ScorerId, WorkspaceId};
use pyxis_store::audit::AuditedStore;
use pyxis_store::score_jobs::{self, NewScoreJob};
use pyxis_store::{Store, StoreError, scorers};
use serde_json::json;

pub use download::{Rows, download};
pub use pyxis_store::score_jobs::{ScoreJobRow, ScoreJobState};

use super::scorers::missing;
use super::{Error, MAX_NAME, Result, check_text};
use crate::jobs::upload;
pub use crate::jobs::upload::UploadError;
use crate::state::{Config, State};

/// Jobs on one page of a list.
pub const PAGE: u32 = 50;

/// Reasons that a job was not added.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error(transparent)]
    Upload(#[from] UploadError),
    /// Anything else.
    #[error(transparent)]
    Refused(#[from] Error),
}

impl From<StoreError> for CreateError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error.into())
    }
}

/// Adds a job from an upload. It is queued once all its rows are stored.
pub async fn create<E: Into<BoxError>>(
    state: &State,
    actor: &Actor,
    scorer: ScorerId,
    name: &str,
    body: impl Stream<Item = Result<Bytes, E>>,
) -> Result<ScoreJobRow, CreateError> {
    check_text("name", name, MAX_NAME)?;
    let workspace = actor.workspace;
    if scorers::find(&state.store, workspace, scorer).await?.is_none() {
        return Err(missing(&state.store, workspace, scorer, state.now()).await.into());
    }
    check_room(&state.store, &state.config, workspace).await?;
    let file = upload::spool(&state.config.jobs, body).await?;
    check_room(&state.store, &state.config, workspace).await?;
    let now = state.now();
    let (id, holder) = (ScoreJobId::new(now, &*state.entropy), NodeId::new(now, &*state.entropy));
    let created_by = actor.name.clone();
    let new = NewScoreJob { id, scorer, name: name.trim().to_owned(), created_by, created_at: now };
    match score_jobs::insert(&state.store, workspace, &new, holder).await {
        Err(StoreError::Reference) => return Err(Error::not_found("scorer").into()),
        other => other?,
    }
    match fill(state, actor, &new, holder, file).await {
        Ok(()) => Ok(find(&state.store, workspace, id).await?),
        Err(error) => {
            score_jobs::abandon(&state.store, id, holder).await?;
            Err(error)
        }
    }
}

async fn fill(
    state: &State,
    actor: &Actor,
    new: &NewScoreJob,
    holder: NodeId,
    file: std::fs::File,
) -> Result<(), CreateError> {
    let rows = upload::store_chunks(state, new.id, holder, file).await?;
    let mut change = state.audited.begin(actor).await?;
    if !score_jobs::queue(&mut change.tx, new.id, holder).await? {
        return Err(UploadError::GivenUp.into());
    }
    let detail = json!({ "job": new.id, "scorer": new.scorer, "name": new.name, "rows": rows });
    change.commit(AuditEvent::ScoreJobCreated, detail).await?;
    state.job_queued.notify_one();
    Ok(())
}

async fn check_room(store: &Store, config: &Config, workspace: WorkspaceId) -> Result<()> {
    let kept = score_jobs::count(store, workspace).await?;
    if kept >= config.jobs.kept_max {
        return Err(Error::Conflict(
            "the workspace keeps as many score jobs as score_jobs_max allows; remove one first",
        ));
    }
    Ok(())
}

/// Jobs of a workspace, newest first.
pub async fn list(
    store: &Store,
    workspace: WorkspaceId,
    before: Option<ScoreJobId>,
    limit: u32,
) -> Result<Vec<ScoreJobRow>> {
    Ok(score_jobs::list(store, workspace, before, limit).await?)
}

pub async fn find(store: &Store, workspace: WorkspaceId, id: ScoreJobId) -> Result<ScoreJobRow> {
    score_jobs::find(store, workspace, id).await?.ok_or_else(|| Error::not_found("score job"))
}

/// Cancels a job. Its finished rows stay.
pub async fn cancel(state: &State, actor: &Actor, id: ScoreJobId) -> Result<ScoreJobRow> {
    let job = find(&state.store, actor.workspace, id).await?;
    let mut change = state.audited.begin(actor).await?;
    if !score_jobs::cancel(&mut change.tx, actor.workspace, id, state.now()).await? {
        return Err(Error::Conflict("the job has ended"));
    }
    change.commit(AuditEvent::ScoreJobCanceled, json!({ "job": id, "scorer": job.scorer_id })).await?;
    find(&state.store, actor.workspace, id).await
}

/// Queues an ended job again: its failed rows that have an address, and rows that it did not reach.
pub async fn retry(state: &State, actor: &Actor, id: ScoreJobId) -> Result<ScoreJobRow> {
    let job = find(&state.store, actor.workspace, id).await?;
    let mut change = state.audited.begin(actor).await?;
    let rows = match score_jobs::retry(&mut change.tx, actor.workspace, id).await? {
        None => return Err(Error::Conflict("the job has not ended")),
        Some(0) => {
            return Err(Error::Conflict(
                "no row can run again; correct the addresses of failed rows and upload them as a new job",
            ));
        }
        Some(rows) => rows,
    };
    let detail = json!({ "job": id, "scorer": job.scorer_id, "rows": rows });
    change.commit(AuditEvent::ScoreJobRetried, detail).await?;
    state.job_queued.notify_one();
    find(&state.store, actor.workspace, id).await
}

/// Removes an ended job and its results. They are deleted in the background.
pub async fn remove(store: &Store, audited: &AuditedStore, actor: &Actor, id: ScoreJobId) -> Result<()> {
    let job = find(store, actor.workspace, id).await?;
    let mut change = audited.begin(actor).await?;
    if !score_jobs::remove(&mut change.tx, actor.workspace, id).await? {
        return Err(Error::Conflict("the job has not ended; cancel it first"));
    }
    let detail = json!({ "job": id, "scorer": job.scorer_id, "name": job.name });
    change.commit(AuditEvent::ScoreJobRemoved, detail).await?;
    Ok(())
}
