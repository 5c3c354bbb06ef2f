//! Webhook events, stored in the outbox once for each endpoint of the workspace that subscribed to them.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::webhook::{Payload, TaskEvent};
use pyxis_store::Tx;
use pyxis_store::outbox::{self, Message, Outbox};

use crate::error::Result;

/// Stores an event about a request.
pub(super) async fn emit(
    outbox: &Outbox,
    now: UnixMillis,
    tx: &mut Tx,
    workspace: WorkspaceId,
    payload: &Payload<'_>,
) -> Result<()> {
    let wanting = outbox::wanting(&mut *tx, workspace, payload.event()).await?;
    if wanting.is_empty() {
        return Ok(());
    }
    let body = payload.to_json();
    let message = Message { event: payload.event(), txn: Some(payload.txn()), body: &body };
    Ok(outbox.write(tx, workspace, &wanting, message, now).await?)
}

/// Stores an event about a task.
pub(super) async fn emit_task(
    outbox: &Outbox,
    now: UnixMillis,
    tx: &mut Tx,
    workspace: WorkspaceId,
    event: &TaskEvent<'_>,
) -> Result<()> {
    let wanting = outbox::wanting(&mut *tx, workspace, event.event()).await?;
    if wanting.is_empty() {
        return Ok(());
    }
    let body = event.to_json();
    let message = Message { event: event.event(), txn: None, body: &body };
    Ok(outbox.write(tx, workspace, &wanting, message, now).await?)
}
