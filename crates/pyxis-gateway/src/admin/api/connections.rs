//! `/admin/agents/{id}/connections` and `/admin/connections`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::id::{AgentId, ConnectionId};
use pyxis_http::admin::{CompleteList, Listed, Manager};
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path};
use pyxis_store::connections::AgentConnectionRow;
use serde::Serialize;
use utoipa::ToSchema;

use crate::admin::connections;
use crate::error::{Error, Result};
use crate::runtime::state::State;

#[derive(Serialize, ToSchema)]
#[schema(as = Connection)]
pub(super) struct ConnectionResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    agent_id: String,
    /// An id from registration, the URL of the program's metadata document, or `pyxis run`.
    #[schema(example = "https://editor.example.com/client.json")]
    client_id: String,
    /// Name that the program gives itself.
    #[schema(example = "Example Editor")]
    client_name: String,
    /// Host or scheme that the authorization code was sent to; `command line` for `pyxis run`.
    #[schema(example = "editor.example.com")]
    destination: String,
    /// E-mail address of the person who consented; `command line` for `pyxis run`.
    #[schema(example = "ada@example.org")]
    allowed_by: String,
    #[schema(value_type = Time)]
    created_at: String,
    /// Time of the newest tokens, to about an hour.
    #[schema(value_type = Time)]
    last_used_at: String,
}

impl Listed for ConnectionResponse {
    const MEMBER: &'static str = "connections";
}

pub(super) type ConnectionListResponse = CompleteList<ConnectionResponse>;

fn connection_response(row: AgentConnectionRow) -> ConnectionResponse {
    ConnectionResponse {
        id: row.id.to_string(),
        agent_id: row.agent_id.to_string(),
        client_id: row.client_id,
        client_name: row.client_name,
        destination: row.destination,
        allowed_by: row.allowed_by,
        created_at: row.created_at.to_rfc3339(),
        last_used_at: row.last_used_at.to_rfc3339(),
    }
}

/// List the programs connected to an agent.
#[utoipa::path(
    get,
    path = "/admin/agents/{id}/connections",
    tag = "Agents",
    operation_id = "listConnections",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The agent.")),
    responses(
        (status = 200, description = "Newest first.", body = ConnectionListResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(agent): Path<String>,
) -> Result<Json<ConnectionListResponse>> {
    let agent: AgentId = agent.parse().map_err(|_| Error::not_found("agent"))?;
    let rows = connections::list(&state.store, actor.workspace, agent).await?;
    Ok(Json(rows.into_iter().map(connection_response).collect()))
}

/// Revoke a connection.
///
/// All its tokens stop working at once.
#[utoipa::path(
    delete,
    path = "/admin/connections/{id}",
    tag = "Agents",
    operation_id = "revokeConnection",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The connection.")),
    responses(
        (status = 204, description = "Revoked."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn revoke(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    let id: ConnectionId = id.parse().map_err(|_| Error::not_found("connection"))?;
    connections::revoke(&state.audited, &actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
