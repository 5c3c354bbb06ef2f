//! The end of the approval window.

use pyxis_core::actor::ActorId;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_core::metric;
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::audit::{self, AuditRecord};
use pyxis_store::{StoreEvent, Tx};

use crate::approvals::announce;
use crate::error::Result;
use crate::runtime::state::State;

/// Transactions expired per round.
const BATCH: u32 = 500;

/// Expires all approvals whose window has ended. Returns their number.
pub(crate) async fn expire_due(state: &State) -> Result<usize> {
    let mut expired = 0;
    loop {
        let due = approvals::due(&state.store, state.now(), BATCH).await?;
        if due.is_empty() {
            return Ok(expired);
        }
        for (workspace, txn) in due {
            expire(state, workspace, txn).await?;
            expired += 1;
        }
    }
}

/// Returns the current row. A pending one past its window is expired first.
pub(crate) async fn expire_if_due(state: &State, row: ApprovalRow) -> Result<ApprovalRow> {
    if row.state != ApprovalState::Pending || row.expires_at > state.now() {
        return Ok(row);
    }
    expire(state, row.workspace_id, row.txn_id).await?;
    let again = approvals::find(&state.store, row.workspace_id, row.txn_id).await?;
    Ok(again.unwrap_or(row))
}

async fn expire(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<()> {
    let now = state.now();
    let mut tx = state.store.begin().await?;
    let expired = approvals::expire(&mut tx, workspace, txn, now).await?;
    if expired {
        record_end(state, &mut tx, workspace, txn, AuditEvent::ApprovalExpired, now).await?;
    }
    tx.commit().await?;
    if expired {
        metrics::counter!(metric::APPROVALS_EXPIRED.name).increment(1);
    }
    Ok(())
}

/// Records and announces the end of a transaction that no one decided.
pub(crate) async fn record_end(
    state: &State,
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
    event: AuditEvent,
    now: UnixMillis,
) -> Result<()> {
    let mut record = AuditRecord::new(now, event);
    record.workspace_id = Some(workspace);
    record.actor = ActorId::System;
    record.txn_id = Some(txn);
    if let Some(row) = approvals::find(&mut *tx, workspace, txn).await? {
        announce::expired(&state.outbox, state.now(), tx, &row).await?;
        record.credential = Some(row.credential_name);
        record.method = Some(row.method);
        record.host = Some(row.target_host);
        if event == AuditEvent::ApprovalWithdrawn {
            record.actor = ActorId::Agent(row.agent_id);
            record.actor_name = row.agent_name;
        }
    }
    audit::append_in(tx, &state.audit_keys, &[record]).await?;
    tx.notify(StoreEvent::Approval { workspace, txn });
    Ok(())
}
