//! Places for open WebSockets, and the signal that ends them.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// WebSockets of this process.
pub(crate) struct OpenSockets {
    places: Arc<Semaphore>,
    max: u32,
    stopping: watch::Sender<bool>,
}

impl OpenSockets {
    /// Room for `max` WebSockets.
    pub(crate) fn new(max: usize) -> Self {
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        Self { places: Arc::new(Semaphore::new(max as usize)), max, stopping: watch::Sender::new(false) }
    }

    /// Most open WebSockets.
    pub(crate) const fn max(&self) -> u32 {
        self.max
    }

    /// A place, if one is free.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Waits until every WebSocket must end.
    pub(crate) async fn stopping(&self) {
        drop(self.stopping.subscribe().wait_for(|stopping| *stopping).await);
    }

    /// Ends every WebSocket, and waits until the last one has ended. A new one ends at once.
    pub(crate) async fn stop(&self) {
        self.stopping.send_replace(true);
        // All places are free when the last one has ended.
        drop(self.places.acquire_many(self.max).await);
    }
}
