//! Connecting a program to an agent's key: the configuration of each, and whether the first call has arrived.

use axum::Json;
use axum::response::{IntoResponse, Response};
use pyxis_core::agent_client::{self, AgentClient};
use pyxis_core::clock::UnixMillis;
use pyxis_gateway::Config;
use pyxis_gateway::admin::agents;
use serde_json::json;

use super::agent_id;
use crate::Error;
use crate::error::html;
use crate::form::{Page, PathId};
use crate::session::Manager;
use crate::view::Timestamp;
use crate::view::agents::{AgentConnectPage, ConnectGuide, ProgramConfiguration};

/// Environment variable that the configurations read the key from.
const KEY_ENV: &str = "PX_AGENT_KEY";

/// The configurations for an agent's key, and where to ask for its first call. Without `key`, the environment has a
/// placeholder. `last_seen` is the time of the agent's latest message.
pub(super) fn guide(
    config: &Config,
    now: UnixMillis,
    id: &str,
    key: Option<&str>,
    last_seen: Option<UnixMillis>,
) -> ConnectGuide {
    let url = format!("{}{}", config.base_url, agent_client::MCP_PATH);
    let program = |client: &AgentClient| ProgramConfiguration {
        label: client.label,
        place: client.place,
        text: client.configuration(&url, KEY_ENV).trim_end().to_owned(),
    };
    ConnectGuide {
        environment: format!("export {KEY_ENV}={}", key.unwrap_or("px_agent_…")),
        has_key: key.is_some(),
        programs: agent_client::ALL.iter().map(program).collect(),
        instructions: format!("{}/instructions", config.base_url),
        seen_at: format!("/app/agents/{id}/seen"),
        since: now.to_rfc3339(),
        last_seen: last_seen.map(|at| Timestamp::new(at, now)),
    }
}

pub(crate) async fn page(
    Page { state, who, .. }: Page<Manager>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let agent = agents::get(&state.gateway.store, who.person.workspace(), agent_id(&id)?).await?;
    let id = agent.row.id.to_string();
    let seen = agents::last_seen(&state.gateway, who.person.workspace(), agent.row.id).await?;
    let guide =
        agent.row.has_key().then(|| guide(&state.gateway.config, state.gateway.now(), &id, None, seen));
    html(&AgentConnectPage { shell: who.shell(&state).await?, id, name: agent.row.name, guide })
}

/// Time of the agent's latest message, for the page that waits for the first one.
pub(crate) async fn last_message_time(
    Page { state, who, .. }: Page<Manager>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let seen = agents::last_seen(&state.gateway, who.person.workspace(), agent_id(&id)?).await?;
    let seen = seen.map(UnixMillis::to_rfc3339);
    Ok(Json(json!({ "last_seen": seen })).into_response())
}
