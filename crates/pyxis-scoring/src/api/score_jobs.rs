//! `/admin/score-jobs` and `/admin/scorers/{id}/jobs`.

use axum::body::Body;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScoreJobId, ScorerId};
use pyxis_http::admin::{AdminFailure, Listed, Manager, PageSize, Paged, PagedList, Result};
use pyxis_http::openapi::responses::{BodyTooLarge, InvalidField, NotFound};
use pyxis_http::openapi::{Id, Time};
use pyxis_http::problem::kinds;
use pyxis_http::{Json, Path, Problem, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::population::table_format;
use super::problems::{JobEnded, JobRuns, NothingToRetry, TooManyJobs};
use super::streamed;
use crate::service::Error;
use crate::service::score_jobs::{self, CreateError, Rows, ScoreJobRow, UploadError};
use crate::state::State;
use crate::values::{JobRows, ScoreJobStateName, TableFormatName};

/// Rows of a page.
const SIZE: PageSize = PageSize { default: 50, most: 100 };

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct NewJobParams {
    /// Name of the job: 1 to 100 bytes on one line. Without it, `addresses`.
    name: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct JobListParams {
    /// Only older jobs: `next_before` of the previous page.
    #[param(value_type = Option<Id>)]
    before: Option<String>,
    /// Size of the page.
    #[param(default = 50, minimum = 1, maximum = 100)]
    limit: Option<u32>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct JobResultParams {
    #[param(value_type = Option<TableFormatName>, inline)]
    format: Option<String>,
    #[param(value_type = Option<JobRows>, inline)]
    rows: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ScoreJob, example = json!({
    "id": "019c1234-5678-7abc-8def-0123456789ab",
    "scorer": 1,
    "name": "airdrop",
    "state": "done",
    "created_by": "ada@example.org",
    "created_at": "2026-01-31T09:05:00.250Z",
    "started_at": "2026-01-31T09:05:01.500Z",
    "finished_at": "2026-01-31T09:05:42.750Z",
    "rows": 1200,
    "scored": 1190,
    "failed": 10,
    "retryable": 4,
    "problem": null
}))]
pub(super) struct ScoreJobResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = i64, minimum = 1, example = 1)]
    scorer: ScorerId,
    #[schema(example = "airdrop")]
    name: String,
    #[schema(value_type = ScoreJobStateName)]
    state: &'static str,
    #[schema(example = "ada@example.org")]
    created_by: String,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Option<Time>, required)]
    started_at: Option<String>,
    #[schema(value_type = Option<Time>, required)]
    finished_at: Option<String>,
    /// Number of rows.
    #[schema(example = 1200)]
    rows: i64,
    /// Rows with a score.
    #[schema(example = 1190)]
    scored: i64,
    /// Rows without one.
    #[schema(example = 10)]
    failed: i64,
    /// Failed rows that have an address and so can run again.
    #[schema(example = 4)]
    retryable: i64,
    /// Reason that the job was given up; otherwise null.
    #[schema(required, example = json!(null))]
    problem: Option<String>,
}

impl Listed for ScoreJobResponse {
    const MEMBER: &'static str = "score_jobs";
}

impl Paged for ScoreJobResponse {
    type Cursor = String;
    const NEXT: &'static str = "next_before";

    fn cursor(&self) -> String {
        self.id.clone()
    }
}

pub(super) type ScoreJobListResponse = PagedList<ScoreJobResponse>;

fn score_job_response(job: ScoreJobRow) -> ScoreJobResponse {
    ScoreJobResponse {
        id: job.id.to_string(),
        scorer: job.scorer_id,
        name: job.name,
        state: job.state.as_str(),
        created_by: job.created_by,
        created_at: job.created_at.to_rfc3339(),
        started_at: job.started_at.map(UnixMillis::to_rfc3339),
        finished_at: job.finished_at.map(UnixMillis::to_rfc3339),
        rows: job.total,
        scored: job.scored,
        failed: job.failed,
        retryable: job.retryable,
        problem: job.problem,
    }
}

/// A refused upload.
pub(super) struct UploadFailure(CreateError);

impl From<Error> for UploadFailure {
    fn from(error: Error) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for UploadFailure {
    fn into_response(self) -> Response {
        let said = self.0.to_string();
        let error = match self.0 {
            CreateError::Refused(error) => error,
            CreateError::Upload(UploadError::TooLarge(_)) => {
                return Problem::from_kind(kinds::BODY_TOO_LARGE, said).into_response();
            }
            CreateError::Upload(UploadError::Broken(_)) => {
                return Problem::from_kind(kinds::INVALID_BODY, said).into_response();
            }
            CreateError::Upload(
                UploadError::TooManyRows(_)
                | UploadError::Empty
                | UploadError::NoAddress { .. }
                | UploadError::Unreadable(_),
            ) => Error::field("file", said),
            CreateError::Upload(UploadError::GivenUp) => Error::Busy,
            CreateError::Upload(UploadError::Disk(error)) => {
                Error::Unavailable { what: "the disk", source: error.into() }
            }
            CreateError::Upload(UploadError::Store(error)) => error.into(),
        };
        AdminFailure::from(error).into_response()
    }
}

/// Score many addresses as a job.
///
/// The body is the file: CSV, gzipped or not, or Parquet. The column is the one named `address`, `wallet` or another
/// common name (`docs/reference/behavior/score-jobs.md`). Without one, it is the first column of CSV, or the only one of
/// Parquet. A row that is not an address fails alone. A file without any address is refused.
#[utoipa::path(
    post,
    path = "/admin/scorers/{id}/jobs",
    tag = "Scorers",
    operation_id = "createScoreJob",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1), NewJobParams),
    request_body(
        content_type = "text/csv",
        content = String,
        example = "address\n0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1\n"
    ),
    responses(
        (status = 201, description = "The job is queued.", body = ScoreJobResponse),
        (status = 404, response = NotFound),
        (status = 409, response = TooManyJobs),
        (status = 413, response = BodyTooLarge),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
    Query(asked): Query<NewJobParams>,
    body: Body,
) -> Result<(StatusCode, Json<ScoreJobResponse>), UploadFailure> {
    let scorer: ScorerId = scorer.parse().map_err(|_| Error::not_found("scorer"))?;
    let name = asked.name.as_deref().unwrap_or("addresses");
    let pieces = body.into_data_stream().boxed();
    let job = score_jobs::create(&state, &actor, scorer, name, pieces).await.map_err(UploadFailure)?;
    Ok((StatusCode::CREATED, Json(score_job_response(job))))
}

