//! `/admin/agents`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::AgentId;
use pyxis_http::admin::{CompleteList, Listed, Manager};
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::openapi::{Id, Name, Time};
use pyxis_http::{Json, Path};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::admin::agents::{self, Agent, AgentInput, AgentPatch, AgentScope};
use crate::admin::callers::Caller;
use crate::admin::deny_all;
use crate::error::{Error, Result};
use crate::problems::NameTaken;
use crate::runtime::state::State;
use crate::values;

/// `"all"` or a list of names.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Credentials {
    Named(Vec<String>),
    Word(String),
}

impl Credentials {
    fn scope(self) -> Result<AgentScope> {
        match self {
            Self::Named(names) => Ok(AgentScope::Named(names)),
            Self::Word(word) if word == "all" => Ok(AgentScope::All),
            Self::Word(_) => Err(Error::field("credentials", "must be \"all\" or a list of names")),
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentInput)]
pub(super) struct CreateAgentRequest {
    #[schema(value_type = Name)]
    name: String,
    /// Absent or null: no limit.
    #[schema(minimum = 1, maximum = 4_294_967_295_i64)]
    rate_limit_per_hour: Option<u32>,
    /// Maximum number of pending requests; more are refused with 429 `too_many_pending`. Absent or null: 100.
    #[schema(minimum = 1, maximum = 100_000)]
    max_pending: Option<u32>,
    #[schema(value_type = Option<values::AgentScope>, nullable = false, default = "all")]
    credentials: Option<Credentials>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentPatch)]
pub(super) struct UpdateAgentRequest {
    #[schema(value_type = Option<Name>, nullable = false)]
    name: Option<String>,
    /// Null: no limit.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 4_294_967_295_i64)]
    rate_limit_per_hour: Option<Option<u32>>,
    /// Maximum number of pending requests. Null: 100.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 100_000)]
    max_pending: Option<Option<u32>>,
    #[schema(value_type = Option<values::AgentScope>, nullable = false)]
    credentials: Option<Credentials>,
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

/// Tells `null` from absent.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

#[derive(Serialize, ToSchema)]
#[schema(as = Agent, example = json!({
    "id": "0190a2b4-7c00-7000-8000-000000000001",
    "name": "default-agent",
    "key_hint": "px_agent_0a1b2c",
    "rate_limit_per_hour": 200,
    "max_pending": 100,
    "credentials": "all",
    "enabled": true,
    "created_at": "2026-01-30T16:40:00.250Z",
    "last_used_at": "2026-01-31T09:05:00.250Z"
}))]
pub(super) struct AgentResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Name)]
    name: String,
    /// The first characters of the key.
    #[schema(example = "px_agent_0a1b2c")]
    key_hint: String,
    #[schema(required, example = 200)]
    rate_limit_per_hour: Option<i64>,
    #[schema(minimum = 1, example = 100)]
    max_pending: i64,
    #[schema(value_type = values::AgentScope)]
    credentials: Credentials,
    enabled: bool,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Option<Time>, required)]
    last_used_at: Option<String>,
    /// For `X-PX-Key`. Only in the response that creates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    key: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DenyAllInput)]
pub(super) struct DenyAll {
    /// Reason for the agent. At most 2000 bytes.
    #[schema(nullable = false, max_length = 2000)]
    reason: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DeniedAll)]
pub(super) struct DeniedAll {
    #[schema(minimum = 0)]
    denied: u64,
    /// Requests that you may not decide.
    #[schema(minimum = 0)]
    left: u64,
}

impl Listed for AgentResponse {
    const MEMBER: &'static str = "agents";
}

pub(super) type AgentListResponse = CompleteList<AgentResponse>;

fn agent_response(agent: Agent, key: Option<String>) -> AgentResponse {
    AgentResponse {
        id: agent.row.id.to_string(),
        name: agent.row.name,
        key_hint: agent.row.key_hint,
        rate_limit_per_hour: agent.row.rate_limit_per_hour,
        max_pending: agent.row.max_pending,
        credentials: match agent.credentials {
            AgentScope::All => Credentials::Word("all".to_owned()),
            AgentScope::Named(names) => Credentials::Named(names),
        },
        enabled: agent.row.disabled_at.is_none(),
        created_at: agent.row.created_at.to_rfc3339(),
        last_used_at: agent.row.last_used_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
        key,
    }
}

fn id(text: &str) -> Result<AgentId> {
    text.parse().map_err(|_| Error::not_found("agent"))
}

