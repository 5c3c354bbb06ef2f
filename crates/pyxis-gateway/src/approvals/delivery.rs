//! Delivery of outcomes to agents behind a door, who may have stopped waiting before a person decided.
//!
//! The same request again joins a pending approval, as everywhere. After the decision it receives the outcome that was
//! missed, once; the request after that is a new one.

use std::time::Duration;

use bytes::Bytes;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::{Store, undelivered};

use super::agent_response::wait_until_settled;
use super::decide::is_settled;
use super::pause;
use crate::error::Result;
use crate::requests::door::Door;
use crate::requests::validated_request::ValidatedRequest;
use crate::runtime::state::State;

/// The decided request that is identical to this one and whose outcome is still to be delivered. It is taken if it is
/// settled within `wait`; otherwise it is being sent, and the next call may take it.
pub(crate) async fn missed(
    state: &State,
    asked: &ValidatedRequest<'_>,
    body: &Bytes,
    wait: Option<Duration>,
) -> Result<Option<ApprovalRow>> {
    if Door::of(asked.head).is_none() {
        return Ok(None);
    }
    let workspace = asked.agent.workspace_id();
    let digest = pause::dedupe(asked, &asked.target.to_string(), body);
    let since = state.now().minus(state.config.retention);
    while let Some(txn) = undelivered::find(&state.store, workspace, &digest, since).await? {
        let found = approvals::find_for_agent(&state.store, workspace, asked.agent.id(), txn).await?;
        let Some(row) = found else { return Ok(None) };
        let row = wait_until_settled(state, asked.agent, row, wait.unwrap_or_default()).await?;
        if !is_settled(&row) || undelivered::take(&state.store, workspace, txn).await? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Takes the outcome of a settled transaction, because its agent receives it now.
pub async fn delivered(store: &Store, workspace: WorkspaceId, txn: TxnId) -> Result<()> {
    undelivered::take(store, workspace, txn).await?;
    Ok(())
}
