//! Shared connections for point reads.
//!
//! A caller sends its statement without waiting for earlier responses, so a handful of connections serve many callers
//! at once. Statements that are slow, lock rows or belong to a transaction use an exclusive connection, because here
//! they would delay everything behind them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::loan;
use crate::StoreError;
use crate::error::Busy;

/// Number of connections, enough to keep a server with a few cores busy.
pub(super) const LANES: usize = 4;

/// A fixed number of connections, opened when first needed and reopened after failures.
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
    /// Held while connecting, so that only one caller does it.
    dialling: tokio::sync::Mutex<()>,
}

impl PipelinedPool {
    /// `pool` is used only for these connections.
    pub(super) fn new(pool: Pool, tls: MakeRustlsConnect, patience: Duration) -> Self {
        Self { pool, tls, lanes: Default::default(), patience, next: AtomicUsize::new(0) }
    }

    /// Reads on the next connection in turn. The read times out even if an earlier read on the connection waits for a
    /// lock.
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
        // The pool must not reuse the broken connection.
        lane.set(None);
        let client = Arc::new(super::client(&self.pool).await?);
        lane.set(Some(Arc::clone(&client)));
        Ok(client)
    }
}

/// One read on a shared connection. If dropped before [`Turn::end`], it cancels the statement on the server, so that a
/// read waiting for a lock does not delay those behind it.
struct Turn<'a> {
    /// `None` once the response has arrived.
    client: Option<Arc<Object>>,
    tls: &'a MakeRustlsConnect,
}

impl Turn<'_> {
    fn client(&self) -> Result<&Object, StoreError> {
        self.client.as_deref().ok_or(StoreError::Aborted)
    }

    /// Marks the response as received.
    fn end(mut self) {
        drop(self.client.take());
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        let tls = self.tls.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Most reads are answered before a cancellation is due. A late cancellation may hit the next read, whose
            // caller is told to try again.
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
