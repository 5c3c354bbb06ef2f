//! Waiting for the server's answers, and remembering when it gave none.
//!
//! A server that is frozen, or whose machine vanished, enforces no limit of its own. So every wait has a limit on
//! this side too. Whatever was connected before an answer failed to arrive is then not used again. Otherwise each
//! caller in turn would wait for the next dead connection.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use deadpool_postgres::{Object, PoolError, TimeoutType};
use tokio::time::{Instant, timeout};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connect::{OpenConnection, PostgresConnector};
use super::failure;
use super::limits::{Limits, is_long};
use crate::StoreError;
use crate::error::{Busy, NoAnswer};
use crate::store_metrics::METRICS;

/// The server, as this process sees it.
pub(crate) struct Server {
    pub(super) connector: PostgresConnector,
    pub(super) limits: Limits,
    /// For cancel requests.
    pub(super) tls: MakeRustlsConnect,
    /// Connections opened before this are not used again.
    suspect_before: Mutex<Option<std::time::Instant>>,
    is_answering: AtomicBool,
}

impl Server {
    pub(super) fn new(connector: PostgresConnector, limits: Limits, tls: MakeRustlsConnect) -> Self {
        let is_answering = AtomicBool::new(true);
        Self { connector, limits, tls, suspect_before: Mutex::default(), is_answering }
    }

    /// False since the server last failed to answer.
    pub(crate) fn is_answering(&self) -> bool {
        self.is_answering.load(Ordering::Relaxed)
    }

    /// Opens a connection outside the pools, in time.
    pub(crate) async fn open(&self) -> Result<OpenConnection, StoreError> {
        let opened = timeout(self.limits.connect, self.connector.open()).await;
        opened.map_err(|_| StoreError::unavailable(NoAnswer))?.map_err(failure)
    }

    /// Waits for an answer, within the limit of a statement.
    pub(crate) async fn answer<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        let started = Instant::now();
        // By reference: each layer that owns the work would double its size.
        let outcome = self.in_time(pin!(work)).await;
        match &outcome {
            Err(error) if is_gone(error) => self.record_unanswered(started),
            _ => self.set_answering(true),
        }
        outcome
    }

    async fn in_time<T>(
        &self,
        mut work: Pin<&mut impl Future<Output = Result<T, Error>>>,
    ) -> Result<T, StoreError> {
        if !is_long() {
            let answer = timeout(self.limits.answer(), work).await;
            return answer.map_err(|_| StoreError::unavailable(NoAnswer))?.map_err(failure);
        }
        let end = Instant::now() + self.limits.answer();
        loop {
            if let Ok(answer) = timeout(self.limits.statement, work.as_mut()).await {
                return answer.map_err(failure);
            }
            // Long work is silent too, so another connection tells whether there still is a server.
            if Box::pin(self.open()).await.is_err() || Instant::now() >= end {
                return Err(StoreError::unavailable(NoAnswer));
            }
        }
    }

    /// Notes that something sent at `since` got no answer.
    pub(super) fn record_unanswered(&self, since: Instant) {
        self.set_answering(false);
        let mut before = self.suspect_before.lock().unwrap_or_else(PoisonError::into_inner);
        *before = (*before).max(Some(since.into_std()));
    }

    /// True if the connection was open when the server last failed to answer.
    pub(super) fn suspects(&self, opened: std::time::Instant) -> bool {
        let before = *self.suspect_before.lock().unwrap_or_else(PoisonError::into_inner);
        before.is_some_and(|before| opened <= before)
    }

    /// The same for a pooled connection.
    pub(super) fn suspects_client(&self, client: &Object) -> bool {
        self.suspects(Object::metrics(client).created)
    }

    /// A connection of the pool, within the limit of waiting and connecting together.
    pub(super) async fn client(&self, pool: &deadpool_postgres::Pool) -> Result<Object, StoreError> {
        let started = Instant::now();
        let acquired = timeout(self.limits.acquire(), pool.get()).await;
        METRICS.acquire.record(started.elapsed().as_secs_f64());
        if !matches!(acquired, Ok(Ok(_))) {
            METRICS.acquire_failures.increment(1);
        }
        match acquired {
            Ok(Ok(client)) => Ok(client),
            Err(_) | Ok(Err(PoolError::Timeout(TimeoutType::Wait))) => Err(StoreError::unavailable(Busy)),
            Ok(Err(error)) => {
                self.set_answering(false);
                Err(StoreError::unavailable(error))
            }
        }
    }

    fn set_answering(&self, is_answering: bool) {
        if self.is_answering() != is_answering {
            self.is_answering.store(is_answering, Ordering::Relaxed);
        }
    }
}

/// True if the connection is useless, and so probably all others. Signs are silence, a broken connection, a server
/// that ends or starts, or one that became a standby.
fn is_gone(error: &StoreError) -> bool {
    const GONE: [&SqlState; 4] = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    let StoreError::Unavailable(source) = error else { return false };
    match source.downcast_ref::<Error>() {
        Some(error) => error.code().is_none_or(|code| GONE.contains(&code) || code.code().starts_with("08")),
        None => source.is::<NoAnswer>(),
    }
}
