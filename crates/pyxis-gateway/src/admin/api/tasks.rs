//! `/tasks`: people decide and stop tasks, and see their uses.

use axum::extract::State as Extract;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TaskId;
use pyxis_core::task::{ApprovedAction, TaskState};
use pyxis_http::admin::{PageSize, PagedList};
use pyxis_http::openapi::Id;
use pyxis_http::openapi::responses::{Forbidden, InvalidField, NotFound};
use pyxis_http::{Json, Path, Query};
use pyxis_store::tasks;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::Approving;
use crate::admin::rights;
use crate::approvals::tasks::decide::{self, Approval};
use crate::approvals::tasks::view::{self, TaskFilter, TaskView};
use crate::approvals::tasks::{TaskResponse, TaskStateName};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::identity::voters::NOT_YOURS;
use crate::problems::{NotEligible, PasskeyRequired, TaskOver};
use crate::runtime::state::State;

const PAGE_SIZE: PageSize = PageSize { default: 100, most: 500 };

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TaskListParams {
    /// Only tasks in this state.
    #[param(value_type = Option<TaskStateName>, inline)]
    state: Option<String>,
    /// Id of the last task of the previous page.
    #[param(value_type = Option<Id>)]
    before: Option<String>,
    /// Page size.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TaskApproveInput)]
pub(super) struct ApproveTask {
    /// Actions that remain, with their maximum number of uses. Others are removed. If absent, everything is approved as
    /// proposed.
    #[schema(nullable = false, max_items = 20)]
    actions: Option<Vec<KeptAction>>,
    /// Length from now, in minutes, at most as proposed. Members can approve at most 30.
    #[schema(nullable = false, minimum = 1, maximum = 1440)]
    minutes: Option<u32>,
}

/// An action that remains.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TaskActionApproveInput)]
struct KeptAction {
    /// Position in the proposal, from 1.
    #[schema(minimum = 1, maximum = 20)]
    position: u32,
    /// Maximum number of requests, at most as proposed.
    #[schema(minimum = 1, maximum = 1000)]
    max_uses: u32,
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TaskDenyInput)]
pub(super) struct DenyTask {
    /// Reason for the agent. At most 2000 bytes.
    #[schema(nullable = false, max_length = 2000)]
    reason: Option<String>,
}

pub(super) type TaskListResponse = PagedList<TaskResponse>;

fn parse(id: &str) -> Result<TaskId> {
    id.parse().map_err(|_| Error::not_found("task"))
}

fn answer(config: &Config, task: TaskView) -> Json<TaskResponse> {
    Json(TaskResponse::new(config, task))
}

/// List tasks, newest first.
///
/// Only tasks in which the caller may approve every credential.
#[utoipa::path(
    get,
    path = "/tasks",
    tag = "Tasks",
    operation_id = "listTasks",
    security(("session" = [])),
    params(TaskListParams),
    responses(
        (status = 200, description = "Tasks with their actions and uses.", body = TaskListResponse),
        (status = 403, response = Forbidden),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Query(which): Query<TaskListParams>,
) -> Result<Json<TaskListResponse>> {
    let wanted = match which.state.as_deref() {
        None => None,
        Some(name) => Some(TaskState::from_name(name).ok_or_else(|| {
            Error::field("state", "must be proposed, approved, denied, withdrawn, expired, stopped or ended")
        })?),
    };
    let before = match which.before.as_deref() {
        None => None,
        Some(id) => {
            let found = tasks::find(&state.store, caller.workspace(), parse(id)?).await?;
            let row = found.ok_or(Error::not_found("task"))?;
            Some((row.created_at, row.id))
        }
    };
    let approvable = rights::load(&state.store, &caller.user).await?.approvable();
    let limit = PAGE_SIZE.clamp(which.limit);
    let filter = TaskFilter { approvable, state: wanted, before, limit };
    let found = view::list(&state.store, caller.workspace(), &filter, state.now()).await?;
    let shown = found.into_iter().map(|task| TaskResponse::new(&state.config, task));
    Ok(Json(PagedList::new(shown.collect(), limit)))
}

/// Show a task with its uses.
#[utoipa::path(
    get,
    path = "/tasks/{id}",
    tag = "Tasks",
    operation_id = "showTask",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The task.")),
    responses(
        (status = 200, description = "The task.", body = TaskResponse),
        (status = 403, response = NotEligible),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(id): Path<String>,
) -> Result<Json<TaskResponse>> {
    let task = view::load(&state.store, caller.workspace(), parse(&id)?, state.now()).await?;
    let approvable = rights::load(&state.store, &caller.user).await?.approvable();
    if !task.is_within(approvable.as_deref()) {
        return Err(Error::NotEligible(NOT_YOURS));
    }
    Ok(answer(&state.config, task))
}

/// Approve a task.
///
/// Whole or in part: an approval can only remove actions, lower counts and shorten the time. Until the task ends, the
/// agent's requests that the remaining actions cover then need no approval.
#[utoipa::path(
    post,
    path = "/tasks/{id}/approve",
    tag = "Tasks",
    operation_id = "approveTask",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The task.")),
    request_body(content = Option<ApproveTask>, example = json!({"actions": [{"position": 1, "max_uses": 5}], "minutes": 30})),
    responses(
        (status = 200, description = "The running task.", body = TaskResponse),
        (status = 403, response = NotEligible),
        (status = 404, response = NotFound),
        (status = 409, response = TaskOver),
        (status = 412, response = PasskeyRequired),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn approve(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(id): Path<String>,
    Json(input): Json<ApproveTask>,
) -> Result<Json<TaskResponse>> {
    let kept = |action: KeptAction| ApprovedAction { position: action.position, max_uses: action.max_uses };
    let actions = input.actions.map(|actions| actions.into_iter().map(kept).collect());
    let approval = Approval { actions, minutes: input.minutes };
    let actor = caller.actor();
    let task = decide::approve(&state, (&actor, DecisionSurface::Api), parse(&id)?, &approval).await?;
    Ok(answer(&state.config, task))
}

/// Deny a task.
#[utoipa::path(
    post,
    path = "/tasks/{id}/deny",
    tag = "Tasks",
    operation_id = "denyTask",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The task.")),
    request_body(content = Option<DenyTask>, example = json!({"reason": "Close them one by one"})),
    responses(
        (status = 200, description = "Denied.", body = TaskResponse),
        (status = 403, response = NotEligible),
        (status = 404, response = NotFound),
        (status = 409, response = TaskOver),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn deny(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(id): Path<String>,
    Json(input): Json<DenyTask>,
) -> Result<Json<TaskResponse>> {
    let actor = caller.actor();
    let task = decide::deny(&state, (&actor, DecisionSurface::Api), parse(&id)?, input.reason).await?;
    Ok(answer(&state.config, task))
}

/// Stop a running task.
///
/// The agent's requests need approval again immediately. Those that are being sent are completed.
#[utoipa::path(
    post,
    path = "/tasks/{id}/stop",
    tag = "Tasks",
    operation_id = "stopTask",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The task.")),
    responses(
        (status = 200, description = "Stopped.", body = TaskResponse),
        (status = 403, response = NotEligible),
        (status = 404, response = NotFound),
        (status = 409, response = TaskOver),
    ),
)]
pub(super) async fn stop(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(id): Path<String>,
) -> Result<Json<TaskResponse>> {
    let actor = caller.actor();
    let task = decide::stop(&state, (&actor, DecisionSurface::Api), parse(&id)?).await?;
    Ok(answer(&state.config, task))
}
