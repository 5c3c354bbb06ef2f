//! Webhooks. Events are stored in an outbox in the transaction of their change, and sent to each endpoint through a
//! separate queue.

mod attempt;
pub(crate) mod endpoint_queues;
pub(crate) mod signed_event;

use pyxis_core::webhook::WebhookEvent;

use crate::error::{Error, Result};

pub use endpoint_queues::deliver_due;

/// Parses the stored events of an endpoint.
pub(crate) fn read_events(json: &str) -> Result<Vec<WebhookEvent>> {
    serde_json::from_str(json).map_err(|error| Error::Internal(Box::new(error)))
}
