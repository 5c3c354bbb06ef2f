//! Issuers whose statements are trusted, kind by kind.

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::proof::Kind;
use pyxis_store::Store;
use pyxis_store::audit::AuditedStore;
use pyxis_store::proof_issuers::{self, ProofIssuerRow};
use serde_json::json;

use super::{Error, Result, check_text, require_first_workspace};
use crate::registry::Issuer;

/// Lists an issuer for a kind, or renames it; true if that changed anything.
pub async fn add(
    db: &AuditedStore,
    actor: &Actor,
    kind: Kind,
    issuer: Issuer,
    name: &str,
) -> Result<(ProofIssuerRow, bool)> {
    require_first_workspace(&db.store, actor).await?;
    check_text("name", name)?;
    let mut change = db.begin(actor).await?;
    let text = issuer.to_string();
    let known = proof_issuers::list(&mut change.tx).await?;
    let known = known.into_iter().find(|row| row.kind == kind && row.issuer == text);
    let created_at = known.as_ref().map_or_else(|| db.now(), |row| row.created_at);
    let row = ProofIssuerRow { kind, issuer: text, name: name.to_owned(), created_at };
    if known.as_ref() == Some(&row) {
        return Ok((row, false));
    }
    proof_issuers::put(&mut change.tx, &row).await?;
    let detail = json!({ "kind": kind.as_str(), "issuer": row.issuer, "name": row.name });
    change.commit(AuditEvent::ProofIssuerAdded, detail).await?;
    Ok((row, true))
}

/// Every issuer, by kind.
pub async fn list(store: &Store) -> Result<Vec<ProofIssuerRow>> {
    Ok(proof_issuers::list(store).await?)
}

/// Removes an issuer from the list of a kind. Its proofs stay until they expire or are revoked.
pub async fn remove(db: &AuditedStore, actor: &Actor, kind: Kind, issuer: Issuer) -> Result<()> {
    require_first_workspace(&db.store, actor).await?;
    let mut change = db.begin(actor).await?;
    let issuer = issuer.to_string();
    if !proof_issuers::remove(&mut change.tx, kind, &issuer).await? {
        return Err(Error::not_found("issuer"));
    }
    let detail = json!({ "kind": kind.as_str(), "issuer": issuer });
    Ok(change.commit(AuditEvent::ProofIssuerRemoved, detail).await?)
}
