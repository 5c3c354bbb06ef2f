//! Facts about a request that was sent.

use http::StatusCode;
use tokio::time::Instant;

/// Data for the audit record of its outcome.
#[derive(Default)]
pub(crate) struct ExchangeMetrics {
    pub(crate) status: Option<StatusCode>,
    pub(crate) error: Option<&'static str>,
    pub(crate) head_micros: Option<u64>,
    pub(crate) total_micros: u64,
    pub(crate) bytes: u64,
    pub(crate) redactions: u64,
}

/// Elapsed microseconds.
pub(crate) fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
