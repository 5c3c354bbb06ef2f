//! Lists and revokes the programs that are connected to agents.

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{AgentId, ConnectionId, WorkspaceId};
use pyxis_store::audit::AuditedStore;
use pyxis_store::connections::{self, AgentConnectionRow};
use pyxis_store::{Store, agents};
use serde_json::json;

use crate::error::{Error, Result};

/// Programs connected to an agent, newest first.
pub async fn list(store: &Store, workspace: WorkspaceId, agent: AgentId) -> Result<Vec<AgentConnectionRow>> {
    agents::find(store, workspace, agent).await?.ok_or(Error::not_found("agent"))?;
    Ok(connections::list_for_agent(store, workspace, agent).await?)
}

/// Ends a connection. Its tokens stop working immediately.
pub async fn revoke(db: &AuditedStore, actor: &Actor, id: ConnectionId) -> Result<AgentConnectionRow> {
    let mut change = db.begin(actor).await?;
    let found = connections::find(&mut change.tx, actor.workspace, id).await?;
    let row = found.ok_or(Error::not_found("connection"))?;
    if !connections::remove(&mut change.tx, actor.workspace, id).await? {
        return Err(Error::not_found("connection"));
    }
    let agent = agents::find(&mut change.tx, actor.workspace, row.agent_id).await?;
    let detail = json!({
        "agent": agent.map(|agent| agent.name),
        "id": row.agent_id,
        "connection": id,
        "client": row.client_name,
        "client_id": row.client_id,
    });
    change.commit(AuditEvent::ConnectionRevoked, detail).await?;
    Ok(row)
}
