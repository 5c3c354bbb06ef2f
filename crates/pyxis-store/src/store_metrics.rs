//! Metrics that the store records.

use std::sync::LazyLock;
use std::time::Duration;

use metrics::{Counter, Histogram, counter, histogram};
use pyxis_core::metric;
use pyxis_sqlite::DiskObserver;

/// Handles of the store's metrics, registered at first use, when a server has installed its recorder.
pub(crate) struct StoreMetrics {
    pub(crate) commit: Histogram,
    pub(crate) append: Histogram,
    pub(crate) append_failures: Counter,
    pub(crate) acquire: Histogram,
    pub(crate) acquire_failures: Counter,
    sync: Histogram,
    checkpoint: Histogram,
}

pub(crate) static METRICS: LazyLock<StoreMetrics> = LazyLock::new(|| StoreMetrics {
    commit: histogram!(metric::STORE_COMMIT_SECONDS.name),
    append: histogram!(metric::AUDIT_APPEND_SECONDS.name),
    append_failures: counter!(metric::AUDIT_APPEND_FAILURES.name),
    acquire: histogram!(metric::STORE_ACQUIRE_SECONDS.name),
    acquire_failures: counter!(metric::STORE_ACQUIRE_FAILURES.name),
    sync: histogram!(metric::STORE_SYNC_SECONDS.name),
    checkpoint: histogram!(metric::STORE_CHECKPOINT_SECONDS.name),
});

/// Records what SQLite's threads report.
pub(crate) struct DiskMetrics;

impl DiskObserver for DiskMetrics {
    fn synced(&self, took: Duration) {
        METRICS.sync.record(took.as_secs_f64());
    }

    fn checkpointed(&self, took: Duration) {
        METRICS.checkpoint.record(took.as_secs_f64());
    }
}

/// Connections of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolState {
    pub idle: usize,
    pub in_use: usize,
    /// Operations waiting for a connection.
    pub waiters: usize,
}
