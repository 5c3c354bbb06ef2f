//! A circuit breaker: a source that failed several times in a row is not called for a while.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use metrics::gauge;
use pyxis_core::clock::UnixMillis;
use pyxis_core::metric;

/// Failures in a row that open it.
const FAILURES: u32 = 5;
/// Time for which it stays open.
const REST: Duration = Duration::from_secs(5);

/// Counts failures in a row.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: AtomicU32,
    open_until: AtomicI64,
}

impl Breaker {
    /// True if a call may be made.
    pub(super) fn admits(&self, now: UnixMillis) -> bool {
        let admits = now.0 >= self.open_until.load(Ordering::Relaxed);
        gauge!(metric::INDEX_BREAKER_OPEN.name).set(if admits { 0.0 } else { 1.0 });
        admits
    }

    /// Records a call's result. After a rest, a single failure opens the breaker again.
    pub(super) fn record_result(&self, success: bool, now: UnixMillis) {
        if success {
            self.failures.store(0, Ordering::Relaxed);
        } else if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= FAILURES {
            self.open_until.store(now.plus(REST).0, Ordering::Relaxed);
            gauge!(metric::INDEX_BREAKER_OPEN.name).set(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_failures_in_a_row_and_tries_again_after_a_rest() {
        let (breaker, now) = (Breaker::default(), UnixMillis(1000));
        for _ in 0..4 {
            breaker.record_result(false, now);
        }
        breaker.record_result(true, now);
        for _ in 0..5 {
            assert!(breaker.admits(now));
            breaker.record_result(false, now);
        }
        assert!(!breaker.admits(now.plus(REST).minus(Duration::from_millis(1))));
        let later = now.plus(REST);
        assert!(breaker.admits(later));
        breaker.record_result(false, later);
        assert!(!breaker.admits(later));
        breaker.record_result(true, later.plus(REST));
        breaker.record_result(false, later.plus(REST));
        assert!(breaker.admits(later.plus(REST)));
    }
}
