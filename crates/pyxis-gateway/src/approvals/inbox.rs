//! Pages of the inbox. The number of statements for a page does not depend on its length.

use std::collections::HashMap;

use pyxis_core::id::{CredentialId, TxnId, WorkspaceId};
use pyxis_store::{Store, approvals};

pub use pyxis_store::approvals::{MethodRisk, PendingAsker};

use super::view::{ApprovalView, Filter, list_redacted, open_request, wanted};
use super::{edit_record, expire};
use crate::error::Result;
use crate::runtime::state::State;

/// Most pairs of agent and credential that a filter offers.
const ASKERS: u32 = 500;
/// Most pending requests whose ids are listed.
const LISTED: u32 = 10_000;

/// A page of transactions, with the requests of those whose bodies have at most `largest` bytes.
pub async fn page(
    state: &State,
    workspace: WorkspaceId,
    filter: &Filter,
    largest: i64,
) -> Result<Vec<ApprovalView>> {
    let (mut views, redactor) = list_redacted(state, workspace, filter).await?;
    let small = views.iter().filter(|view| view.row.body_bytes <= largest);
    let ids: Vec<TxnId> = small.map(|view| view.row.txn_id).collect();
    let stored = approvals::requests(&state.store, workspace, &ids).await?;
    let mut stored: HashMap<_, _> = stored.into_iter().collect();
    for view in &mut views {
        let Some(sealed) = stored.remove(&view.row.txn_id) else { continue };
        let request = open_request(&state.keyring, &view.row, &sealed)?;
        // One more statement for each edited request.
        let asked = edit_record::original_request(&state.store, &state.keyring, &view.row).await?;
        view.show_request(&redactor, request, asked.as_ref());
    }
    Ok(views)
}

/// Number of transactions after the filter's page; of all that match, if there is none.
pub async fn count(store: &Store, workspace: WorkspaceId, filter: &Filter) -> Result<u64> {
    let count = approvals::count(store, workspace, &wanted(filter), filter.among.as_deref()).await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Ids of the transactions in the order of the filter, regardless of its limit.
pub async fn list_ids(state: &State, workspace: WorkspaceId, filter: &Filter) -> Result<Vec<TxnId>> {
    expire::expire_due(state).await?;
    let wanted = approvals::ApprovalFilter { limit: LISTED, ..wanted(filter) };
    Ok(approvals::list_ids(&state.store, workspace, &wanted, filter.among.as_deref()).await?)
}

/// Agents and credentials of pending requests.
pub async fn askers(
    store: &Store,
    workspace: WorkspaceId,
    among: Option<&[CredentialId]>,
) -> Result<Vec<PendingAsker>> {
    Ok(approvals::pending_askers(store, workspace, among, ASKERS).await?)
}
