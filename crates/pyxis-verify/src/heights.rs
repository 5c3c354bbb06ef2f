//! Which block it is, and how an answer about a block is made to stand for ever.
//!
//! Where no node says otherwise, blocks are counted here, from 1, one every second by default. An answer
//! about a block seals it: what is registered afterwards happens in a later block, even within the second.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::NetworkName;
use pyxis_evm::Chain;
use pyxis_store::block_clocks::{self, ClockRow};

use crate::error::{Error, Result};
use crate::network::Network;
use crate::state::State;

/// Which state a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshot {
    /// The present one.
    Latest,
    /// That of a block.
    Block(i64),
}

/// A block and its moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number.
    pub height: i64,
    /// Its timestamp.
    pub at: UnixMillis,
}

/// What is known of the clocks of the networks.
#[derive(Default)]
pub struct Heights(RwLock<BTreeMap<NetworkName, Arc<Local>>>);

/// A network whose blocks are counted here.
struct Local {
    genesis_at: UnixMillis,
    block_ms: i64,
    /// As far as this node knows: the database may know of a higher one.
    sealed: AtomicI64,
}

impl Local {
    fn new(row: &ClockRow) -> Self {
        let block_ms = row.block_ms.max(1);
        Self { genesis_at: row.genesis_at, block_ms, sealed: AtomicI64::new(row.sealed_height) }
    }

    fn head(&self, now: UnixMillis) -> Block {
        let elapsed = now.0.saturating_sub(self.genesis_at.0).max(0);
        self.block(1 + elapsed / self.block_ms)
    }

    fn block(&self, height: i64) -> Block {
        let after = height.saturating_sub(1).saturating_mul(self.block_ms);
        Block { height, at: UnixMillis(self.genesis_at.0.saturating_add(after)) }
    }
}

async fn local(state: &State, network: &NetworkName) -> Result<Arc<Local>> {
    let known = |heights: &Heights| {
        heights.0.read().unwrap_or_else(PoisonError::into_inner).get(network).map(Arc::clone)
    };
    if let Some(found) = known(&state.heights) {
        return Ok(found);
    }
    start(state).await?;
    known(&state.heights).ok_or(Error::UnsupportedNetwork)
}

/// Starts the clocks of networks that were never asked about before.
pub async fn start(state: &State) -> Result<()> {
    let now = state.now();
    let clock = |network: &Network| ClockRow {
        network: network.name.clone(),
        genesis_at: now,
        block_ms: network.block_ms,
        sealed_height: 0,
    };
    let wanted: Vec<ClockRow> = state.networks().iter().map(clock).collect();
    block_clocks::ensure(&state.store, &wanted).await?;
    let rows = block_clocks::list(&state.store).await?;
    let mut known = state.heights.0.write().unwrap_or_else(PoisonError::into_inner);
    for row in &rows {
        known.entry(row.network.clone()).or_insert_with(|| Arc::new(Local::new(row)));
    }
    Ok(())
}

/// The newest block of a network: as its nodes say, or counted here.
pub async fn head(state: &State, network: &Network) -> Result<Block> {
    match state.chains.of(&network.name) {
        Some(chain) => chain.head(state.now()).await.map(Block::from).map_err(unavailable),
        None => Ok(local(state, &network.name).await?.head(state.now())),
    }
}

/// The newest block of a clock that counts here.
pub fn counted(clock: &ClockRow, now: UnixMillis) -> Block {
    Local::new(clock).head(now)
}

fn unavailable(error: pyxis_evm::Error) -> Error {
    Error::Unavailable(error.into())
}

impl From<pyxis_evm::Block> for Block {
    fn from(block: pyxis_evm::Block) -> Self {
        let height = i64::try_from(block.number).unwrap_or(i64::MAX);
        let seconds = i64::try_from(block.timestamp).unwrap_or(i64::MAX / 1000);
        Self { height, at: UnixMillis(seconds.saturating_mul(1000)) }
    }
}

/// The block that a question is about; `height` of the present state is `i64::MAX`. A block is sealed
/// before the caller looks at it. A height above the head is refused.
pub async fn at(state: &State, network: &Network, snapshot: Snapshot) -> Result<Block> {
    let Snapshot::Block(height) = snapshot else {
        return Ok(Block { height: i64::MAX, at: state.now() });
    };
    let local = local(state, &network.name).await?;
    let block = match state.chains.of(&network.name) {
        Some(chain) => mined(state, chain, height).await?,
        None if height > local.head(state.now()).height => return Err(Error::InvalidSnapshot),
        None => local.block(height),
    };
    if height > local.sealed.load(Ordering::Acquire) {
        let sealed = block_clocks::seal(&state.store, &network.name, height).await?;
        local.sealed.fetch_max(sealed.ok_or(Error::UnsupportedNetwork)?, Ordering::AcqRel);
    }
    Ok(block)
}

/// A block of a network with nodes.
async fn mined(state: &State, chain: &Chain, height: i64) -> Result<Block> {
    let number = u64::try_from(height).map_err(|_| Error::InvalidSnapshot)?;
    if chain.known_head().is_none_or(|head| number > head.number) {
        // It may have been mined since somebody last looked.
        let head = chain.newest(state.now()).await.map_err(unavailable)?;
        if number > head.number {
            return Err(Error::InvalidSnapshot);
        }
    }
    chain.block(number).await.map(Block::from).map_err(unavailable)
}

/// The heads of every network, for a change that will hold the clocks.
pub(crate) struct Heads(BTreeMap<NetworkName, i64>);

/// The heads now. A network whose head is not known has none, and cannot be written to.
pub(crate) async fn heads(state: &State) -> Result<Heads> {
    let mut heads = BTreeMap::new();
    for network in state.networks().iter() {
        match head(state, network).await {
            Ok(block) => drop(heads.insert(network.name.clone(), block.height)),
            Err(Error::Unavailable(error)) => {
                tracing::warn!(%error, network = %network.name, "the newest block is not known");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Heads(heads))
}

impl Heads {
    /// The block in which a change happens: the newest, or the one behind the last that was answered for.
    pub(crate) fn next(&self, clocks: &[ClockRow], network: &NetworkName) -> Option<i64> {
        let head = *self.0.get(network)?;
        let clock = clocks.iter().find(|clock| clock.network == *network)?;
        Some(head.max(clock.sealed_height + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_from_one_and_have_their_moment() {
        let local = Local { genesis_at: UnixMillis(10_000), block_ms: 2000, sealed: AtomicI64::new(0) };
        assert_eq!(local.head(UnixMillis(10_000)), Block { height: 1, at: UnixMillis(10_000) });
        assert_eq!(local.head(UnixMillis(13_999)), Block { height: 2, at: UnixMillis(12_000) });
        assert_eq!(local.head(UnixMillis(0)).height, 1);
        assert_eq!(local.block(3).at, UnixMillis(14_000));
    }

    #[test]
    fn a_change_happens_behind_the_last_block_that_was_answered_for() {
        let network: NetworkName = "optimism".parse().unwrap();
        let heads = Heads(BTreeMap::from([(network.clone(), 7)]));
        let clock = |sealed_height| {
            [ClockRow { network: network.clone(), genesis_at: UnixMillis(0), block_ms: 1, sealed_height }]
        };
        assert_eq!(heads.next(&clock(3), &network), Some(7));
        assert_eq!(heads.next(&clock(7), &network), Some(8));
        assert_eq!(heads.next(&clock(9), &network), Some(10));
        assert_eq!(heads.next(&clock(9), &"other".parse().unwrap()), None);
    }
}
