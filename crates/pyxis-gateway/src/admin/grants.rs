//! Lists and revokes grants.

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{GrantId, WorkspaceId};
use pyxis_store::audit::AuditedStore;
use pyxis_store::grants::{self, GrantRow};
use pyxis_store::{Page, Store};
use serde_json::json;

use crate::error::{Error, Result};
use pyxis_core::actor::Actor;

/// Grants of a workspace, newest first. `ended` adds grants that are over.
pub async fn list(
    store: &Store,
    workspace: WorkspaceId,
    ended: bool,
    now: UnixMillis,
) -> Result<Vec<GrantRow>> {
    Ok(grants::list(store, workspace, ended, Page::first(500), now).await?)
}

/// Ends a grant immediately.
pub async fn revoke(db: &AuditedStore, actor: &Actor, id: GrantId) -> Result<()> {
    let mut change = db.begin(actor).await?;
    let found = grants::find(&mut change.tx, actor.workspace, id).await?.ok_or(Error::not_found("grant"))?;
    let reason = format!("revoked by {}", actor.name);
    if !grants::end(&mut change.tx, actor.workspace, id, &reason, db.now()).await? {
        return Err(Error::Conflict("the grant has already ended"));
    }
    Ok(change.commit(AuditEvent::GrantRevoked, json!({ "grant": id, "route": found.route })).await?)
}
