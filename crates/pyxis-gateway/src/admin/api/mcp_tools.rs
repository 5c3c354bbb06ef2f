//! `/admin/credentials/{name}/tools`.

use axum::extract::State as Extract;
use pyxis_http::admin::{CompleteList, Listed, Manager};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::{Json, Path};
use pyxis_store::mcp_tools::{McpToolRow, ToolMode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::admin::mcp_tools;
use crate::error::{Error, Result};
use crate::problems::{ProbeFailed, ToolChanged, UpstreamTimeout};
use crate::runtime::state::State;
use crate::values;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ToolPermissionInput)]
pub(super) struct SetToolRequest {
    /// `pass`, `ask` or `deny`.
    #[schema(value_type = values::ToolModeName)]
    mode: String,
    /// Fingerprint of the definition that was read.
    #[schema(
        min_length = 64,
        max_length = 64,
        example = "2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c"
    )]
    fingerprint: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = McpTool, example = json!({
    "name": "search",
    "mode": "ask",
    "changed": false,
    "offered": true,
    "fingerprint": "2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c",
    "definition": {"name": "search", "description": "Search the documentation", "inputSchema": {"type": "object"}},
    "allowed_definition": null,
    "seen_at": "2026-01-31T09:05:00.250Z"
}))]
pub(super) struct ToolResponse {
    /// Name on its server.
    name: String,
    /// `pass`, `ask` or `deny`.
    #[schema(value_type = values::ToolModeName)]
    mode: &'static str,
    /// True if the definition changed since the permission was set. Calls then ask, unless they are denied.
    changed: bool,
    /// True if the server's newest list has the tool.
    offered: bool,
    /// SHA-256 of the newest definition.
    fingerprint: String,
    /// Newest definition.
    #[schema(value_type = Object)]
    definition: Value,
    /// The definition that the permission was set for.
    #[schema(value_type = Option<Object>, required)]
    allowed_definition: Option<Value>,
    /// Time of the newest definition.
    #[schema(value_type = Time)]
    seen_at: String,
}

impl Listed for ToolResponse {
    const MEMBER: &'static str = "tools";
}

pub(super) type ToolListResponse = CompleteList<ToolResponse>;

fn tool_response(row: McpToolRow) -> ToolResponse {
    let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    ToolResponse {
        changed: row.has_changed(),
        mode: row.mode.as_str(),
        offered: row.offered,
        definition: json(&row.seen_definition),
        allowed_definition: row.allowed_definition.as_deref().map(json),
        seen_at: row.seen_at.to_rfc3339(),
        fingerprint: row.seen_fingerprint,
        name: row.name,
    }
}

/// List the tools of a credential's MCP server.
#[utoipa::path(
    get,
    path = "/admin/credentials/{name}/tools",
    tag = "Credentials",
    operation_id = "listTools",
    security(("session" = [])),
    params(("name" = String, Path, min_length = 1, description = "The credential.", example = "docs")),
    responses(
        (status = 200, description = "The tools that Pyxis knows. Empty until the server was first asked.", body = ToolListResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(name): Path<String>,
) -> Result<Json<ToolListResponse>> {
    let rows = mcp_tools::list(&state.store, actor.workspace, &name).await?;
    Ok(Json(rows.into_iter().map(tool_response).collect::<Vec<_>>().into()))
}

/// Ask a credential's MCP server for its tools.
#[utoipa::path(
    post,
    path = "/admin/credentials/{name}/tools",
    tag = "Credentials",
    operation_id = "refreshTools",
    security(("session" = [])),
    params(("name" = String, Path, min_length = 1, description = "The credential.", example = "docs")),
    responses(
        (status = 200, description = "The tools.", body = ToolListResponse),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
        (status = 502, response = ProbeFailed),
        (status = 504, response = UpstreamTimeout),
    ),
)]
pub(super) async fn refresh(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(name): Path<String>,
) -> Result<Json<ToolListResponse>> {
    mcp_tools::refresh(&state, &actor, &name).await?;
    let rows = mcp_tools::list(&state.store, actor.workspace, &name).await?;
    Ok(Json(rows.into_iter().map(tool_response).collect::<Vec<_>>().into()))
}

/// Set the permission of a tool.
///
/// The fingerprint names the definition that was read. If the tool has changed meanwhile, nothing is set.
#[utoipa::path(
    put,
    path = "/admin/credentials/{name}/tools/{tool}",
    tag = "Credentials",
    operation_id = "setTool",
    security(("session" = [])),
    params(
        ("name" = String, Path, min_length = 1, description = "The credential.", example = "docs"),
        ("tool" = String, Path, min_length = 1, description = "The tool.", example = "search"),
    ),
    request_body(content = SetToolRequest),
    responses(
        (status = 200, description = "The tool after the change.", body = ToolResponse),
        (status = 404, response = NotFound),
        (status = 409, response = ToolChanged),
    ),
)]
pub(super) async fn set(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path((name, tool)): Path<(String, String)>,
    Json(input): Json<SetToolRequest>,
) -> Result<Json<ToolResponse>> {
    let mode =
        ToolMode::from_name(&input.mode).ok_or_else(|| Error::field("mode", "must be pass, ask or deny"))?;
    let tool = (tool.as_str(), input.fingerprint.as_str());
    let row = mcp_tools::set_mode(&state.audited, &actor, &name, tool, mode).await?;
    Ok(Json(tool_response(row)))
}
