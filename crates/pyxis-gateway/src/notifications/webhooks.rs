//! Webhooks. Events are stored in an outbox in the transaction of their change, and sent to each endpoint through a
//! separate lane.

mod attempt;
pub(crate) mod endpoint_queues;
pub(crate) mod signed_event;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::webhook::{Payload, TaskEvent, WebhookEvent};
use pyxis_store::Tx;
use pyxis_store::outbox::{self, Message, Outbox};

use crate::error::{Error, Result};

pub use endpoint_queues::deliver_due;

/// Stores the event in the outbox, once for each subscribed endpoint of the workspace.
pub(crate) async fn emit(
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

/// The same for an event about a task.
pub(crate) async fn emit_task(
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

/// Parses the stored events of an endpoint.
pub(crate) fn read_events(json: &str) -> Result<Vec<WebhookEvent>> {
    serde_json::from_str(json).map_err(|error| Error::Internal(Box::new(error)))
}
