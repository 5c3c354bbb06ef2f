//! The networks' clocks, as this node knows them. Without a node to ask, blocks are counted locally, from 1, by default
//! one per second.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::NetworkName;
use pyxis_store::block_clocks::ClockRow;

/// A block and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockBlock {
    /// Block number.
    pub height: i64,
    /// Timestamp of the block.
    pub at: UnixMillis,
}

/// The running clocks.
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

    /// Starts clocks; running ones continue.
    pub(crate) fn start(&self, rows: &[ClockRow]) {
        let mut running = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for row in rows {
            running.entry(row.network.clone()).or_insert_with(|| Arc::new(LocalClock::new(row)));
        }
    }
}

/// The clock of a network whose blocks are counted locally, or were until its nodes took over.
pub(crate) struct LocalClock {
    genesis_at: UnixMillis,
    block_ms: i64,
    /// As far as this node knows: the database may have a higher one.
    sealed: AtomicI64,
    handover: Option<Handover>,
}

/// Last local block, and the first one of the nodes.
#[derive(Clone, Copy)]
struct Handover {
    local_until: i64,
    rpc_from: i64,
}

impl LocalClock {
    fn new(row: &ClockRow) -> Self {
        let handover = row.local_until.zip(row.rpc_from);
        Self {
            genesis_at: row.genesis_at,
            block_ms: row.block_ms.max(1),
            sealed: AtomicI64::new(row.sealed_height),
            handover: handover.map(|(local_until, rpc_from)| Handover { local_until, rpc_from }),
        }
    }

    /// The newest block.
    pub(crate) fn head(&self, now: UnixMillis) -> ClockBlock {
        self.block(self.height_at(now))
    }

    fn height_at(&self, time: UnixMillis) -> i64 {
        let elapsed = time.0.saturating_sub(self.genesis_at.0).max(0);
        1 + elapsed / self.block_ms
    }

    /// True for a block that was counted here before nodes took over.
    pub(crate) fn counted_here(&self, height: i64) -> bool {
        self.handover.is_some_and(|handover| height <= handover.local_until)
    }

    /// Height in the registry for a block of the network's nodes. A block from before they took over is where the local
    /// count was at its time.
    pub(crate) fn registry_height(&self, block: ClockBlock) -> i64 {
        match self.handover {
            Some(Handover { local_until, rpc_from }) if block.height < rpc_from => {
                if block.at < self.genesis_at { 0 } else { self.height_at(block.at).min(local_until) }
            }
            _ => block.height,
        }
    }

    /// A block and its time.
    pub(crate) fn block(&self, height: i64) -> ClockBlock {
        let after = height.saturating_sub(1).saturating_mul(self.block_ms);
        ClockBlock { height, at: UnixMillis(self.genesis_at.0.saturating_add(after)) }
    }

    /// The highest block that was answered for, as far as this node knows.
    pub(crate) fn sealed(&self) -> i64 {
        self.sealed.load(Ordering::Acquire)
    }

    /// Records the sealed height from the database.
    pub(crate) fn note_sealed(&self, height: i64) {
        self.sealed.fetch_max(height, Ordering::AcqRel);
    }
}

/// The newest block of a local clock.
pub fn counted(clock: &ClockRow, now: UnixMillis) -> ClockBlock {
    LocalClock::new(clock).head(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_from_one_and_have_their_moment() {
        let local = LocalClock::new(&row(None));
        assert_eq!(local.head(UnixMillis(10_000)), ClockBlock { height: 1, at: UnixMillis(10_000) });
        assert_eq!(local.head(UnixMillis(13_999)), ClockBlock { height: 2, at: UnixMillis(12_000) });
        assert_eq!(local.head(UnixMillis(0)).height, 1);
        assert_eq!(local.block(3).at, UnixMillis(14_000));
        assert!(!local.counted_here(1));
        assert_eq!(local.registry_height(ClockBlock { height: 7, at: UnixMillis(0) }), 7);
    }

    #[test]
    fn a_block_from_before_the_nodes_took_over_has_the_local_height_of_its_time() {
        let local = LocalClock::new(&row(Some((5, 900))));
        assert!(local.counted_here(5) && !local.counted_here(6));
        for (height, at, expected) in [
            (800, 9_999, 0),
            (800, 10_000, 1),
            (800, 13_999, 2),
            (899, 18_000, 5),
            (899, 90_000, 5),
            (900, 10_000, 900),
            (901, 90_000, 901),
        ] {
            let block = ClockBlock { height, at: UnixMillis(at) };
            assert_eq!(local.registry_height(block), expected, "{block:?}");
        }
    }

    fn row(handover: Option<(i64, i64)>) -> ClockRow {
        ClockRow {
            network: "optimism".parse().unwrap(),
            genesis_at: UnixMillis(10_000),
            block_ms: 2000,
            sealed_height: 0,
            kind: None,
            local_until: handover.map(|(until, _)| until),
            rpc_from: handover.map(|(_, from)| from),
        }
    }
}
