//! Handles of the data path's metrics, looked up once instead of by name for each request.

use metrics::{Counter, Histogram, counter, histogram};
use pyxis_core::metric;
use pyxis_store::deliveries::DeliveryStatus;

use crate::runtime::exchange_metrics::ExchangeMetrics;

/// Counters of one channel's deliveries.
pub(crate) struct DeliveryCounters {
    delivered: Counter,
    failed: Counter,
}

impl DeliveryCounters {
    /// The counters of a channel: `webhook`, `push` or the name of a chat platform.
    pub(crate) fn new(channel: &'static str) -> Self {
        let of = |result: &'static str| counter!(metric::DELIVERIES.name, "channel" => channel, "result" => result);
        Self { delivered: of("delivered"), failed: of("failed") }
    }

    /// Counts one attempt.
    pub(crate) fn attempted(&self, is_delivered: bool) {
        if is_delivered { &self.delivered } else { &self.failed }.increment(1);
    }
}

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
    webhooks: DeliveryCounters,
    pub(crate) grant_uses: Counter,
    pub(crate) outcome_unknown: Counter,
}

impl MetricsRecorder {
    /// Registers with the currently installed recorder.
    pub(crate) fn register() -> Self {
        let decided =
            |decision: &'static str| counter!(metric::FORWARD_REQUESTS.name, "decision" => decision);
        let attempt = |result: &'static str| counter!(metric::WEBHOOK_ATTEMPTS.name, "result" => result);
        Self {
            passed: decided("pass"),
            paused: decided("pause"),
            refused: decided("refuse"),
            upstream_seconds: histogram!(metric::UPSTREAM_SECONDS.name),
            upstream_failures: counter!(metric::UPSTREAM_FAILURES.name),
            redactions: counter!(metric::REDACTIONS.name),
            attempts_acknowledged: attempt("acknowledged"),
            attempts_failed: attempt("failed"),
            webhooks: DeliveryCounters::new("webhook"),
            grant_uses: counter!(metric::GRANT_USES.name),
            outcome_unknown: counter!(metric::OUTCOME_UNKNOWN.name),
        }
    }

    /// Counts one attempt of a webhook delivery.
    pub(crate) fn attempted(&self, status: DeliveryStatus) {
        let is_delivered = matches!(status, DeliveryStatus::Delivered);
        if is_delivered {
            self.attempts_acknowledged.increment(1);
        } else {
            self.attempts_failed.increment(1);
        }
        self.webhooks.attempted(is_delivered);
    }

    /// Records upstream latency, failures and redactions of one request.
    pub(crate) fn ended(&self, facts: &ExchangeMetrics) {
        if let Some(micros) = facts.head_micros {
            #[expect(clippy::cast_precision_loss, reason = "a latency, not an amount of money")]
            self.upstream_seconds.record(micros as f64 / 1e6);
        }
        if let Some(error) = facts.error {
            self.upstream_failures.increment(1);
            if error == "outcome_unknown" {
                self.outcome_unknown.increment(1);
            }
        }
        if facts.redactions > 0 {
            self.redactions.increment(facts.redactions);
        }
    }
}
