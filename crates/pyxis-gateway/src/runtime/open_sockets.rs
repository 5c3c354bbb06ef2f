//! Places for open WebSockets, and the signal that ends them.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// WebSockets of this process.
pub(crate) struct OpenSockets {
    places: Arc<Semaphore>,
    max: usize,
    stopping: watch::Sender<bool>,
}

impl OpenSockets {
    /// Room for `max` WebSockets.
    pub(crate) fn new(max: usize) -> Self {
        let max = max.min(Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(max)), max, stopping: watch::Sender::new(false) }
    }

    /// Most open WebSockets.
    pub(crate) const fn max(&self) -> usize {
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

    /// Ends every WebSocket, and waits until the last one has ended. No new one is opened.
    pub(crate) async fn stop(&self) {
        self.stopping.send_replace(true);
        for _ in 0..self.max {
            match self.places.acquire().await {
                Ok(place) => place.forget(),
                Err(_) => return,
            }
        }
    }
}
