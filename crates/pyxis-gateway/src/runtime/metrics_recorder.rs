//! Handles of the data path's metrics, looked up once instead of by name for each request.

use metrics::{Counter, Histogram, counter, histogram};

use pyxis_store::deliveries::DeliveryStatus;

use crate::runtime::exchange_metrics::ExchangeMetrics;

/// Counters and histograms of `/forward`.
pub(crate) struct MetricsRecorder {
    pub(crate) passed: Counter,
    pub(crate) paused: Counter,
    pub(crate) refused: Counter,
    upstream_seconds: Histogram,
    upstream_failures: Counter,
    redactions: Counter,
    attempts_acknowledged: Counter,
    attempts_failed: Counter,
}

impl MetricsRecorder {
    /// Registers with the currently installed recorder.
    pub(crate) fn register() -> Self {
        let decided =
            |decision: &'static str| counter!("pyxis_forward_requests_total", "decision" => decision);
        Self {
            passed: decided("pass"),
            paused: decided("pause"),
            refused: decided("refuse"),
            upstream_seconds: histogram!("pyxis_upstream_seconds"),
            upstream_failures: counter!("pyxis_upstream_failures_total"),
            redactions: counter!("pyxis_redactions_total"),
            attempts_acknowledged: counter!("pyxis_webhook_attempts_total", "result" => "acknowledged"),
            attempts_failed: counter!("pyxis_webhook_attempts_total", "result" => "failed"),
        }
    }

    /// Counts one attempt of a webhook delivery.
    pub(crate) fn attempted(&self, status: DeliveryStatus) {
        match status {
            DeliveryStatus::Delivered => self.attempts_acknowledged.increment(1),
            DeliveryStatus::Pending | DeliveryStatus::Failed => self.attempts_failed.increment(1),
        }
    }

    /// Records upstream latency, failures and redactions of one request.
    pub(crate) fn ended(&self, facts: &ExchangeMetrics) {
        if let Some(micros) = facts.head_micros {
            #[expect(clippy::cast_precision_loss, reason = "a latency, not an amount of money")]
            self.upstream_seconds.record(micros as f64 / 1e6);
        }
        if facts.error.is_some() {
            self.upstream_failures.increment(1);
        }
        if facts.redactions > 0 {
            self.redactions.increment(facts.redactions);
        }
    }
}
