//! Work that dead nodes left unfinished: approved requests, idempotency keys and requests that passed without asking.

use pyxis_core::actor::ActorId;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{NodeId, TxnId, WorkspaceId};
use pyxis_store::{StoreEvent, Tx, approvals, audit, idempotency, nodes};

use crate::credentials::records;
use crate::error::Result;
use crate::notifications::announce;
use crate::runtime::state::State;

/// Requests settled in one transaction.
const BATCH: u32 = 500;

/// Records that this node is alive, and up to which record its requests have an outcome.
pub(crate) async fn heartbeat(state: &State) -> Result<()> {
    nodes::heartbeat(&state.store, state.node, state.now()).await?;
    let settled = state.in_flight.advance(audit::head_seq(&state.store).await?);
    // The outcomes were handed over; they must be stored before the next node relies on it.
    state.audit.flush().await?;
    nodes::note_settled(&state.store, state.node, settled).await?;
    Ok(())
}

/// Settles what dead nodes left. A node is dead if its last heartbeat is before `dead_before`; `None` means every node
/// except this one.
pub(crate) async fn settle(state: &State, dead_before: Option<UnixMillis>) -> Result<()> {
    let mut tx = state.store.begin().await?;
    let lost = approvals::abandon_dead_nodes(&mut tx, state.node, dead_before, state.now()).await?;
    for &(workspace, txn) in &lost {
        record_lost(state, &mut tx, workspace, txn).await?;
    }
    idempotency::abandon(&mut tx, state.node, dead_before).await?;
    tx.commit().await?;
    state.metrics().outcome_unknown.increment(lost.len() as u64);
    for node in nodes::list_dead(&state.store, state.node, dead_before).await? {
        settle_sent(state, node, dead_before).await?;
    }
    Ok(())
}

/// Gives an outcome to requests that a dead node sent without asking a person. Only one node does it.
async fn settle_sent(state: &State, node: NodeId, dead_before: Option<UnixMillis>) -> Result<()> {
    let mut tx = state.store.begin().await?;
    let Some(mut after) = nodes::take_dead(&mut tx, node, dead_before).await? else {
        return Ok(tx.commit().await?);
    };
    let of_node = (!state.config.sole_node).then_some(node);
    let mut count: u64 = 0;
    loop {
        let sent = audit::sent_without_outcome(&mut tx, after, of_node, BATCH).await?;
        let Some(last) = sent.last() else { break };
        after = last.seq;
        count += sent.len() as u64;
        let outcomes: Vec<_> = sent.iter().map(|one| records::lost(state.now(), one)).collect();
        audit::append_in(&mut tx, &state.audit_keys, &outcomes).await?;
    }
    tx.commit().await?;
    if count > 0 {
        tracing::warn!(%node, count, "a node died while it sent requests; their outcome is unknown");
        state.metrics().outcome_unknown.increment(count);
    }
    Ok(())
}

/// Records that an approved transaction's outcome is unknown, and announces it.
pub(crate) async fn record_lost(
    state: &State,
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<()> {
    if let Some(row) = approvals::find(&mut *tx, workspace, txn).await? {
        announce::sent(state, tx, &row, None).await?;
    }
    let mut record = audit::AuditRecord::new(state.now(), AuditEvent::ApprovalOutcomeLost);
    record.workspace_id = Some(workspace);
    record.actor = ActorId::System;
    record.txn_id = Some(txn);
    audit::append_in(tx, &state.audit_keys, &[record]).await?;
    tx.notify(StoreEvent::Approval { workspace, txn });
    Ok(())
}
