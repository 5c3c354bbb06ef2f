//! The clocks of the networks, as this node knows them. Where no node says otherwise, blocks are counted here,
//! from 1, one every second by default.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::NetworkName;
use pyxis_store::block_clocks::ClockRow;

/// A block and its moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockBlock {
    /// Its number.
    pub height: i64,
    /// Its timestamp.
    pub at: UnixMillis,
}

/// The clocks that run.
#[derive(Default)]
pub(crate) struct Clocks(RwLock<BTreeMap<NetworkName, Arc<LocalClock>>>);

impl Clocks {
    /// The clock of a network, if it runs.
    pub(crate) fn of(&self, network: &NetworkName) -> Option<Arc<LocalClock>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(network).map(Arc::clone)
    }

    /// True if none was started yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Lets clocks run; those that do go on.
    pub(crate) fn start(&self, rows: &[ClockRow]) {
        let mut running = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for row in rows {
            running.entry(row.network.clone()).or_insert_with(|| Arc::new(LocalClock::new(row)));
        }
    }
}

/// A network whose blocks are counted here.
pub(crate) struct LocalClock {
    genesis_at: UnixMillis,
    block_ms: i64,
    /// As far as this node knows: the database may know of a higher one.
    sealed: AtomicI64,
}

impl LocalClock {
    fn new(row: &ClockRow) -> Self {
        let block_ms = row.block_ms.max(1);
        Self { genesis_at: row.genesis_at, block_ms, sealed: AtomicI64::new(row.sealed_height) }
    }

    /// The newest block.
    pub(crate) fn head(&self, now: UnixMillis) -> ClockBlock {
        let elapsed = now.0.saturating_sub(self.genesis_at.0).max(0);
        self.block(1 + elapsed / self.block_ms)
    }

    /// A block and its moment.
    pub(crate) fn block(&self, height: i64) -> ClockBlock {
        let after = height.saturating_sub(1).saturating_mul(self.block_ms);
        ClockBlock { height, at: UnixMillis(self.genesis_at.0.saturating_add(after)) }
    }

    /// The highest block that was answered for, as far as this node knows.
    pub(crate) fn sealed(&self) -> i64 {
        self.sealed.load(Ordering::Acquire)
    }

    /// Notes what the database says of it.
    pub(crate) fn note_sealed(&self, height: i64) {
        self.sealed.fetch_max(height, Ordering::AcqRel);
    }
}

/// The newest block of a clock that counts here.
pub fn counted(clock: &ClockRow, now: UnixMillis) -> ClockBlock {
    LocalClock::new(clock).head(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_from_one_and_have_their_moment() {
        let local = LocalClock { genesis_at: UnixMillis(10_000), block_ms: 2000, sealed: AtomicI64::new(0) };
        assert_eq!(local.head(UnixMillis(10_000)), ClockBlock { height: 1, at: UnixMillis(10_000) });
        assert_eq!(local.head(UnixMillis(13_999)), ClockBlock { height: 2, at: UnixMillis(12_000) });
        assert_eq!(local.head(UnixMillis(0)).height, 1);
        assert_eq!(local.block(3).at, UnixMillis(14_000));
    }
}
