//! Counts served scores by height. Requests do not wait for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyxis_models::scope::Model;
use pyxis_store::{Store, models};

/// Pause between two writes: after each, every reader of a SQLite file maps it again.
const PAUSE: Duration = Duration::from_secs(1);

/// Counts by model and bucket that are not stored yet.
type Counts = HashMap<(&'static str, i64), i64>;

/// Counts served scores.
pub(super) struct ServeStats(Arc<ServeStatsState>);

struct ServeStatsState {
    store: Store,
    waiting: Mutex<PendingCounts>,
}

#[derive(Default)]
struct PendingCounts {
    counts: Counts,
    /// True if a task is storing.
    busy: bool,
}

impl ServeStats {
    pub(super) fn new(store: Store) -> Self {
        Self(Arc::new(ServeStatsState { store, waiting: Mutex::default() }))
    }

    pub(super) fn record(&self, model: Model, score: Option<f64>) {
        let mut waiting = self.0.lock();
        *waiting.counts.entry((model.as_str(), bucket(score))).or_default() += 1;
        if !std::mem::replace(&mut waiting.busy, true) {
            drop(tokio::spawn(Arc::clone(&self.0).store()));
        }
    }

    /// Stores all pending counts now.
    pub(super) async fn flush(&self) {
        self.0.store_waiting().await;
    }
}

impl ServeStatsState {
    fn lock(&self) -> MutexGuard<'_, PendingCounts> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores pending counts until none is left; counts that arrive meanwhile share one statement.
    async fn store(self: Arc<Self>) {
        while self.store_waiting().await {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// True if there was anything to store.
    async fn store_waiting(&self) -> bool {
        let counts = {
            let mut waiting = self.lock();
            waiting.busy = !waiting.counts.is_empty();
            std::mem::take(&mut waiting.counts)
        };
        if counts.is_empty() {
            return false;
        }
        let mut rows: Vec<_> =
            counts.into_iter().map(|((model, bucket), served)| (model, bucket, served)).collect();
        rows.sort_unstable();
        if let Err(error) = models::count_serves(&self.store, &rows).await {
            tracing::warn!(%error, "cannot count the scores that models served");
        }
        true
    }
}

/// The twentieth of 0 to 100 that a score is in; -1 means too little data.
#[expect(clippy::cast_possible_truncation, reason = "a score is between 0 and 100")]
fn bucket(score: Option<f64>) -> i64 {
    score.map_or(-1, |score| ((score / 5.0) as i64).clamp(0, 19))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_in_its_twentieth() {
        let found = [None, Some(0.0), Some(4.99), Some(5.0), Some(99.9), Some(100.0)].map(bucket);
        assert_eq!(found, [-1, 0, 0, 1, 19, 19]);
    }
}
