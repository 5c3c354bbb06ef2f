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
    stamps: counter!(metric::STAMPS_STORED.name),
    job_rows_scored: counter!(metric::SCORE_JOB_ROWS.name, "result" => "scored"),
    job_rows_failed: counter!(metric::SCORE_JOB_ROWS.name, "result" => "failed"),
    jobs_done: counter!(metric::SCORE_JOBS_ENDED.name, "state" => "done"),
    jobs_given_up: counter!(metric::SCORE_JOBS_ENDED.name, "state" => "failed"),
});