/// List score jobs, newest first.
#[utoipa::path(
    get,
    path = "/admin/score-jobs",
    tag = "Scorers",
    operation_id = "listScoreJobs",
    security(("session" = [])),
    params(JobListParams),
    responses(
        (status = 200, description = "A page.", body = ScoreJobListResponse),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Query(asked): Query<JobListParams>,
) -> Result<Json<ScoreJobListResponse>> {
    let before = asked.before.as_deref().map(str::parse).transpose();
    let before: Option<ScoreJobId> = before.map_err(|_| Error::field("before", "must be a UUID"))?;
    let limit = SIZE.require(asked.limit)?;
    let jobs = score_jobs::list(&state.store, actor.workspace, before, limit).await?;
    Ok(Json(PagedList::new(jobs.into_iter().map(score_job_response).collect(), limit)))
}

/// Show a score job and its progress.
#[utoipa::path(
    get,
    path = "/admin/score-jobs/{id}",
    tag = "Scorers",
    operation_id = "showScoreJob",
    security(("session" = [])),
    params(("id" = inline(Id), Path)),
    responses(
        (status = 200, description = "The job.", body = ScoreJobResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<Json<ScoreJobResponse>> {
    Ok(Json(score_job_response(score_jobs::find(&state.store, actor.workspace, job_id(&id)?).await?)))
}

/// Cancel a score job.
///
/// Rows that are finished keep their results. A retry continues with the others.
#[utoipa::path(
    post,
    path = "/admin/score-jobs/{id}/cancel",
    tag = "Scorers",
    operation_id = "cancelScoreJob",
    security(("session" = [])),
    params(("id" = inline(Id), Path)),
    responses(
        (status = 200, description = "Canceled.", body = ScoreJobResponse),
        (status = 404, response = NotFound),
        (status = 409, response = JobEnded),
    ),
)]
pub(super) async fn cancel(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<Json<ScoreJobResponse>> {
    Ok(Json(score_job_response(score_jobs::cancel(&state, &actor, job_id(&id)?).await?)))
}

/// Run the failed rows of a score job again.
///
/// Rows that are not addresses stay failed. A job that was canceled or given up also continues with the rows that it
/// did not reach.
#[utoipa::path(
    post,
    path = "/admin/score-jobs/{id}/retry",
    tag = "Scorers",
    operation_id = "retryScoreJob",
    security(("session" = [])),
    params(("id" = inline(Id), Path)),
    responses(
        (status = 200, description = "Queued.", body = ScoreJobResponse),
        (status = 404, response = NotFound),
        (status = 409, response = NothingToRetry),
    ),
)]
pub(super) async fn retry(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<Json<ScoreJobResponse>> {
    Ok(Json(score_job_response(score_jobs::retry(&state, &actor, job_id(&id)?).await?)))
}

/// Remove an ended score job and its results.
#[utoipa::path(
    delete,
    path = "/admin/score-jobs/{id}",
    tag = "Scorers",
    operation_id = "removeScoreJob",
    security(("session" = [])),
    params(("id" = inline(Id), Path)),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, response = NotFound),
        (status = 409, response = JobRuns),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    score_jobs::remove(&state.store, &state.audited, &actor, job_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Download the results of a score job.
///
/// A line for each row that is finished, in the order of the upload. CSV by default.
#[utoipa::path(
    get,
    path = "/admin/score-jobs/{id}/result",
    tag = "Scorers",
    operation_id = "downloadScoreJob",
    security(("session" = [])),
    params(("id" = inline(Id), Path), JobResultParams),
    responses(
        (
            status = 200,
            description = "The file.",
            content((String = "text/csv"), (String = "application/vnd.apache.parquet")),
        ),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn result(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
    Query(asked): Query<JobResultParams>,
) -> Result<Response> {
    let format = table_format(asked.format.as_deref())?;
    let rows = match asked.rows.as_deref() {
        None | Some("all") => Rows::All,
        Some("failed") => Rows::Failed,
        Some(other) => return Err(Error::field("rows", format!("must be all or failed, not {other}")).into()),
    };
    let id = job_id(&id)?;
    let pieces = score_jobs::download(&state.store, &state.audited, &actor, id, rows, format).await?;
    Ok(streamed::file(format.content_type(), &format!("pyxis-score-job-{id}.{}", format.as_str()), pieces))
}

fn job_id(text: &str) -> Result<ScoreJobId, Error> {
    text.parse().map_err(|_| Error::not_found("score job"))
}
