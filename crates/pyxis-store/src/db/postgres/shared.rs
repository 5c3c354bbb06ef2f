//! Connections that point reads share.
//!
//! A caller sends its statement without waiting for the answers to those before it, so a handful of
//! connections serve many callers at once. Whatever takes long, locks or belongs to a transaction has a
//! connection of its own instead: here it would hold up everything behind it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::loan;
use crate::StoreError;
use crate::error::Busy;

/// Enough to keep a server of a few cores busy.
pub(super) const LANES: usize = 4;

/// A fixed number of connections, dialled when first needed and again when they broke.
pub(super) struct PipelinedPool {
    pool: Pool,
    tls: MakeRustlsConnect,
    lanes: [PipelinedConnection; LANES],
    patience: Duration,
    next: AtomicUsize,
}

#[derive(Default)]
struct PipelinedConnection {
    client: Mutex<Option<Arc<Object>>>,
    /// Held while dialling, so that only one caller does.
    dialling: tokio::sync::Mutex<()>,
}

impl PipelinedPool {
    /// `pool` is for these connections alone.
    pub(super) fn new(pool: Pool, tls: MakeRustlsConnect, patience: Duration) -> Self {
        Self { pool, tls, lanes: Default::default(), patience, next: AtomicUsize::new(0) }
    }

    /// Reads on the connection whose turn it is. It is given up in time, also where reads before it on that connection
    /// wait for a lock.
    pub(super) async fn read<T>(
        &self,
        read: impl AsyncFnOnce(&Object) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let run = async {
            let turn = Turn { client: Some(self.client().await?), tls: &self.tls };
            let outcome = read(turn.client()?).await;
            turn.end();
            outcome
        };
        tokio::time::timeout(self.patience, run).await.unwrap_or_else(|_| Err(StoreError::unavailable(Busy)))
    }

    async fn client(&self) -> Result<Arc<Object>, StoreError> {
        let lane = &self.lanes[self.next.fetch_add(1, Ordering::Relaxed) % LANES];
        if let Some(client) = lane.live() {
            return Ok(client);
        }
        let _dialling = lane.dialling.lock().await;
        if let Some(client) = lane.live() {
            return Ok(client);
        }
        // The pool must not hand the broken one out again.
        lane.set(None);
        let client = Arc::new(super::client(&self.pool).await?);
        lane.set(Some(Arc::clone(&client)));
        Ok(client)
    }
}

/// One read on a shared connection. Dropped before [`Turn::end`], it ends what the server still does for it,
/// so that a read that waits for a lock does not hold up those behind it.
struct Turn<'a> {
    /// `None` once the answer is there.
    client: Option<Arc<Object>>,
    tls: &'a MakeRustlsConnect,
}

impl Turn<'_> {
    fn client(&self) -> Result<&Object, StoreError> {
        self.client.as_deref().ok_or(StoreError::Aborted)
    }

    /// The answer is there.
    fn end(mut self) {
        drop(self.client.take());
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        let tls = self.tls.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Most are answered before a cancellation is due. One that comes late may hit the read behind,
            // whose caller is told to try again.
            runtime.spawn(async move { loan::end(&client, tls, "").await });
        }
    }
}

impl PipelinedConnection {
    fn live(&self) -> Option<Arc<Object>> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.as_ref().filter(|client| !client.is_closed()).map(Arc::clone)
    }

    fn set(&self, client: Option<Arc<Object>>) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }
}
