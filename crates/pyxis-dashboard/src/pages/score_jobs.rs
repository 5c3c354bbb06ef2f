//! Score jobs: upload, progress and results.

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Multipart, Request, State as Extract};
use axum::response::Response;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScoreJobId, ScorerId};
use pyxis_scoring::TableFormat;
use pyxis_scoring::service::score_jobs::{self, CreateError, Rows, ScoreJobRow, ScoreJobState, UploadError};
use pyxis_scoring::service::{Error as Service, scorers};
use pyxis_store::scorers::ScorerRow;
use serde::Deserialize;

use super::agents::unprocessable;
use super::scoring::count;
use super::{file, sentence};
use crate::error::html;
use crate::form::{Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{HasCsrf, ScoringManager};
use crate::view::score_jobs::{JobLine, JobPage, JobsPage};
use crate::view::{Choice, Problems, Timestamp};
use crate::{Error, State, csrf, text};

/// Longest text field of the form, in bytes.
const MAX_FIELD: usize = 1000;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Older {
    before: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct JobResultQuery {
    format: String,
    rows: String,
}

/// Values of the form that was refused.
#[derive(Default)]
struct Draft {
    scorer: String,
    name: String,
    problems: Problems,
}

pub(crate) async fn list(Page { state, who, query }: Page<ScoringManager, Older>) -> Result<Response, Error> {
    html(&page(&state, &who, &query.before, Draft::default()).await?)
}

async fn page(
    state: &State,
    ScoringManager(who, scoring): &ScoringManager,
    before: &str,
    draft: Draft,
) -> Result<JobsPage, Error> {
    let workspace = who.person.workspace();
    let before: Option<ScoreJobId> = before.parse().ok();
    let jobs = score_jobs::list(&scoring.store, workspace, before, score_jobs::PAGE).await?;
    let older = (jobs.len() == score_jobs::PAGE as usize).then(|| jobs.last().map(|job| job.id)).flatten();
    let scorers = scorers::list(&scoring.store, workspace, scoring.now()).await?;
    let choice = |row: &ScorerRow| Choice {
        value: row.id.to_string(),
        label: row.name.clone(),
        chosen: row.id.to_string() == draft.scorer,
    };
    Ok(JobsPage {
        shell: who.shell(state).await?,
        scorers: scorers.iter().map(choice).collect(),
        name: draft.name,
        problems: draft.problems,
        most: text::grouped(scoring.config.jobs.rows_max),
        days: scoring.config.jobs.retention.as_secs() / 86_400,
        jobs: jobs.into_iter().map(|job| line(state.gateway.now(), job)).collect(),
        older: older.map(|id| format!("/app/score-jobs?before={id}")),
        newest: before.is_some(),
    })
}

fn line(now: UnixMillis, job: ScoreJobRow) -> JobLine {
    let done = count(job.scored.saturating_add(job.failed));
    let total = count(job.total);
    JobLine {
        id: job.id.to_string(),
        name: job.name,
        scorer: job.scorer_id.to_string(),
        state: job.state.as_str(),
        open: matches!(job.state, ScoreJobState::Queued | ScoreJobState::Running),
        good: job.state == ScoreJobState::Done,
        total: text::grouped(total),
        done: text::grouped(done),
        percent: done.saturating_mul(100) / total.max(1),
        scored: text::grouped(count(job.scored)),
        failed: (job.failed > 0).then(|| text::grouped(count(job.failed))),
        can_retry: job.retryable > 0 || (job.state != ScoreJobState::Done && done < total),
        problem: job.problem,
        by: job.created_by,
        created: Timestamp::new(job.created_at, now),
        finished: job.finished_at.map(|at| Timestamp::new(at, now)),
    }
}

/// Reads the form as it arrives. The token comes first, the file last, and the file goes on without being held.
pub(crate) async fn add(Extract(state): Extract<State>, request: Request) -> Result<Response, Error> {
    if !csrf::same_origin(request.headers(), &state.gateway.config.base_url) {
        return Err(Error::StaleForm);
    }
    let (mut parts, body) = request.into_parts();
    let who = ScoringManager::from_request_parts(&mut parts, &state).await?;
    let request = Request::from_parts(parts, body);
    let bad = |_| Error::BadForm(StatusCode::BAD_REQUEST);
    // Another form has no token that is read.
    let mut fields = Multipart::from_request(request, &state).await.map_err(|_| Error::StaleForm)?;
    let token = field(&mut fields, "csrf").await?;
    if !csrf::matches(who.csrf(), &token) {
        return Err(Error::StaleForm);
    }
    let scorer = field(&mut fields, "scorer").await?;
    let name = field(&mut fields, "name").await?.trim().to_owned();
    let upload = fields.next_field().await.map_err(bad)?.ok_or(Error::BadForm(StatusCode::BAD_REQUEST))?;
    let named = match (name.is_empty(), upload.file_name()) {
        (true, Some(of_file)) if !of_file.is_empty() => of_file.chars().take(60).collect(),
        (true, _) => "addresses".to_owned(),
        (false, _) => name.clone(),
    };
    let id: ScorerId = scorer.parse().map_err(|_| Error::NotFound)?;
    let actor = who.0.person.actor();
    match score_jobs::create(&who.1, &actor, id, &named, upload).await {
        Ok(job) => Ok(Notice::JobAdded.redirect(state.cookies, &path(job.id))),
        Err(error) => {
            let problems = problems(error)?;
            let draft = Draft { scorer, name, problems };
            Ok(unprocessable(html(&page(&state, &who, "", draft).await?)?))
        }
    }
}

/// The text of the next field, which has this name.
async fn field(fields: &mut Multipart, name: &str) -> Result<String, Error> {
    let bad = |_| Error::BadForm(StatusCode::BAD_REQUEST);
    let missing = if name == "csrf" { Error::StaleForm } else { Error::BadForm(StatusCode::BAD_REQUEST) };
    let Some(mut found) = fields.next_field().await.map_err(bad)?.filter(|field| field.name() == Some(name))
    else {
        return Err(missing);
    };
    let mut bytes = Vec::new();
    while let Some(piece) = found.chunk().await.map_err(bad)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_FIELD {
            return Err(Error::BadForm(StatusCode::PAYLOAD_TOO_LARGE));
        }
    }
    String::from_utf8(bytes).map_err(|_| Error::BadForm(StatusCode::BAD_REQUEST))
}

/// The problem at its field; anything else stays an error.
fn problems(error: CreateError) -> Result<Problems, Error> {
    let mut problems = Problems::default();
    let said = sentence(&error.to_string());
    match error {
        CreateError::Refused(Service::InvalidField { detail, .. }) => problems.add("name", sentence(&detail)),
        CreateError::Refused(Service::Conflict(why)) => problems.add("file", sentence(why)),
        CreateError::Refused(error) => return Err(error.into()),
        CreateError::Upload(UploadError::Store(error)) => return Err(Service::from(error).into()),
        CreateError::Upload(UploadError::Disk(error)) => return Err(Service::internal(error).into()),
        CreateError::Upload(
            UploadError::TooLarge(_)
            | UploadError::TooManyRows(_)
            | UploadError::Empty
            | UploadError::NoAddress { .. }
            | UploadError::Unreadable(_)
            | UploadError::Broken(_)
            | UploadError::GivenUp,
        ) => problems.add("file", said),
    }
    Ok(problems)
}

fn path(id: ScoreJobId) -> String {
    format!("/app/score-jobs/{id}")
}

/// Parses a job's id. Anything else is not found.
fn job_id(text: &str) -> Result<ScoreJobId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

pub(crate) async fn show(
    Page { state, who: ScoringManager(who, scoring), .. }: Page<ScoringManager>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let job = score_jobs::find(&scoring.store, who.person.workspace(), job_id(&id)?).await?;
    html(&JobPage { shell: who.shell(&state).await?, job: line(state.gateway.now(), job) })
}

pub(crate) async fn cancel(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = job_id(&id)?;
    let notice = match score_jobs::cancel(&scoring, &who.person.actor(), id).await {
        Ok(_) => Notice::JobCanceled,
        Err(Service::Conflict(_)) => Notice::JobEnded,
        Err(error) => return Err(error.into()),
    };
    Ok(notice.redirect(state.cookies, &path(id)))
}

pub(crate) async fn retry(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = job_id(&id)?;
    let notice = match score_jobs::retry(&scoring, &who.person.actor(), id).await {
        Ok(_) => Notice::JobRetried,
        Err(Service::Conflict(_)) => Notice::NothingToRetry,
        Err(error) => return Err(error.into()),
    };
    Ok(notice.redirect(state.cookies, &path(id)))
}

pub(crate) async fn remove(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = job_id(&id)?;
    match score_jobs::remove(&scoring.store, &scoring.audited, &who.person.actor(), id).await {
        Ok(()) => Ok(Notice::JobRemoved.redirect(state.cookies, "/app/score-jobs")),
        Err(Service::Conflict(_)) => Ok(Notice::JobRuns.redirect(state.cookies, &path(id))),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn export(
    Page { who: ScoringManager(who, scoring), query, .. }: Page<ScoringManager, JobResultQuery>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let id = job_id(&id)?;
    let format = TableFormat::from_name(&query.format).unwrap_or(TableFormat::Csv);
    let rows = if query.rows == "failed" { Rows::Failed } else { Rows::All };
    let pieces =
        score_jobs::download(&scoring.store, &scoring.audited, &who.person.actor(), id, rows, format).await?;
    let name = format!("pyxis-score-job-{id}.{}", format.as_str());
    Ok(file::download(format.content_type(), &name, Body::from_stream(pieces)))
}
