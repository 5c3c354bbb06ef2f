//! What endpoints are to hear, as whoever changes something writes it down: in the transaction of the
//! change that it tells of, once for each endpoint that wants it. The deliveries leave from there.

use std::sync::Arc;

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::Entropy;
use pyxis_core::id::{DeliveryId, TxnId, WebhookId, WorkspaceId};
use pyxis_core::webhook::WebhookEvent;

use crate::cipher::Keyring;
use crate::deliveries::{self, NewDelivery};
use crate::{Executor, StoreError, Tx, webhooks};

/// Seals what is to be sent.
#[derive(Clone)]
pub struct Outbox {
    keyring: Keyring,
    entropy: Arc<dyn Entropy>,
}

/// One event with what it tells.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its name.
    pub event: WebhookEvent,
    /// The transaction that it is about, if it is about one.
    pub txn: Option<TxnId>,
    /// The JSON body: every attempt and every resend sends these bytes.
    pub body: &'a [u8],
}

impl Outbox {
    /// An outbox whose bodies are sealed by `keyring`.
    pub fn new(keyring: Keyring, entropy: Arc<dyn Entropy>) -> Self {
        Self { keyring, entropy }
    }

    /// Writes a message for each of `endpoints`, due at once.
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

/// The endpoints of a workspace that want to hear of an event now.
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
