//! Waits of agents for a decision about a transaction, or for its outcome.

use std::time::Duration;

use pyxis_core::approval_mode::ApprovalState;
use pyxis_store::approvals::{self, ApprovalRow};
use tokio::time::Instant;

use super::decide::is_settled;
use super::expire;
use crate::credentials::requests::presence::WaitLimit;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedAgent;
use crate::runtime::state::State;

/// Waits until a transaction is settled, up to a limit.
pub(super) async fn wait_until_settled(
    state: &State,
    agent: &ResolvedAgent,
    row: ApprovalRow,
    limit: &WaitLimit,
) -> Result<ApprovalRow> {
    wait_until(state, agent, row, limit, is_settled).await
}

/// Waits until a person has decided about a transaction, at most `wait`.
pub(crate) async fn wait_until_decided(
    state: &State,
    agent: &ResolvedAgent,
    row: ApprovalRow,
    wait: Duration,
) -> Result<ApprovalRow> {
    wait_until(state, agent, row, &wait.into(), |row| row.state != ApprovalState::Pending).await
}

/// Waits for a state of a transaction, up to a limit. Costs one map entry and no polling.
async fn wait_until(
    state: &State,
    agent: &ResolvedAgent,
    mut row: ApprovalRow,
    limit: &WaitLimit,
    is_over: fn(&ApprovalRow) -> bool,
) -> Result<ApprovalRow> {
    let deadline = Instant::now() + limit.time;
    let waiter = state.waiters.join(row.txn_id);
    loop {
        let mut changed = std::pin::pin!(waiter.changed());
        changed.as_mut().enable();
        let found =
            approvals::find_for_agent(&state.store, agent.workspace_id(), agent.id(), row.txn_id).await?;
        row = expire::expire_if_due(state, found.ok_or(Error::not_found("transaction"))?).await?;
        if is_over(&row) || Instant::now() >= deadline || state.waiters.is_stopped() {
            return Ok(row);
        }
        let window_ends = Instant::now() + row.expires_at.since(state.now()) + Duration::from_millis(1);
        let until = if row.state == ApprovalState::Pending { window_ends.min(deadline) } else { deadline };
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(until) => {}
            () = limit.client.left() => return Ok(row),
        }
    }
}
