//! Connections that point reads share.
//!
//! A caller sends its statement without waiting for the answers to those before it, so a handful of
//! connections serve many callers at once. Whatever takes long, locks or belongs to a transaction has a
//! connection of its own instead: here it would hold up everything behind it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use deadpool_postgres::{Object, Pool};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::loan;
use crate::StoreError;

/// Enough to keep a server of a few cores busy.
pub(super) const LANES: usize = 3;

/// A fixed number of connections, dialled when first needed and again when they broke.
pub(super) struct Shared {
    pool: Pool,
    tls: MakeRustlsConnect,
    lanes: [Arc<Lane>; LANES],
}

#[derive(Default)]
struct Lane {
    client: Mutex<Option<Arc<Object>>>,
    /// Held while dialling, so that only one caller does.
    dialling: tokio::sync::Mutex<()>,
    /// Reads that the server may still be at.
    under_way: AtomicUsize,
}

impl Shared {
    /// `pool` is for these connections alone.
    pub(super) fn new(pool: Pool, tls: MakeRustlsConnect) -> Self {
        Self { pool, tls, lanes: Default::default() }
    }

    /// A place on the connection with the fewest reads under way: one whose server process is held up, by the
    /// scheduler or by a slow read, gets no more of them than it answers.
    pub(super) async fn turn(&self) -> Result<Turn<'_>, StoreError> {
        let place = Place::on(self.quietest());
        let client = self.client(&place.0).await?;
        Ok(Turn { at: Some((client, place)), tls: &self.tls })
    }

    fn quietest(&self) -> &Arc<Lane> {
        let [first, others @ ..] = &self.lanes;
        others.iter().fold(first, |best, lane| if lane.reads() < best.reads() { lane } else { best })
    }

    async fn client(&self, lane: &Lane) -> Result<Arc<Object>, StoreError> {
        if let Some(client) = lane.live() {
            return Ok(client);
        }
        let _dialling = lane.dialling.lock().await;
        if let Some(client) = lane.live() {
            return Ok(client);
        }
        // The pool must not hand the broken one out again.
        lane.set(None);
        let client = Arc::new(self.pool.get().await.map_err(StoreError::unavailable)?);
        lane.set(Some(Arc::clone(&client)));
        Ok(client)
    }
}

/// One read on a shared connection. Dropped before [`Turn::end`], it ends what the server still does for it,
/// so that a read that waits for a lock does not hold up those behind it.
pub(super) struct Turn<'a> {
    /// `None` once the answer is there.
    at: Option<(Arc<Object>, Place)>,
    tls: &'a MakeRustlsConnect,
}

impl Turn<'_> {
    pub(super) fn client(&self) -> Result<&Object, StoreError> {
        self.at.as_ref().map(|(client, _)| &**client).ok_or(StoreError::Aborted)
    }

    /// The answer is there.
    pub(super) fn end(mut self) {
        drop(self.at.take());
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some((client, place)) = self.at.take() else { return };
        let tls = self.tls.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Most are answered before a cancellation is due. One that comes late may hit the read behind,
            // whose caller is told to try again. The place is taken until then.
            runtime.spawn(async move {
                loan::end(&client, tls, "").await;
                drop(place);
            });
        }
    }
}

/// A read that counts as under way until this is dropped.
struct Place(Arc<Lane>);

impl Place {
    fn on(lane: &Arc<Lane>) -> Self {
        lane.under_way.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(lane))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lane {
    fn reads(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    fn live(&self) -> Option<Arc<Object>> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.as_ref().filter(|client| !client.is_closed()).map(Arc::clone)
    }

    fn set(&self, client: Option<Arc<Object>>) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }
}
