//! `/admin/agents`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::AgentId;
use pyxis_http::{Json, Path};
use serde::{Deserialize, Deserializer, Serialize};

use super::Manager;
use crate::admin::agents::{self, Agent, AgentInput, AgentPatch, AgentScope};
use crate::admin::deny_all;
use crate::error::{Error, Result};
use crate::runtime::state::State;

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateAgentRequest {
    name: String,
    rate_limit_per_hour: Option<u32>,
    max_pending: Option<u32>,
    credentials: Option<Credentials>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateAgentRequest {
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    rate_limit_per_hour: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    max_pending: Option<Option<u32>>,
    credentials: Option<Credentials>,
    enabled: Option<bool>,
}

/// Tells `null` from absent.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

#[derive(Serialize)]
pub(super) struct AgentResponse {
    id: String,
    name: String,
    key_hint: String,
    rate_limit_per_hour: Option<i64>,
    max_pending: i64,
    credentials: Credentials,
    enabled: bool,
    created_at: String,
    last_used_at: Option<String>,
    /// Only when it was just made.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DenyAll {
    reason: Option<String>,
}

#[derive(Serialize)]
pub(super) struct DeniedAll {
    denied: u64,
    /// Those that this person may not decide; they cannot be sent while the agent is disabled.
    left: u64,
}

#[derive(Serialize)]
pub(super) struct AgentListResponse {
    agents: Vec<AgentResponse>,
}

fn shown(agent: Agent, key: Option<String>) -> AgentResponse {
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
    text.parse().map_err(|_| Error::NotFound("agent"))
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(person): Manager,
) -> Result<Json<AgentListResponse>> {
    let agents = agents::list(&state, person.workspace()).await?;
    Ok(Json(AgentListResponse { agents: agents.into_iter().map(|agent| shown(agent, None)).collect() }))
}

pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Json(input): Json<CreateAgentRequest>,
) -> Result<(StatusCode, Json<AgentResponse>)> {
    let credentials = input.credentials.map_or(Ok(AgentScope::All), Credentials::scope)?;
    let input = AgentInput {
        name: input.name,
        rate_limit_per_hour: input.rate_limit_per_hour,
        max_pending: input.max_pending,
        credentials,
    };
    let (agent, key) = agents::create(&state, &person.actor(), input).await?;
    Ok((StatusCode::CREATED, Json(shown(agent, Some(key.expose().clone())))))
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(agent): Path<String>,
) -> Result<Json<AgentResponse>> {
    Ok(Json(shown(agents::get(&state, person.workspace(), id(&agent)?).await?, None)))
}

pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(person): Manager,
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
    Ok(Json(shown(agents::update(&state, &person.actor(), id(&agent)?, patch).await?, None)))
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(agent): Path<String>,
) -> Result<StatusCode> {
    agents::remove(&state, &person.actor(), id(&agent)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn rotate(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(agent): Path<String>,
) -> Result<Json<AgentResponse>> {
    let (agent, key) = agents::rotate(&state, &person.actor(), id(&agent)?).await?;
    Ok(Json(shown(agent, Some(key.expose().clone()))))
}

/// Disables the agent and denies what it waits for. The body may give a reason, which the agent reads.
pub(super) async fn deny_all(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(agent): Path<String>,
    Json(input): Json<DenyAll>,
) -> Result<Json<DeniedAll>> {
    let reason = input.reason.as_deref();
    let done = deny_all::deny_all(&state, &person, DecisionSurface::Api, id(&agent)?, reason).await?;
    Ok(Json(DeniedAll { denied: done.denied, left: done.left }))
}
