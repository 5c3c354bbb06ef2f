//! Handles of the metrics of scores, looked up once.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, counter, gauge};
use pyxis_core::metric;

/// Counters of scores.
pub(crate) struct ScoreMetrics {
    pub(crate) stored: Counter,
    pub(crate) computed: Counter,
    pub(crate) limit_refusals: Counter,
    pub(crate) rescored: Counter,
    pub(crate) rescores: RescoreGauges,
    pub(crate) stamps: Counter,
    pub(crate) job_rows_scored: Counter,
    pub(crate) job_rows_failed: Counter,
    pub(crate) jobs_done: Counter,
    pub(crate) jobs_given_up: Counter,
}

/// Registered at first use, when a server has installed its recorder.
pub(crate) static METRICS: LazyLock<ScoreMetrics> = LazyLock::new(|| ScoreMetrics {
    stored: counter!(metric::SCORES.name, "source" => "stored"),
    computed: counter!(metric::SCORES.name, "source" => "computed"),
    limit_refusals: counter!(metric::SCORE_LIMIT_REFUSALS.name),
    rescored: counter!(metric::SCORES_RESCORED.name),
    rescores: RescoreGauges {
        running: gauge!(metric::RESCORES_RUNNING.name),
        remaining: gauge!(metric::RESCORE_REMAINING.name),
    },
    stamps: counter!(metric::STAMPS_STORED.name),
    job_rows_scored: counter!(metric::SCORE_JOB_ROWS.name, "result" => "scored"),
    job_rows_failed: counter!(metric::SCORE_JOB_ROWS.name, "result" => "failed"),
    jobs_done: counter!(metric::SCORE_JOBS_ENDED.name, "state" => "done"),
    jobs_given_up: counter!(metric::SCORE_JOBS_ENDED.name, "state" => "failed"),
});

/// Gauges of the work that recomputes stale scores.
#[derive(Clone)]
pub(crate) struct RescoreGauges {
    running: Gauge,
    remaining: Gauge,
}

impl RescoreGauges {
    /// Shows a run over `stale` scores, until the returned value is dropped.
    pub(crate) fn begin(&self, stale: u64) -> RescoreProgress {
        self.running.increment(1.0);
        let mut progress = RescoreProgress { gauges: self.clone(), remaining: 0 };
        progress.set(stale);
        progress
    }
}

/// Progress of one run.
pub(crate) struct RescoreProgress {
    gauges: RescoreGauges,
    remaining: u64,
}

impl RescoreProgress {
    /// Counts a recomputed score. There can be more than were stale at the start.
    pub(crate) fn advance(&mut self) {
        self.set(self.remaining.saturating_sub(1));
    }

    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    fn set(&mut self, remaining: u64) {
        self.gauges.remaining.increment(remaining as f64 - self.remaining as f64);
        self.remaining = remaining;
    }
}

impl Drop for RescoreProgress {
    fn drop(&mut self) {
        self.set(0);
        self.gauges.running.decrement(1.0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "small whole numbers")]
    fn runs_add_up_and_a_run_that_ends_early_leaves_nothing() {
        let (running, remaining) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let gauges = RescoreGauges {
            running: Gauge::from_arc(Arc::clone(&running)),
            remaining: Gauge::from_arc(Arc::clone(&remaining)),
        };
        let shown = || [&running, &remaining].map(|bits| f64::from_bits(bits.load(Ordering::Relaxed)));
        let (mut first, mut second) = (gauges.begin(2), gauges.begin(10));
        assert_eq!(shown(), [2.0, 12.0]);
        for _ in 0..3 {
            first.advance();
        }
        second.advance();
        assert_eq!(shown(), [2.0, 9.0]);
        drop(second);
        assert_eq!(shown(), [1.0, 0.0]);
        drop(first);
        assert_eq!(shown(), [0.0, 0.0]);
    }
}
