//! Shared connections for point reads.
//!
//! A caller sends its statement without waiting for earlier responses, so a handful of connections serve many callers
//! at once. Statements that are slow, lock rows or belong to a transaction use an exclusive connection, because here
//! they would delay everything behind them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use deadpool_postgres::{Object, Pool};
use tokio::time::timeout;

use super::loan::{self, Closing};
use super::server::Server;
use crate::StoreError;
use crate::error::Busy;

/// Number of connections, enough to keep a server with a few cores busy.
const CONNECTIONS: usize = 4;
/// Connections with those that are given up and not closed yet.
pub(super) const WITH_REPLACED: usize = 2 * CONNECTIONS;

/// A fixed number of connections, opened when first needed and reopened after failures.
pub(super) struct PipelinedPool {
    pool: Pool,
    server: Arc<Server>,
    connections: [PipelinedConnection; CONNECTIONS],
    next: AtomicUsize,
}

#[derive(Default)]
struct PipelinedConnection {
    client: Mutex<Option<Arc<Object>>>,
    /// Held while connecting, so that only one caller does it.
    dialing: tokio::sync::Mutex<()>,
}

impl PipelinedPool {
    /// `pool` is used only for these connections.
    pub(super) fn new(pool: Pool, server: Arc<Server>) -> Self {
        Self { pool, server, connections: Default::default(), next: AtomicUsize::new(0) }
    }

    /// Reads on the next connection in turn. The read times out even if an earlier read on the connection waits for a
    /// lock. Later reads then use another connection.
    pub(super) async fn read<T>(
        &self,
        read: impl AsyncFnOnce(&Object) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = &self.connections[self.next.fetch_add(1, Ordering::Relaxed) % CONNECTIONS];
        let mut used = None;
        let run = async {
            let client = self.client(connection).await?;
            used = Some(Arc::clone(&client));
            let turn = PipelinedRead { client: Some(client), server: &self.server };
            let outcome = read(turn.client()?).await;
            turn.end();
            outcome
        };
        let Ok(outcome) = timeout(self.server.limits.patience, run).await else {
            connection.leave(used.as_ref());
            return Err(StoreError::unavailable(Busy));
        };
        outcome
    }

    async fn client(&self, connection: &PipelinedConnection) -> Result<Arc<Object>, StoreError> {
        if let Some(client) = connection.live(&self.server) {
            return Ok(client);
        }
        let _dialing = connection.dialing.lock().await;
        if let Some(client) = connection.live(&self.server) {
            return Ok(client);
        }
        // The pool must not reuse the broken connection.
        connection.set(None);
        let client = Arc::new(self.server.client(&self.pool).await?);
        connection.set(Some(Arc::clone(&client)));
        Ok(client)
    }
}

/// One read on a shared connection. If dropped before [`PipelinedRead::end`], it cancels the statement on the server,
/// so that a read waiting for a lock does not delay those behind it.
struct PipelinedRead<'a> {
    /// `None` once the response has arrived.
    client: Option<Arc<Object>>,
    server: &'a Arc<Server>,
}

impl PipelinedRead<'_> {
    fn client(&self) -> Result<&Object, StoreError> {
        self.client.as_deref().ok_or(StoreError::Aborted)
    }

    /// Marks the response as received.
    fn end(mut self) {
        drop(self.client.take());
    }
}

impl Drop for PipelinedRead<'_> {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        let server = Arc::clone(self.server);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Most reads are answered before a cancellation is due. A late cancellation may hit the next read, whose
            // caller is told to try again.
            runtime.spawn(async move { loan::end(&client, &server, Closing::Read).await });
        }
    }
}

impl PipelinedConnection {
    fn live(&self, server: &Server) -> Option<Arc<Object>> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let is_usable = |client: &&Arc<Object>| !client.is_closed() && !server.suspects_client(client);
        client.as_ref().filter(is_usable).map(Arc::clone)
    }

    /// Leaves the connection to those who still wait for it.
    fn leave(&self, left: Option<&Arc<Object>>) {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if client.as_ref().zip(left).is_some_and(|(client, left)| Arc::ptr_eq(client, left)) {
            *client = None;
        }
    }

    fn set(&self, client: Option<Arc<Object>>) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }
}
