//! Counting: requests of one key that arrive during a database query are counted together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ApiKeyId;
use pyxis_core::window;
use pyxis_store::usage::{self, Surface};
use pyxis_store::{Store, StoreError};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::key_window::{KeyWindow, WindowAdmission, WindowStep};
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::score_metrics::METRICS;

/// Properties shared by the requests of one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct WindowKey {
    api_key: ApiKeyId,
    surface: Surface,
    window_start: UnixMillis,
    limit: i64,
}

impl WindowKey {
    /// A batch of this many requests, the newest of which arrived at `now`.
    const fn batch(self, requests: i64, now: UnixMillis) -> usage::Batch {
        let Self { api_key, surface, window_start, limit } = self;
        usage::Batch { key: api_key, surface, window_start, requests, limit, now }
    }
}

pub(crate) struct Limiter(Arc<LimiterState>);

struct LimiterState {
    store: Store,
    /// Windows with waiting requests, with a reservation, or used a moment ago. Each has a task that works for it and
    /// then removes it.
    windows: Mutex<HashMap<WindowKey, KeyWindow>>,
    /// Notified whenever a window ends.
    done: Notify,
}

impl Limiter {
    pub(crate) fn new(store: Store) -> Self {
        Self(Arc::new(LimiterState { store, windows: Mutex::default(), done: Notify::new() }))
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
        let place = self.admit_key(WindowKey { api_key: key, surface, window_start, limit }, now);
        let used = match place {
            WindowAdmission::Admitted(used) => Some(used),
            WindowAdmission::Pending(answer) => {
                answer.await.map_err(|error| Error::Internal(error.into()))??
            }
        };
        let left = window::quarter_end(now).since(now).as_millis().div_ceil(1000);
        let budget = Budget {
            limit,
            remaining: used.map_or(0, |used| (limit - used).max(0)),
            reset_secs: u64::try_from(left).unwrap_or(u64::MAX),
        };
        if used.is_some() {
            return Ok(budget);
        }
        METRICS.limit_refusals.increment(1);
        Err(Error::RateLimited(budget))
    }

    /// Returns once exactly the admitted requests are counted: none waits, and nothing is reserved.
    pub(crate) async fn flush(&self) {
        loop {
            let done = self.0.done.notified();
            {
                let mut windows = self.0.lock();
                if windows.is_empty() {
                    return;
                }
                windows.values_mut().for_each(KeyWindow::close);
            }
            done.await;
        }
    }

    fn admit_key(&self, key: WindowKey, now: UnixMillis) -> WindowAdmission {
        let at = Instant::now();
        match self.0.lock().entry(key) {
            Entry::Occupied(mut busy) => busy.get_mut().admit(now, at),
            Entry::Vacant(idle) => {
                let window = idle.insert(KeyWindow::new(key.limit, at));
                // A separate task: the request that came first may be dropped.
                drop(tokio::spawn(Arc::clone(&self.0).work(key, window.wake())));
                window.admit(now, at)
            }
        }
    }
}

impl LimiterState {
    fn lock(&self) -> MutexGuard<'_, HashMap<WindowKey, KeyWindow>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a window's steps until none is left.
    async fn work(self: Arc<Self>, key: WindowKey, wake: Arc<Notify>) {
        while let Some((step, latest)) = self.next(key) {
            self.run_step(step, key, latest, &wake).await;
        }
        self.done.notify_waiters();
    }

    /// The next step and the time of the newest request; `None` if the window is gone.
    fn next(&self, key: WindowKey) -> Option<(WindowStep, UnixMillis)> {
        let mut windows = self.lock();
        let Entry::Occupied(mut window) = windows.entry(key) else { return None };
        match window.get_mut().next(Instant::now()) {
            WindowStep::End => {
                window.remove();
                None
            }
            step => Some((step, window.get().latest())),
        }
    }

    async fn run_step(&self, step: WindowStep, key: WindowKey, latest: UnixMillis, wake: &Notify) {
        match step {
            WindowStep::Count(waiting) => {
                let counted = usage::count(&self.store, &key.batch(waiting.len(), latest)).await;
                let noted = self.report_step(key, counted, |window, counted| {
                    let late = window.also_failed(&counted);
                    (window.record_count(counted), late)
                });
                let Some((counted, late)) = noted else { return };
                waiting.send_results(&counted);
                late.send_results(&counted);
            }
            WindowStep::Reserve { requests, within } => {
                let batch = usage::Batch { limit: within, ..key.batch(requests, latest) };
                let reserved = usage::reserve(&self.store, &batch).await;
                let failed = reserved.as_ref().err().cloned();
                let late = self.report_step(key, reserved, |window, reserved| {
                    window.reserved(requests, &reserved);
                    window.also_failed(&reserved)
                });
                if let (Some(late), Some(error)) = (late, failed) {
                    late.send_results(&Err(error));
                }
            }
            WindowStep::GiveBack { requests } => {
                let gave_back = usage::give_back(&self.store, &key.batch(requests, latest)).await;
                self.report_step(key, gave_back, |window, gave_back| window.gave_back(requests, &gave_back));
            }
            WindowStep::Rest(until) => drop(timeout_at(until, wake.notified()).await),
            WindowStep::End => {}
        }
    }

    /// Reports a step's result to its window.
    fn report_step<T, U>(
        &self,
        key: WindowKey,
        outcome: std::result::Result<T, StoreError>,
        note: impl FnOnce(&mut KeyWindow, std::result::Result<T, StoreError>) -> U,
    ) -> Option<U> {
        if let Err(error) = &outcome {
            tracing::warn!(%error, "cannot count requests");
        }
        self.lock().get_mut(&key).map(|window| note(window, outcome))
    }
}
