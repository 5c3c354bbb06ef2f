//! `/agent/tasks`: agents propose tasks, wait for decisions, and see the uses that are left.

use std::time::Duration;

use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, LOCATION, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use pyxis_core::actor::Actor;
use pyxis_core::id::TaskId;
use pyxis_core::task::TaskState;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::openapi::{Id, Uri};
use pyxis_http::{Json, Path, Query};
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;

use super::decide;
use super::propose::{self, Proposal};
use super::response::AgentTaskResponse;
use super::view::{self, TaskView};
use crate::approvals::announcement_record;
use crate::credentials::requests::caller::{CallerKey, CallingAgent};
use crate::credentials::requests::control::MAX_WAIT;
use crate::error::{Error, Result};
use crate::problems::{BadKey, TaskOver, TooManyTasks};
use crate::runtime::resolve::ResolvedAgent;
use crate::runtime::state::State;

/// Seconds between polls.
const POLL_AGAIN: HeaderValue = HeaderValue::from_static("2");

/// Query of a task's state.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TaskQuery {
    /// Seconds to wait for the decision; values above 60 count as 60.
    #[param(minimum = 0, example = 30)]
    wait: Option<u64>,
}

/// Propose a task.
///
/// A person approves the task once, whole or in part. Until it ends, requests that its actions cover need no approval.
/// A task never widens the policy: denied requests stay denied, and `require_approval_urls` still need approval.
///
/// A proposal identical to a pending one joins it.
#[utoipa::path(
    post,
    path = "/agent/tasks",
    tag = "Agent",
    operation_id = "proposeTask",
    security(("agentKey" = [])),
    request_body(content = Proposal, example = json!({
        "purpose": "Close the stale issues of example/site",
        "actions": [
            {"credential": "github", "method": "PATCH", "url": "https://api.github.com/repos/example/site/issues/*", "max_uses": 20}
        ],
        "minutes": 60
    })),
    responses(
        (status = 202, description = "The task is pending.", headers(("Location" = Uri, description = "URL of the task's state."), ("Retry-After" = u64, description = "Seconds to wait before the first poll."), ("Cache-Control" = String, description = "Always `no-store`.")), body = AgentTaskResponse),
        (status = 401, response = BadKey),
        (status = 409, response = TaskOver),
        (status = 422, response = InvalidField),
        (status = 429, response = TooManyTasks),
    ),
)]
pub(crate) async fn propose(
    Extract(state): Extract<State>,
    CallingAgent(agent): CallingAgent,
    Json(proposal): Json<Proposal>,
) -> Result<Response> {
    state.last_used.note_agent(agent.id(), state.now());
    let row = propose::propose(&state, &agent, proposal).await?;
    let location = format!("{}/agent/tasks/{}", state.config.base_url, row.id);
    let task = TaskView::of_row(&state.store, row, state.now()).await?;
    let mut response = answer(&state, task).await?;
    *response.status_mut() = StatusCode::ACCEPTED;
    if let Ok(value) = HeaderValue::try_from(location) {
        response.headers_mut().insert(LOCATION, value);
    }
    Ok(response)
}

/// Get a proposed task.
///
/// State, approved part and uses. Always 200 for the agent that proposed the task, and 404 for others.
#[utoipa::path(
    get,
    path = "/agent/tasks/{id}",
    tag = "Agent",
    operation_id = "pollTask",
    security(("agentKey" = [])),
    params(("id" = inline(Id), Path, description = "The task."), TaskQuery),
    responses(
        (status = 200, description = "The current state.", headers(("Retry-After" = u64, description = "Seconds to wait before the next poll; absent once it is decided."), ("Cache-Control" = String, description = "Always `no-store`.")), body = AgentTaskResponse),
        (status = 401, response = BadKey),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(crate) async fn show(
    Extract(state): Extract<State>,
    Path(id): Path<String>,
    Query(query): Query<TaskQuery>,
    key: CallerKey,
) -> Result<Response> {
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    let wait = Duration::from_secs(query.wait.unwrap_or(0)).min(MAX_WAIT);
    let task = wait_until_decided(&state, &agent, parse(&id)?, wait).await?;
    answer(&state, task).await
}

/// Withdraw a proposed task.
#[utoipa::path(
    post,
    path = "/agent/tasks/{id}/withdraw",
    tag = "Agent",
    operation_id = "withdrawTask",
    security(("agentKey" = [])),
    params(("id" = inline(Id), Path, description = "The task.")),
    responses(
        (status = 200, description = "Withdrawn.", body = AgentTaskResponse),
        (status = 401, response = BadKey),
        (status = 404, response = NotFound),
        (status = 409, response = TaskOver),
    ),
)]
pub(crate) async fn withdraw(
    Extract(state): Extract<State>,
    Path(id): Path<String>,
    key: CallerKey,
) -> Result<Response> {
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    let workspace = agent.workspace_id();
    let task = view::load_for_agent(&state.store, workspace, agent.id(), parse(&id)?, state.now()).await?;
    let actor = Actor::agent(workspace, agent.id(), &agent.row.name);
    let task = decide::withdraw(&state, &actor, &task).await?;
    answer(&state, task).await
}

fn parse(id: &str) -> Result<TaskId> {
    id.parse().map_err(|_| Error::not_found("task"))
}

async fn answer(state: &State, task: TaskView) -> Result<Response> {
    let is_waiting = task.state == TaskState::Proposed;
    let (workspace, subject) = (task.row.workspace_id, task.row.id.into());
    let asked = announcement_record::load_anonymous(&state.store, workspace, subject, state.now()).await?;
    let mut response = Json(AgentTaskResponse::new(&state.config, task, asked)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if is_waiting {
        response.headers_mut().insert(RETRY_AFTER, POLL_AGAIN);
    }
    Ok(response)
}

/// Waits for the decision about a task, at most `wait`. Costs one map entry and no polling.
async fn wait_until_decided(
    state: &State,
    agent: &ResolvedAgent,
    id: TaskId,
    wait: Duration,
) -> Result<TaskView> {
    let deadline = Instant::now() + wait;
    let waiter = state.waiters.join(id);
    loop {
        let mut changed = std::pin::pin!(waiter.changed());
        changed.as_mut().enable();
        let (workspace, now) = (agent.workspace_id(), state.now());
        let task = view::load_for_agent(&state.store, workspace, agent.id(), id, now).await?;
        let is_decided = task.state != TaskState::Proposed;
        if is_decided || Instant::now() >= deadline || state.waiters.is_stopped() {
            return Ok(task);
        }
        let window_ends = Instant::now() + task.row.expires_at.since(now) + Duration::from_millis(1);
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(window_ends.min(deadline)) => {}
        }
    }
}
