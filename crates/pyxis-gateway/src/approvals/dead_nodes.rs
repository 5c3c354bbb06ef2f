//! Work that dead nodes left unfinished: approved requests, idempotency keys and requests that passed without asking.

use pyxis_core::actor::ActorId;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{NodeId, TxnId, WorkspaceId};
use pyxis_store::{StoreError, StoreEvent, Tx, approvals, audit, idempotency, nodes};

use crate::approvals::announce;
use crate::credentials::records;
use crate::error::Result;
use crate::runtime::state::State;

/// Audit records that are searched in one transaction, so that each statement is short however many there are.
const WINDOW: i64 = 5_000;
/// Windows that are searched before other work has its turn, where other nodes may be running.
const WINDOWS: usize = 20;

/// Records that this node is alive, and up to which record its requests have an outcome.
pub(crate) async fn heartbeat(state: &State) -> Result<()> {
    let alive = nodes::heartbeat(&state.store, state.node, state.now()).await;
    if let Err(error @ StoreError::Schema(_)) = &alive {
        // The loop's own line would only say that the database is not available.
        tracing::error!(%error, "this program may no longer use the database");
    }
    alive?;
    let settled = state.in_flight.advance(audit::head_seq(&state.store).await?);
    // The outcomes were handed over; they must be stored before the next node relies on it.
    state.audit.flush().await?;
    nodes::note_settled(&state.store, state.node, settled).await?;
    Ok(())
}

/// Settles what dead nodes left. A node is dead if its last heartbeat is before `dead_before`; `None` means every node
/// except this one.
pub(crate) async fn settle_requests(state: &State, dead_before: Option<UnixMillis>) -> Result<()> {
    let mut tx = state.store.begin().await?;
    let lost = approvals::abandon_dead_nodes(&mut tx, state.node, dead_before, state.now()).await?;
    for &(workspace, txn) in &lost {
        record_lost(state, &mut tx, workspace, txn).await?;
    }
    idempotency::abandon(&mut tx, state.node, dead_before).await?;
    tx.commit().await?;
    state.metrics().outcome_unknown.increment(lost.len() as u64);
    for (node, settled) in nodes::list_dead(&state.store, state.node, dead_before).await? {
        let dead = DeadNode { node, dead_before };
        let Some(settled) = settled else {
            nodes::remove_dead(&state.store, node, dead_before).await?;
            continue;
        };
        if state.config.sole_node {
            // Records name no node here. Those of this process must not be taken for the dead one's.
            dead.settle_sent(state, settled, usize::MAX).await?;
        } else if let Err(error) = dead.settle_sent(state, settled, WINDOWS).await {
            tracing::warn!(%node, %error, "cannot settle what a dead node sent; will retry");
        }
    }
    Ok(())
}

/// A node without a heartbeat since `dead_before`; `None` if it need not have missed any.
struct DeadNode {
    node: NodeId,
    dead_before: Option<UnixMillis>,
}

impl DeadNode {
    /// Gives an outcome to requests that the node sent without asking a person, as far as `windows` go. Only one node
    /// does it; the rest follows with the next heartbeats.
    async fn settle_sent(&self, state: &State, settled: i64, windows: usize) -> Result<()> {
        let newest = audit::head_seq(&state.store).await?;
        let mut after = settled;
        for _ in 0..windows {
            if after >= newest {
                nodes::remove_dead(&state.store, self.node, self.dead_before).await?;
                return Ok(());
            }
            let through = after.saturating_add(WINDOW).min(newest);
            if !self.settle_window(state, after, through).await? {
                return Ok(());
            }
            after = through;
        }
        Ok(())
    }

    /// Settles the records `after < seq <= through`. False if another node does, or this one is not dead after all.
    async fn settle_window(&self, state: &State, after: i64, through: i64) -> Result<bool> {
        let mut tx = state.store.begin().await?;
        if !nodes::advance_dead(&mut tx, self.node, self.dead_before, (after, through)).await? {
            return Ok(false);
        }
        let of_node = (!state.config.sole_node).then_some(self.node);
        let sent = audit::sent_without_outcome(&mut tx, after, through, of_node).await?;
        let outcomes: Vec<_> = sent.iter().map(|one| records::outcome_unknown(state.now(), one)).collect();
        audit::append_in(&mut tx, &state.audit_keys, &outcomes).await?;
        tx.commit().await?;
        if !sent.is_empty() {
            let count = sent.len();
            tracing::warn!(node = %self.node, count, "a node died while it sent requests; their outcome is unknown");
            state.metrics().outcome_unknown.increment(count as u64);
        }
        Ok(true)
    }
}

/// Records that an approved transaction's outcome is unknown, and announces it.
pub(crate) async fn record_lost(
    state: &State,
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<()> {
    if let Some(row) = approvals::find(&mut *tx, workspace, txn).await? {
        announce::sent(&state.outbox, state.now(), tx, &row, None).await?;
    }
    let mut record = audit::AuditRecord::new(state.now(), AuditEvent::ApprovalOutcomeLost);
    record.workspace_id = Some(workspace);
    record.actor = ActorId::System;
    record.txn_id = Some(txn);
    audit::append_in(tx, &state.audit_keys, &[record]).await?;
    tx.notify(StoreEvent::Approval { workspace, txn });
    Ok(())
}
