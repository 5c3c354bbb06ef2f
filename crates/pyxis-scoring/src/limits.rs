//! Rate limits (Spec 1, Limits): exact, in windows of a quarter of an hour, whoever else counts.
//!
//! Every request is counted in the database before it is answered. Requests of one key that wait at the
//! same moment are counted by one statement.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ApiKeyId;
use pyxis_core::window;
use pyxis_store::usage::{self, Batch, Surface};
use pyxis_store::{Store, StoreError};
use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// Requests in a window of the Stamps endpoints, for a tier and the key's own number in tier 4.
pub fn limit_of_stamps(tier: i64, own: Option<i64>) -> i64 {
    match tier {
        4 => own.unwrap_or(2000),
        3 => 2000,
        2 => 350,
        _ => 125,
    }
}

/// Requests in a window of the models endpoint.
pub fn limit_of_models(tier: i64, own: Option<i64>) -> i64 {
    match tier {
        4 => own.unwrap_or(2000),
        3 => 2000,
        2 => 350,
        _ => 15,
    }
}

/// What is left of a key's window.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: i64,
    remaining: i64,
    /// Seconds until the next window.
    pub(crate) reset_secs: u64,
}

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

impl Budget {
    /// Tells the client.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(self.reset_secs));
    }
}

/// What the requests of one lane have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Lane {
    key: ApiKeyId,
    surface: Surface,
    window_start: UnixMillis,
    limit: i64,
}

/// How many were in the window with this one, or `None` where it did not fit.
type Answer = Result<Option<i64>, StoreError>;

/// Counts requests.
pub(crate) struct Limiter(Arc<Shared>);

struct Shared {
    store: Store,
    /// Lanes whose requests are being counted, with those that came since.
    waiting: Mutex<HashMap<Lane, Vec<oneshot::Sender<Answer>>>>,
}

impl Limiter {
    pub(crate) fn new(store: Store) -> Self {
        Self(Arc::new(Shared { store, waiting: Mutex::default() }))
    }

    /// Counts one request, or refuses it.
    pub(crate) async fn admit(
        &self,
        key: ApiKeyId,
        surface: Surface,
        limit: i64,
        now: UnixMillis,
    ) -> Result<Budget> {
        let lane = Lane { key, surface, window_start: window::quarter_start(now), limit };
        let place = self.enter(lane, now);
        let used = place.await.map_err(|error| Error::Internal(error.into()))??;
        let left = window::quarter_end(now).since(now).as_millis().div_ceil(1000);
        let budget = Budget {
            limit,
            remaining: used.map_or(0, |used| (limit - used).max(0)),
            reset_secs: u64::try_from(left).unwrap_or(u64::MAX),
        };
        if used.is_some() { Ok(budget) } else { Err(Error::RateLimited(budget)) }
    }

    fn enter(&self, lane: Lane, now: UnixMillis) -> oneshot::Receiver<Answer> {
        let (answer, place) = oneshot::channel();
        match self.0.lock().entry(lane) {
            Entry::Occupied(mut busy) => busy.get_mut().push(answer),
            Entry::Vacant(idle) => {
                idle.insert(Vec::new());
                // A task of its own: the request that came first may be given up.
                drop(tokio::spawn(Arc::clone(&self.0).count(lane, vec![answer], now)));
            }
        }
        place
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<Lane, Vec<oneshot::Sender<Answer>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what waits until nothing does.
    async fn count(self: Arc<Self>, lane: Lane, mut batch: Vec<oneshot::Sender<Answer>>, now: UnixMillis) {
        while !batch.is_empty() {
            let requests = i64::try_from(batch.len()).unwrap_or(i64::MAX);
            let Lane { key, surface, window_start, limit } = lane;
            let counted =
                usage::count(&self.store, &Batch { key, surface, window_start, requests, limit, now }).await;
            tell(batch, &counted);
            batch = self.next(&lane);
        }
    }

    /// Those that came meanwhile; with nobody there the lane closes.
    fn next(&self, lane: &Lane) -> Vec<oneshot::Sender<Answer>> {
        let mut waiting = self.lock();
        let came = waiting.get_mut(lane).map(std::mem::take).unwrap_or_default();
        if came.is_empty() {
            waiting.remove(lane);
        }
        came
    }
}

/// First come, first served.
fn tell(batch: Vec<oneshot::Sender<Answer>>, counted: &Result<usage::Counted, StoreError>) {
    let mut number = counted.as_ref().map_or(0, |counted| counted.used - counted.admitted);
    let last = counted.as_ref().map_or(0, |counted| counted.used);
    for answer in batch {
        let outcome = match counted {
            Err(error) => Err(error.clone()),
            Ok(_) if number < last => {
                number += 1;
                Ok(Some(number))
            }
            Ok(_) => Ok(None),
        };
        // Nobody waiting any more is fine: the request came.
        let _ = answer.send(outcome);
    }
}
