//! Permissions of the tools of MCP servers.

use pyxis_core::actor::Actor;
use pyxis_core::admin_error::Missing;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::WorkspaceId;
use pyxis_store::audit::AuditedStore;
use pyxis_store::mcp_tools::{self, McpToolRow, ToolMode};
use pyxis_store::{Store, policies};
use serde_json::json;

use super::credentials;
use crate::credentials::mcp_servers::{self, Asker};
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;

/// Tools of a credential's server, as far as anyone asked it for them.
pub async fn list(store: &Store, workspace: WorkspaceId, credential: &str) -> Result<Vec<McpToolRow>> {
    let row = credentials::get(store, workspace, credential).await?;
    Ok(mcp_tools::list(store, workspace, row.id).await?)
}

/// The tool of a credential's server with this name.
pub async fn get(store: &Store, workspace: WorkspaceId, credential: &str, tool: &str) -> Result<McpToolRow> {
    let known = list(store, workspace, credential).await?;
    let found = known.iter().find(|row| row.name == tool).cloned();
    found.ok_or_else(|| {
        Error::NotFound(Missing::with_name("tool", tool, known.iter().map(|row| row.name.as_str())))
    })
}

/// Asks the server for its tools.
pub async fn refresh(state: &State, actor: &Actor, credential: &str) -> Result<()> {
    let row = credentials::get(&state.store, actor.workspace, credential).await?;
    let policy = policies::find(&state.store, actor.workspace, row.id).await?;
    let document = policy.as_ref().map(|policy| policy.document.as_str());
    let resolved = ResolvedCredential::parse(row, document, ApprovalMode::Gated)?;
    if resolved.options.mcp_url.is_none() {
        return Err(Error::field("mcp_url", "set it first: the credential has no MCP server yet"));
    }
    mcp_servers::forget(&state.mcp_cache, &resolved).await;
    let asker = Asker { actor: actor.id.clone(), name: actor.name.clone() };
    mcp_servers::tools(state, &resolved, &asker).await?;
    Ok(())
}

/// Sets the permission of a tool. `fingerprint` names the definition that the person read; if it is no longer the
/// newest one, nothing changes.
pub async fn set_mode(
    db: &AuditedStore,
    actor: &Actor,
    credential: &str,
    (tool, fingerprint): (&str, &str),
    mode: ToolMode,
) -> Result<McpToolRow> {
    let row = credentials::get(&db.store, actor.workspace, credential).await?;
    get(&db.store, actor.workspace, credential, tool).await?;
    let mut change = db.begin(actor).await?;
    let set = mcp_tools::set_mode(&mut change.tx, actor.workspace, row.id, tool, fingerprint, mode).await?;
    if !set {
        return Err(Error::Conflict("the tool's definition has changed; read it again"));
    }
    let detail = json!({ "tool": tool, "mode": mode.as_str(), "fingerprint": fingerprint });
    change.commit_about(AuditEvent::ToolPermissionChanged, Some(&row.name), detail).await?;
    let set = mcp_tools::find(&db.store, actor.workspace, row.id, tool).await?;
    set.ok_or(Error::not_found("tool"))
}
