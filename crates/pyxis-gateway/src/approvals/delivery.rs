//! Delivery of outcomes to agents behind another entry point, who may have stopped waiting before a person decided.
//!
//! The same request again joins a pending approval, as everywhere. After the decision it receives the outcome that was
//! missed, once; the request after that is a new one.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, TxnId, WorkspaceId};
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::{Store, undelivered};

use super::agent_response::answer_entry_point;
use super::decide::is_settled;
use super::pause;
use super::wait_for_decision::wait_until_settled;
use crate::credentials::requests::authorize::Matched;
use crate::credentials::requests::body;
use crate::credentials::requests::entry_point::EntryPoint;
use crate::credentials::requests::idempotency::Claimed;
use crate::credentials::requests::presence::WaitLimit;
use crate::credentials::requests::tool_key::ToolKey;
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedAgent;
use crate::runtime::state::State;

/// Asks a person about a request through an entry point, and waits for as long as that one does.
pub(crate) async fn request_approval(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    body: Bytes,
    entry_point: &EntryPoint,
    claim: Option<&Claimed>,
) -> Result<Response> {
    let limit = WaitLimit::new(entry_point.wait, &asked.head.extensions);
    let tool_key = ToolKey::from_request(state, asked);
    // Each key under which the request came leads to the one transaction.
    let link = async |row: &ApprovalRow| match &tool_key {
        Some(key) => key.link(&body, row.txn_id).await,
        None => Ok(()),
    };
    if let Some(row) = missed(state, asked, &body, &limit).await? {
        pause::join(&state.store, claim, &row).await?;
        link(&row).await?;
        return answer_entry_point(state, row).await;
    }
    let paused = pause::pause(state, asked, matched, body.clone(), claim).await?;
    link(&paused).await?;
    let limit = WaitLimit { time: entry_point.wait(asked.control.wait), ..limit };
    respond_when_settled(state, asked.agent, paused, &limit).await
}

/// Answers a request that a tool repeats with the key of an earlier one that asked a person. It is not sent again, even
/// if a grant covers it by now. `None` for any other request. `body` is read only if the key was used.
pub(crate) async fn respond_to_tool(
    state: &State,
    asked: &ValidatedRequest<'_>,
    body: &mut Option<Body>,
) -> Result<Option<Response>> {
    let entry_point = EntryPoint::from_request(asked.head);
    let Some((entry_point, key)) = entry_point.zip(ToolKey::from_request(state, asked)) else {
        return Ok(None);
    };
    let Some(used) = key.used().await? else { return Ok(None) };
    let read = body::read(&state.config, &state.held_bodies, body.take().unwrap_or_default()).await?;
    let row = key.transaction(&used, &read).await?;
    *body = Some(read.into());
    let Some(row) = row else { return Ok(None) };
    let limit = WaitLimit::new(entry_point.wait, &asked.head.extensions);
    respond_when_settled(state, asked.agent, row, &limit).await.map(Some)
}

/// The decided request that is identical to this one and whose outcome is still to be delivered. It is taken if it is
/// settled in time; otherwise it is being sent, and the next call may take it.
async fn missed(
    state: &State,
    asked: &ValidatedRequest<'_>,
    body: &Bytes,
    limit: &WaitLimit,
) -> Result<Option<ApprovalRow>> {
    let workspace = asked.agent.workspace_id();
    let digest = pause::dedupe(asked, &asked.target.to_string(), body);
    let since = state.now().minus(state.config.retention);
    while let Some(txn) = undelivered::find(&state.store, workspace, &digest, since).await? {
        let found = approvals::find_for_agent(&state.store, workspace, asked.agent.id(), txn).await?;
        let Some(row) = found else { return Ok(None) };
        let row = wait_until_settled(state, asked.agent, row, limit).await?;
        let is_deliverable = is_settled(&row) && !limit.client.has_left();
        if !is_deliverable || undelivered::claim(&state.store, workspace, txn).await? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Answers a request whose `Idempotency-Key` leads to `txn`. Its agent thereby receives the outcome, if it still waits.
pub(crate) async fn respond_to_duplicate(
    state: &State,
    agent: &ResolvedAgent,
    txn: TxnId,
    limit: &WaitLimit,
) -> Result<Response> {
    let found = approvals::find_for_agent(&state.store, agent.workspace_id(), agent.id(), txn).await?;
    let row = found.ok_or(Error::not_found("transaction"))?;
    respond_when_settled(state, agent, row, limit).await
}

async fn respond_when_settled(
    state: &State,
    agent: &ResolvedAgent,
    row: ApprovalRow,
    limit: &WaitLimit,
) -> Result<Response> {
    let row = wait_until_settled(state, agent, row, limit).await?;
    if is_settled(&row) && !limit.client.has_left() {
        delivered(&state.store, row.workspace_id, row.txn_id).await?;
    }
    answer_entry_point(state, row).await
}

/// Takes the outcome of a settled transaction, because its agent receives it now.
pub async fn delivered(store: &Store, workspace: WorkspaceId, txn: TxnId) -> Result<()> {
    undelivered::claim(store, workspace, txn).await?;
    Ok(())
}

/// Times of a transaction, for protocols that tell a withdrawal from other ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionTimes {
    /// Time of the request.
    pub created_at: UnixMillis,
    /// Time of the decision, the expiry or the withdrawal. `None` while it is pending.
    pub ended_at: Option<UnixMillis>,
    /// True if its agent withdrew it.
    pub withdrawn: bool,
}

/// Times of a transaction. `None` for the transactions of other agents.
pub async fn transaction_times(
    store: &Store,
    workspace: WorkspaceId,
    agent: AgentId,
    txn: TxnId,
) -> Result<Option<TransactionTimes>> {
    let row = approvals::find_for_agent(store, workspace, agent, txn).await?;
    Ok(row.map(|row| TransactionTimes {
        created_at: row.created_at,
        ended_at: row.decided_at,
        withdrawn: row.withdrawn,
    }))
}
