//! Handles of the metrics of scores, looked up once.

use std::sync::LazyLock;

use metrics::{Counter, counter};
use pyxis_core::metric;

/// Counters of scores.
pub(crate) struct ScoreMetrics {
    pub(crate) stored: Counter,
    pub(crate) computed: Counter,
    pub(crate) limit_refusals: Counter,
    pub(crate) rescored: Counter,
    pub(crate) stamps: Counter,
}

/// Registered at first use, when a server has installed its recorder.
pub(crate) static METRICS: LazyLock<ScoreMetrics> = LazyLock::new(|| ScoreMetrics {
    stored: counter!(metric::SCORES.name, "source" => "stored"),
    computed: counter!(metric::SCORES.name, "source" => "computed"),
    limit_refusals: counter!(metric::SCORE_LIMIT_REFUSALS.name),
    rescored: counter!(metric::SCORES_RESCORED.name),
    stamps: counter!(metric::STAMPS_STORED.name),
});
