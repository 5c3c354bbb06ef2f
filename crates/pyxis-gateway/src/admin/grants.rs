//! Lists and revokes grants.

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{GrantId, WorkspaceId};
use pyxis_store::Page;
use pyxis_store::grants::{self, GrantRow};
use serde_json::json;

use crate::error::{Error, Result};
use crate::identity::actor::{Actor, Change};
use crate::runtime::state::State;

/// Grants of a workspace, newest first. `ended` adds grants that are over.
pub async fn list(state: &State, workspace: WorkspaceId, ended: bool) -> Result<Vec<GrantRow>> {
    Ok(grants::list(&state.store, workspace, ended, Page::first(500), state.now()).await?)
}

/// Ends a grant immediately.
pub async fn revoke(state: &State, actor: &Actor, id: GrantId) -> Result<()> {
    let mut change = Change::begin(state, actor).await?;
    let found = grants::find(&mut change.tx, actor.workspace, id).await?.ok_or(Error::not_found("grant"))?;
    let reason = format!("revoked by {}", actor.name);
    if !grants::end(&mut change.tx, actor.workspace, id, &reason, state.now()).await? {
        return Err(Error::Conflict("the grant has already ended"));
    }
    change.commit(AuditEvent::GrantRevoked, None, json!({ "grant": id, "route": found.route })).await
}
