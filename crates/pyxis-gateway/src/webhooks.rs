//! Webhooks: events go into an outbox in the transaction of the change they tell of, and from there to
//! the endpoints, each on a lane of its own.

mod attempt;
pub(crate) mod lanes;

use pyxis_core::id::{DeliveryId, WebhookId, WorkspaceId};
use pyxis_core::webhook::{Payload, WebhookEvent};
use pyxis_store::deliveries::{self, NewDelivery};
use pyxis_store::{Tx, webhooks};

use crate::error::{Error, Result};
use crate::state::State;

pub use lanes::deliver_due;

/// Writes the event into the outbox, once for each endpoint of the workspace that wants it.
pub(crate) async fn emit(
    state: &State,
    tx: &mut Tx,
    workspace: WorkspaceId,
    payload: &Payload<'_>,
) -> Result<()> {
    let listening = webhooks::listening(&mut *tx, workspace).await?;
    let mut wanting = Vec::with_capacity(listening.len());
    for (webhook, events) in listening {
        if payload.event().wanted_by(&read_events(&events)?) {
            wanting.push(webhook);
        }
    }
    if wanting.is_empty() {
        return Ok(());
    }
    let body = payload.to_json();
    let new: Vec<NewDelivery> =
        wanting.into_iter().map(|webhook| delivery(state, workspace, webhook, payload, &body)).collect();
    Ok(deliveries::insert(tx, &new).await?)
}

fn delivery(
    state: &State,
    workspace: WorkspaceId,
    webhook: WebhookId,
    payload: &Payload<'_>,
    body: &[u8],
) -> NewDelivery {
    let now = state.now();
    let id = DeliveryId::new(now, &*state.entropy);
    let aad = deliveries::body_aad(workspace, id);
    NewDelivery {
        id,
        workspace_id: workspace,
        webhook_id: webhook,
        event: payload.event(),
        txn_id: Some(payload.txn()),
        sealed_body: state.keyring.seal(&*state.entropy, &aad, body),
        created_at: now,
    }
}

/// The events of an endpoint, as they are stored.
pub(crate) fn read_events(json: &str) -> Result<Vec<WebhookEvent>> {
    serde_json::from_str(json).map_err(|error| Error::Internal(Box::new(error)))
}
