//! Writes webhook messages in the transaction of the change that they announce, one for each subscribed endpoint.
//! Deliveries are sent from there.

use std::sync::Arc;

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::Entropy;
use pyxis_core::id::{DeliveryId, TxnId, WebhookId, WorkspaceId};
use pyxis_core::webhook::WebhookEvent;

use crate::cipher::Keyring;
use crate::deliveries::{self, NewDelivery};
use crate::{Executor, StoreError, Tx, webhooks};

/// Seals message bodies.
#[derive(Clone)]
pub struct Outbox {
    keyring: Keyring,
    entropy: Arc<dyn Entropy>,
}

/// An event with its content.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Name of the event.
    pub event: WebhookEvent,
    /// Transaction that the event is about, if any.
    pub txn: Option<TxnId>,
    /// JSON body. Every attempt and every resend sends exactly these bytes.
    pub body: &'a [u8],
}

impl Outbox {
    /// An outbox whose bodies are sealed with `keyring`.
    pub fn new(keyring: Keyring, entropy: Arc<dyn Entropy>) -> Self {
        Self { keyring, entropy }
    }

    /// Keys that seal the bodies.
    pub const fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// Writes a message for each of `endpoints`, due immediately.
    pub async fn write(
        &self,
        tx: &mut Tx,
        workspace: WorkspaceId,
        endpoints: &[WebhookId],
        message: Message<'_>,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        if endpoints.is_empty() {
            return Ok(());
        }
        let new: Vec<NewDelivery> = endpoints
            .iter()
            .map(|webhook| {
                let id = DeliveryId::new(now, &*self.entropy);
                let aad = deliveries::body_aad(workspace, id);
                NewDelivery {
                    id,
                    workspace_id: workspace,
                    webhook_id: *webhook,
                    event: message.event,
                    txn_id: message.txn,
                    sealed_body: self.keyring.seal(&*self.entropy, &aad, message.body),
                    created_at: now,
                }
            })
            .collect();
        deliveries::insert(tx, &new).await
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").finish_non_exhaustive()
    }
}

/// Endpoints of a workspace that are currently subscribed to an event.
pub async fn wanting(
    executor: impl Executor,
    workspace: WorkspaceId,
    event: WebhookEvent,
) -> Result<Vec<WebhookId>, StoreError> {
    let listening = webhooks::listening(executor, workspace).await?;
    let mut wanting = Vec::with_capacity(listening.len());
    for (webhook, events) in listening {
        let chosen: Vec<WebhookEvent> = serde_json::from_str(&events).map_err(|_| StoreError::Corrupt {
            table: "webhooks",
            column: "events",
            row: webhook.to_string(),
        })?;
        if event.wanted_by(&chosen) {
            wanting.push(webhook);
        }
    }
    Ok(wanting)
}
