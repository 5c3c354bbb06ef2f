//! Durations of work on the disk, for metrics.

use std::time::Duration;

/// Receiver of durations. Called on the engine's threads, so it must not wait.
pub trait DiskObserver: Send + Sync {
    /// The write-ahead log was synced.
    fn synced(&self, took: Duration);
    /// A checkpoint's work in the background ended.
    fn checkpointed(&self, took: Duration);
}

/// Measures nothing.
impl DiskObserver for () {
    fn synced(&self, _: Duration) {}

    fn checkpointed(&self, _: Duration) {}
}
