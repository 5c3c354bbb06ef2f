//! Issuers that a workspace trusts.

use pyxis_core::actor::Actor;
use pyxis_core::admin_error::Missing;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::WorkspaceId;
use pyxis_store::Store;
use pyxis_store::audit::AuditedStore;
use pyxis_store::issuers::{self, IssuerRow};
use serde_json::json;

use super::{Error, MAX_NAME, Result, check_text};
use crate::credential;

/// Result of adding an issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// Added.
    New,
    /// It was listed under another name.
    Renamed,
    /// Already listed.
    Unchanged,
}

/// Lists an issuer, or renames it. An issuer is its key, so any DID of the key will do. It is listed under the DID from
/// [`credential::issuer_did`].
pub async fn add(db: &AuditedStore, actor: &Actor, did: &str, name: &str) -> Result<(IssuerRow, Added)> {
    let did = canonical(did)?;
    check_text("name", name, MAX_NAME)?;
    let mut change = db.begin(actor).await?;
    let known = issuers::list(&mut change.tx, actor.workspace).await?;
    let (row, added) = match known.into_iter().find(|row| row.did == did) {
        Some(row) if row.name == name => return Ok((row, Added::Unchanged)),
        Some(row) => (IssuerRow { name: name.to_owned(), ..row }, Added::Renamed),
        None => (IssuerRow { did, name: name.to_owned(), created_at: db.now() }, Added::New),
    };
    issuers::put(&mut change.tx, actor.workspace, &row).await?;
    change.commit(AuditEvent::IssuerAdded, json!({ "did": row.did, "name": row.name })).await?;
    Ok((row, added))
}

/// The issuers of a workspace, by DID.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<IssuerRow>> {
    Ok(issuers::list(store, workspace).await?)
}

/// The issuer that any DID of its key names; the refusal names the nearest one.
pub async fn find(store: &Store, workspace: WorkspaceId, did: &str) -> Result<IssuerRow> {
    let listed = canonical(did).ok();
    let known = issuers::list(store, workspace).await?;
    if let Some(row) = known.iter().find(|row| Some(&row.did) == listed.as_ref()) {
        return Ok(row.clone());
    }
    Err(Error::NotFound(Missing::with_name("issuer", did, known.iter().map(|row| row.did.as_str()))))
}

/// Removes an issuer from the list, named by any DID of its key. Its Stamps stay until they expire or are revoked.
pub async fn remove(db: &AuditedStore, actor: &Actor, did: &str) -> Result<()> {
    let did = find(&db.store, actor.workspace, did).await?.did;
    let mut change = db.begin(actor).await?;
    if !issuers::remove(&mut change.tx, actor.workspace, &did).await? {
        return Err(Error::not_found("issuer"));
    }
    Ok(change.commit(AuditEvent::IssuerRemoved, json!({ "did": did })).await?)
}

fn canonical(did: &str) -> Result<String> {
    credential::issuer_did(did).map_err(|_| {
        Error::field(
            "did",
            "must be did:ethr:0x…, did:pkh:eip155:<chain>:0x…, or did:key of an Ed25519 or secp256k1 key",
        )
    })
}
