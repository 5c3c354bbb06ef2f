//! `Idempotency-Key` of a tool behind `pyxis run`, which is meant for the target.
//!
//! Pyxis stores no response for it, so a repeated request reaches the target again. But a transaction stays linked to
//! the keys under which its request came. What a person approved is sent once, even if its outcome was lost on the way.

use pyxis_core::id::TxnId;
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::idempotency::{self, IdempotencyRow, NewKey};

use super::idempotency::{REMEMBERED, fingerprint, hash};
use super::validated_request::ValidatedRequest;
use crate::error::Result;
use crate::runtime::state::State;

/// Separates these keys from those that the agent itself sends to `/forward`.
const NAMESPACE: &[u8] = b"tool";

/// The key of one request.
pub(crate) struct ToolKey<'a> {
    state: &'a State,
    asked: &'a ValidatedRequest<'a>,
    key_hash: String,
}

impl<'a> ToolKey<'a> {
    /// The key with which a tool sent `asked`, if any.
    pub(crate) fn from_request(state: &'a State, asked: &'a ValidatedRequest<'a>) -> Option<Self> {
        let key = asked.control.tool_key?;
        Some(Self { state, asked, key_hash: hash(&[NAMESPACE, key.as_bytes()]) })
    }

    /// The use of the key by a request that became a transaction, if it is still remembered.
    pub(crate) async fn used(&self) -> Result<Option<IdempotencyRow>> {
        let (workspace, agent) = (self.asked.agent.workspace_id(), self.asked.agent.id());
        let used = idempotency::find(&self.state.store, workspace, agent, &self.key_hash).await?;
        Ok(used.filter(|used| used.expires_at > self.state.now()))
    }

    /// The transaction of a use, if its request was the same. A different request with this key is a new one; the target
    /// decides whether it accepts that.
    pub(crate) async fn transaction(
        &self,
        used: &IdempotencyRow,
        body: &[u8],
    ) -> Result<Option<ApprovalRow>> {
        let Some(txn) = used.txn_id.filter(|_| used.fingerprint == fingerprint(self.asked.control, body))
        else {
            return Ok(None);
        };
        let (workspace, agent) = (self.asked.agent.workspace_id(), self.asked.agent.id());
        Ok(approvals::find_for_agent(&self.state.store, workspace, agent, txn).await?)
    }

    /// Links the key to `txn`, instead of to an earlier transaction.
    pub(crate) async fn link(&self, body: &[u8], txn: TxnId) -> Result<()> {
        let now = self.state.now();
        let new = NewKey {
            agent_id: self.asked.agent.id(),
            key_hash: self.key_hash.clone(),
            workspace_id: self.asked.agent.workspace_id(),
            fingerprint: fingerprint(self.asked.control, body),
            node_id: self.state.node,
            created_at: now,
            expires_at: now.plus(REMEMBERED),
        };
        Ok(idempotency::link_txn(&self.state.store, &new, txn).await?)
    }
}
