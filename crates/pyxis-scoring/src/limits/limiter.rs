//! Counting, in batches: requests of one key that come while a batch is being counted make the next.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ApiKeyId;
use pyxis_core::window;
use pyxis_store::usage::{self, Surface};
use pyxis_store::{Store, StoreError};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Budget;
use super::lane::{Batch, Lane, Place};
use crate::error::{Error, Result};

/// Between two counts of requests that nobody waits for. As long as this, and one statement, a crash of
/// the process may take back what was let in far from a limit.
pub(super) const PAUSE: Duration = Duration::from_millis(20);
/// The same where counting failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What the requests of one lane have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LaneKey {
    api_key: ApiKeyId,
    surface: Surface,
    window_start: UnixMillis,
    limit: i64,
}

/// Counts requests.
pub(crate) struct Limiter(Arc<Shared>);

struct Shared {
    store: Store,
    /// Lanes with something in them that is not counted yet.
    lanes: Mutex<HashMap<LaneKey, Lane>>,
    /// Told whenever a lane is done.
    done: Notify,
}

impl Limiter {
    pub(crate) fn new(store: Store) -> Self {
        Self(Arc::new(Shared { store, lanes: Mutex::default(), done: Notify::new() }))
    }

    /// Counts one request, or refuses it.
    pub(crate) async fn admit(
        &self,
        key: ApiKeyId,
        surface: Surface,
        limit: i64,
        now: UnixMillis,
    ) -> Result<Budget> {
        let window_start = window::quarter_start(now);
        let place = self.enter(LaneKey { api_key: key, surface, window_start, limit }, now);
        let used = match place {
            Place::In(used) => Some(used),
            Place::Waits(answer) => answer.await.map_err(|error| Error::Internal(error.into()))??,
        };
        let left = window::quarter_end(now).since(now).as_millis().div_ceil(1000);
        let budget = Budget {
            limit,
            remaining: used.map_or(0, |used| (limit - used).max(0)),
            reset_secs: u64::try_from(left).unwrap_or(u64::MAX),
        };
        if used.is_some() { Ok(budget) } else { Err(Error::RateLimited(budget)) }
    }

    /// Returns once everything that was let in is counted.
    pub(crate) async fn settled(&self) {
        loop {
            let done = self.0.done.notified();
            if self.0.lock().is_empty() {
                return;
            }
            done.await;
        }
    }

    fn enter(&self, key: LaneKey, now: UnixMillis) -> Place {
        let at = Instant::now();
        match self.0.lock().entry(key) {
            Entry::Occupied(mut busy) => busy.get_mut().enter(key.limit, now, at),
            Entry::Vacant(idle) => {
                let place = idle.insert(Lane::default()).enter(key.limit, now, at);
                // A task of its own: the request that came first may be given up.
                drop(tokio::spawn(Arc::clone(&self.0).count(key)));
                place
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<LaneKey, Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what is in the lane until nothing is.
    async fn count(self: Arc<Self>, key: LaneKey) {
        while let Some(batch) = self.begin(&key) {
            let LaneKey { api_key, surface, window_start, limit } = key;
            let (requests, now) = (batch.len(), batch.latest);
            let all = usage::Batch { key: api_key, surface, window_start, requests, limit, now };
            let at = Instant::now();
            let counted = usage::count(&self.store, &all).await;
            if let Err(error) = &counted {
                tracing::warn!(%error, "requests could not be counted");
            }
            let patient = self.end(key, &counted, at);
            let pause = if counted.is_ok() { PAUSE } else { AFTER_FAILURE };
            batch.tell(&counted);
            if patient {
                tokio::time::sleep(pause).await;
            }
        }
        self.done.notify_waiters();
    }

    fn begin(&self, key: &LaneKey) -> Option<Batch> {
        self.lock().get_mut(key).map(Lane::begin)
    }

    /// Closes the lane if it is empty; else, whether the next batch may wait.
    fn end(
        &self,
        key: LaneKey,
        counted: &std::result::Result<usage::Counted, StoreError>,
        at: Instant,
    ) -> bool {
        let mut lanes = self.lock();
        let Entry::Occupied(mut lane) = lanes.entry(key) else { return false };
        lane.get_mut().end(counted, at);
        if lane.get().is_idle() {
            lane.remove();
            return false;
        }
        lane.get().is_patient()
    }
}
