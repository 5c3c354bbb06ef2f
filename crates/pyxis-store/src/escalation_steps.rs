//! Escalation steps of pending requests. They are stored with the request, and each is deleted in the transaction that
//! performs it.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TxnId, WorkspaceId};

use crate::db::{Bind, Rows, row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// A step that was not performed yet.
    pub EscalationStepRow: "escalation_steps", escalation_step_columns {
        /// Transaction id of the approval.
        txn_id: TxnId,
        /// Minutes after the request, which identify the step in the policy.
        after_minutes: i64,
        /// Workspace of the approval.
        workspace_id: WorkspaceId,
        /// Number of the step, from 1.
        number: i64,
        /// Time from which it is due.
        due_at: UnixMillis,
    }
}

/// Adds steps.
pub async fn insert(tx: &mut Tx, new: &[EscalationStepRow]) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    let rows: Rows = new
        .iter()
        .map(|new| {
            vec![
                new.txn_id.bind(),
                new.after_minutes.bind(),
                new.workspace_id.bind(),
                new.number.bind(),
                new.due_at.bind(),
            ]
        })
        .collect();
    let text = "INSERT INTO escalation_steps (txn_id, after_minutes, workspace_id, number, due_at) \
                VALUES ($1, $2, $3, $4, $5)";
    tx.execute_each(text.into(), rows).await?;
    Ok(())
}

/// Due steps of all workspaces, earliest first.
pub async fn due(
    executor: impl Executor,
    now: UnixMillis,
    limit: u32,
) -> Result<Vec<EscalationStepRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        escalation_step_columns!(),
        " FROM escalation_steps WHERE due_at <= $1 ORDER BY due_at, txn_id"
    ));
    executor.all(query.bind(now).limit(limit)).await
}

/// Time when the next step of all workspaces is due, after now.
pub async fn next_due(executor: impl Executor, now: UnixMillis) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(due_at) FROM escalation_steps WHERE due_at > $1");
    Ok(executor.optional(query.bind(now)).await?.and_then(|(at,)| at))
}

/// Removes a step in order to perform it. Returns false if another node already did.
pub async fn take(tx: &mut Tx, step: &EscalationStepRow) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM escalation_steps WHERE txn_id = $1 AND after_minutes = $2");
    Ok(tx.execute(query.bind(step.txn_id).bind(step.after_minutes)).await? == 1)
}

/// Removes all steps of a request that was decided.
pub async fn cancel(tx: &mut Tx, txn: TxnId) -> Result<(), StoreError> {
    tx.execute(sql("DELETE FROM escalation_steps WHERE txn_id = $1").bind(txn)).await?;
    Ok(())
}

/// Remaining steps of a request, the next one first.
pub async fn list(executor: impl Executor, txn: TxnId) -> Result<Vec<EscalationStepRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        escalation_step_columns!(),
        " FROM escalation_steps WHERE txn_id = $1 ORDER BY due_at"
    ));
    executor.all(query.bind(txn)).await
}