/// List agents.
#[utoipa::path(
    get,
    path = "/admin/agents",
    tag = "Agents",
    operation_id = "listAgents",
    security(("session" = [])),
    responses((status = 200, description = "Without their keys.", body = AgentListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<AgentListResponse>> {
    let agents = agents::list(&state.store, actor.workspace).await?;
    Ok(Json(agents.into_iter().map(|agent| agent_response(agent, None)).collect()))
}

/// Create an agent and its key.
#[utoipa::path(
    post,
    path = "/admin/agents",
    tag = "Agents",
    operation_id = "createAgent",
    security(("session" = [])),
    request_body(content = CreateAgentRequest, example = json!({"name": "release-bot", "rate_limit_per_hour": 200, "credentials": ["github"]})),
    responses(
        (status = 201, description = "The agent with its key, shown once.", body = AgentResponse),
        (status = 409, response = NameTaken),
    ),
)]
pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<CreateAgentRequest>,
) -> Result<(StatusCode, Json<AgentResponse>)> {
    let credentials = input.credentials.map_or(Ok(AgentScope::All), Credentials::scope)?;
    let input = AgentInput {
        name: input.name,
        rate_limit_per_hour: input.rate_limit_per_hour,
        max_pending: input.max_pending,
        credentials,
    };
    let (agent, key) = agents::create(&state, &actor, input).await?;
    Ok((StatusCode::CREATED, Json(agent_response(agent, Some(key.expose().clone())))))
}

/// Show an agent.
#[utoipa::path(
    get,
    path = "/admin/agents/{id}",
    tag = "Agents",
    operation_id = "showAgent",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The agent.")),
    responses(
        (status = 200, description = "Without its key.", body = AgentResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(agent): Path<String>,
) -> Result<Json<AgentResponse>> {
    Ok(Json(agent_response(agents::get(&state.store, actor.workspace, id(&agent)?).await?, None)))
}

/// Change an agent.
///
/// Members that are left out stay unchanged. Disabling ends the agent's own grants.
#[utoipa::path(
    patch,
    path = "/admin/agents/{id}",
    tag = "Agents",
    operation_id = "updateAgent",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The agent.")),
    request_body(content = Option<UpdateAgentRequest>, example = json!({"rate_limit_per_hour": null, "credentials": "all"})),
    responses(
        (status = 200, description = "The agent after the change.", body = AgentResponse),
        (status = 404, response = NotFound),
        (status = 409, response = NameTaken),
    ),
)]
pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(agent): Path<String>,
    Json(input): Json<UpdateAgentRequest>,
) -> Result<Json<AgentResponse>> {
    let patch = AgentPatch {
        name: input.name,
        rate_limit_per_hour: input.rate_limit_per_hour,
        max_pending: input.max_pending,
        credentials: input.credentials.map(Credentials::scope).transpose()?,
        enabled: input.enabled,
    };
    Ok(Json(agent_response(agents::update(&state, &actor, id(&agent)?, patch).await?, None)))
}

/// Remove an agent, its key and its own grants.
#[utoipa::path(
    delete,
    path = "/admin/agents/{id}",
    tag = "Agents",
    operation_id = "removeAgent",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The agent.")),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(agent): Path<String>,
) -> Result<StatusCode> {
    agents::remove(&state, &actor, id(&agent)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Replace an agent's key.
///
/// The old key stops working at once.
#[utoipa::path(
    post,
    path = "/admin/agents/{id}/rotate",
    tag = "Agents",
    operation_id = "rotateAgentKey",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The agent.")),
    responses(
        (status = 200, description = "The agent with its new key, shown once.", body = AgentResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn rotate(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(agent): Path<String>,
) -> Result<Json<AgentResponse>> {
    let (agent, key) = agents::rotate(&state, &actor, id(&agent)?).await?;
    Ok(Json(agent_response(agent, Some(key.expose().clone()))))
}

/// Disable an agent and deny its pending requests.
///
/// The key stops working first, so that no new request becomes pending. Requests that you may not decide stay
/// pending; they cannot be sent while the agent is disabled.
#[utoipa::path(
    post,
    path = "/admin/agents/{id}/deny-all",
    tag = "Agents",
    operation_id = "denyAll",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The agent.")),
    request_body(content = Option<DenyAll>, example = json!({"reason": "It went astray"})),
    responses(
        (status = 200, description = "The numbers of requests.", body = DeniedAll, example = json!({"denied": 3, "left": 0})),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn deny_all(
    Extract(state): Extract<State>,
    Manager(person): Manager<Caller>,
    Path(agent): Path<String>,
    Json(input): Json<DenyAll>,
) -> Result<Json<DeniedAll>> {
    let reason = input.reason.as_deref();
    let done = deny_all::deny_all(&state, &person, DecisionSurface::Api, id(&agent)?, reason).await?;
    Ok(Json(DeniedAll { denied: done.denied, left: done.left }))
}
