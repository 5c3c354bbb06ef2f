//! Requests for access to score history.

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{ApiKeyId, HistoryRequestId, WorkspaceId};
use pyxis_store::api_keys;
use pyxis_store::audit::AuditedStore;
use pyxis_store::history_requests::{self, HistoryRequestRow, NewRequest, RequestState};
use pyxis_store::{Store, StoreError};
use serde_json::json;

use super::{Error, Result};
use crate::state::State;

/// Longest use case, in bytes.
const MAX_USE_CASE: usize = 4000;

/// Requests history access for a key; `use_case` states the purpose.
pub async fn create(
    state: &State,
    actor: &Actor,
    key: ApiKeyId,
    use_case: &str,
) -> Result<HistoryRequestRow> {
    check_use_case(use_case)?;
    let mut change = state.audited.begin(actor).await?;
    let row = api_keys::find_by_id(&mut change.tx, actor.workspace, key).await?;
    let row = row.ok_or_else(|| Error::field("api_key_id", "unknown API key"))?;
    if row.revoked_at.is_some() {
        return Err(Error::Conflict("the key is revoked; create a new one"));
    }
    if super::api_keys::is_publishable(&row) {
        return Err(Error::field("api_key_id", "a publishable key never reads history; use a server key"));
    }
    if row.can_read_history {
        return Err(Error::Conflict("the key can already read history"));
    }
    let now = state.now();
    let new = NewRequest {
        id: HistoryRequestId::new(now, &*state.entropy),
        api_key_id: key,
        use_case: use_case.to_owned(),
        requested_by: actor.name.clone(),
        created_at: now,
    };
    match history_requests::insert(&mut change.tx, actor.workspace, &new).await {
        Err(StoreError::Conflict { .. }) => {
            return Err(Error::Conflict("a request for this key is already pending"));
        }
        other => other?,
    }
    let detail = json!({ "request": new.id, "api_key": key, "use_case": use_case });
    change.commit(AuditEvent::HistoryRequestCreated, detail).await?;
    find(&state.store, actor.workspace, new.id).await
}

/// The requests of a workspace, newest first.
pub async fn list(
    store: &Store,
    workspace: WorkspaceId,
    only: Option<RequestState>,
) -> Result<Vec<HistoryRequestRow>> {
    Ok(history_requests::list(store, workspace, only).await?)
}

/// Decides a pending request; once approved, its key can read history.
pub async fn decide(
    db: &AuditedStore,
    actor: &Actor,
    id: HistoryRequestId,
    approve: bool,
) -> Result<HistoryRequestRow> {
    find(&db.store, actor.workspace, id).await?;
    let mut change = db.begin(actor).await?;
    let (by, now) = (&actor.name, db.now());
    let key = history_requests::decide(&mut change.tx, actor.workspace, id, approve, by, now).await?;
    let key = key.ok_or(Error::Conflict("the request is already decided"))?;
    let event = if approve { AuditEvent::HistoryRequestApproved } else { AuditEvent::HistoryRequestRefused };
    change.commit(event, json!({ "request": id, "api_key": key })).await?;
    find(&db.store, actor.workspace, id).await
}

/// Requests are few: people make them.
async fn find(store: &Store, workspace: WorkspaceId, id: HistoryRequestId) -> Result<HistoryRequestRow> {
    let all = list(store, workspace, None).await?;
    all.into_iter().find(|row| row.id == id).ok_or(Error::not_found("history request"))
}

fn check_use_case(text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::field("use_case", "describe why history is needed"));
    }
    if text.len() > MAX_USE_CASE {
        return Err(Error::field("use_case", format!("must have at most {MAX_USE_CASE} bytes")));
    }
    if text.contains('\0') {
        return Err(Error::field("use_case", "must not contain the NUL character"));
    }
    Ok(())
}
