//! Block heights, and the sealing that makes answers about a block permanent.
//!
//! The network's nodes count the blocks, or a local clock does. An answer about a block seals it: later registrations
//! happen in a later block, even within the same second. Nodes may take over from the local clock, not the other way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::proof::NetworkName;
use pyxis_evm::Chain;
use pyxis_store::block_clocks::{self, ClockKind, ClockRow};
use pyxis_store::proof_log;

use crate::chains::Chains;
use crate::clocks::LocalClock;
use crate::error::{Error, Result};
use crate::network::Network;
use crate::state::State;

pub use crate::clocks::{ClockBlock, newest_block};

/// The state that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshot {
    /// The current state.
    Latest,
    /// The state after a block.
    Block(i64),
}

async fn local(state: &State, network: &NetworkName) -> Result<Arc<LocalClock>> {
    if let Some(found) = state.clocks.get(network) {
        return Ok(found);
    }
    start(state).await?;
    state.clocks.get(network).ok_or(Error::UnsupportedNetwork(Vec::new()))
}

/// Starts the clocks of networks that were never asked about before. A network that has nodes now, and whose local
/// clock was used, is handed over to them, once.
pub async fn start(state: &State) -> Result<()> {
    let now = state.now();
    let clock = |network: &Network| ClockRow {
        network: network.name.clone(),
        genesis_at: now,
        block_ms: network.block_ms,
        sealed_height: 0,
        kind: Some(network.clock()),
        local_until: None,
        rpc_from: None,
    };
    let wanted: Vec<ClockRow> = state.networks().iter().map(clock).collect();
    block_clocks::ensure(&state.store, &wanted).await?;
    for row in block_clocks::list(&state.store).await? {
        let network = state.networks().find_by_name(row.network.as_str());
        if let Some(network) = network.filter(|network| row.kind != Some(network.clock()))
            && !block_clocks::set_kind(&state.store, &network.name, network.clock()).await?
        {
            hand_over(state, network).await?;
        }
    }
    state.clocks.start(&block_clocks::list(&state.store).await?);
    Ok(())
}

/// Lets the nodes of a network count its blocks from their newest one on.
async fn hand_over(state: &State, network: &Network) -> Result<()> {
    let refused = |reason: String| Error::OtherClock(format!("networks.{}: {reason}", network.name));
    let Some(chain) = state.chains.get(&network.name) else {
        return Err(refused(
            "its nodes counted its blocks until now, but its settings name none. Pyxis cannot go on \
             counting them: put rpc into its settings again"
                .to_owned(),
        ));
    };
    let head: ClockBlock = match chain.head(state.now()).await {
        Ok(block) => block.into(),
        Err(error) => {
            return Err(refused(format!(
                "Pyxis counted its blocks until now. To take over, its nodes must answer once, but: {error}. \
                 Start again when they answer, or take rpc out of its settings"
            )));
        }
    };
    let mut tx = state.store.begin().await?;
    let clocks = block_clocks::lock(&mut tx).await?;
    let Some(clock) = clocks.iter().find(|clock| clock.network == network.name) else { return Ok(()) };
    let counted = newest_block(clock, state.now()).height.max(clock.sealed_height);
    let local_until = counted.max(proof_log::highest(&mut tx, &network.name).await?);
    if head.height <= local_until && clock.kind == Some(ClockKind::Local) {
        return Err(refused(format!(
            "Pyxis has counted its blocks up to {local_until}, and its nodes are at {}. They can take over once \
             they are above that: take rpc out of its settings until then",
            head.height
        )));
    }
    // Another process may have handed it over meanwhile.
    block_clocks::hand_over(&mut tx, &network.name, local_until, head.height).await?;
    tx.commit().await?;
    Ok(())
}

/// A network's newest block, from its nodes or its local clock.
pub async fn latest(state: &State, network: &Network) -> Result<ClockBlock> {
    match state.chains.get(&network.name) {
        Some(chain) => Ok(chain.head(state.now()).await?.into()),
        None => Ok(local(state, &network.name).await?.head(state.now())),
    }
}

/// The preceding block, on a network with nodes.
pub(crate) async fn before(chains: &Chains, network: &Network, block: ClockBlock) -> Result<ClockBlock> {
    let number = block.height.checked_sub(1).and_then(|height| u64::try_from(height).ok());
    match (chains.get(&network.name), number) {
        (Some(chain), Some(number)) => Ok(chain.block(number, network.confirmations).await?.into()),
        _ => Err(Error::InvalidSnapshot),
    }
}

impl From<pyxis_evm::Block> for ClockBlock {
    fn from(block: pyxis_evm::Block) -> Self {
        let height = i64::try_from(block.number).unwrap_or(i64::MAX);
        let seconds = i64::try_from(block.timestamp).unwrap_or(i64::MAX / 1000);
        Self { height, at: UnixMillis(seconds.saturating_mul(1000)) }
    }
}

/// A block that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionBlock {
    /// Height in the registry, `i64::MAX` for the current state.
    pub registry_height: i64,
    /// Time of the block.
    pub at: UnixMillis,
    /// The nodes' block. `None` for the current state, and for a block that Pyxis counted.
    pub mined: Option<ClockBlock>,
    /// True for a block that Pyxis counted before the nodes took over. The network's contracts were not asked then.
    pub before_nodes: bool,
}

impl QuestionBlock {
    fn of_registry(ClockBlock { height, at }: ClockBlock, before_nodes: bool) -> Self {
        Self { registry_height: height, at, mined: None, before_nodes }
    }
}

/// The block that a question is about. It is sealed before the caller reads it. A height above the head is refused.
pub async fn resolve(state: &State, network: &Network, snapshot: Snapshot) -> Result<QuestionBlock> {
    let Snapshot::Block(height) = snapshot else {
        return Ok(QuestionBlock::of_registry(ClockBlock { height: i64::MAX, at: state.now() }, false));
    };
    let local = local(state, &network.name).await?;
    let block = match state.chains.get(&network.name) {
        Some(_) if local.counted_here(height) => QuestionBlock::of_registry(local.block(height), true),
        Some(chain) => {
            let mined = mined(&*state.clock, (network, chain), height).await?;
            let registry_height = local.registry_height(mined);
            QuestionBlock { registry_height, at: mined.at, mined: Some(mined), before_nodes: false }
        }
        None if height > local.head(state.now()).height => return Err(Error::InvalidSnapshot),
        None => QuestionBlock::of_registry(local.block(height), false),
    };
    if height > local.sealed() {
        let sealed = block_clocks::seal(&state.store, &network.name, height).await?;
        local.note_sealed(sealed.ok_or(Error::UnsupportedNetwork(Vec::new()))?);
    }
    Ok(block)
}

/// A block of a network with nodes.
async fn mined(clock: &dyn Clock, (network, chain): (&Network, &Chain), height: i64) -> Result<ClockBlock> {
    let number = u64::try_from(height).map_err(|_| Error::InvalidSnapshot)?;
    if chain.known_head().is_none_or(|head| number > head.number) {
        // It may have been mined since the last query, and the node that is asked first may lag behind.
        let head = chain.newest(clock.now()).await?;
        let head = if number > head.number { chain.highest(clock.now()).await? } else { head };
        if number > head.number {
            return Err(Error::InvalidSnapshot);
        }
    }
    Ok(chain.block(number, network.confirmations).await?.into())
}

/// The heads of some networks, for a change that will hold the clocks. `None`: the head is unknown, so the network
/// cannot be written to.
pub(crate) struct NetworkHeads(BTreeMap<NetworkName, Option<(i64, ClockKind)>>);

/// The current heads of these networks. They are queried in parallel, and no other network is. So a node that hangs
/// delays only its own network.
pub(crate) async fn fetch_heads(state: &State, networks: &BTreeSet<NetworkName>) -> Result<NetworkHeads> {
    ready(state).await?;
    let known = networks.iter().filter_map(|name| state.networks().find_by_name(name.as_str()));
    let asked: Vec<_> = known.map(|network| fetch_head(state, network)).collect();
    join_all(asked).await.into_iter().collect::<Result<_>>().map(NetworkHeads)
}

/// The head of a network, and the kind of clock that counted it.
async fn fetch_head(state: &State, network: &Network) -> Result<(NetworkName, Option<(i64, ClockKind)>)> {
    let head = match latest(state, network).await {
        Ok(block) => Some((block.height, network.clock())),
        Err(error @ (Error::Unavailable(_) | Error::Behind(_))) => {
            let error = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(error, network = %network.name, "the newest block is unknown");
            None
        }
        Err(error) => return Err(error),
    };
    Ok((network.name.clone(), head))
}

/// Starts the clocks if none runs yet.
async fn ready(state: &State) -> Result<()> {
    if state.clocks.is_empty() { start(state).await } else { Ok(()) }
}

impl NetworkHeads {
    /// True if a network was queried, whatever the result.
    pub(crate) fn was_queried(&self, network: &NetworkName) -> bool {
        self.0.contains_key(network)
    }

    /// The block in which a change happens: the newest, or the one after the last that was answered for.
    pub(crate) fn next(&self, clocks: &[ClockRow], network: &NetworkName) -> Option<i64> {
        let (head, kind) = (*self.0.get(network)?)?;
        // A node with other settings may have used the clock since.
        let clock = clocks.iter().find(|clock| clock.network == *network && clock.kind == Some(kind))?;
        Some(head.max(clock.sealed_height + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_happens_behind_the_last_block_that_was_answered_for() {
        let network: NetworkName = "optimism".parse().unwrap();
        let dead: NetworkName = "gnosis".parse().unwrap();
        let of_kind =
            |kind| NetworkHeads(BTreeMap::from([(network.clone(), Some((7, kind))), (dead.clone(), None)]));
        let heads = of_kind(ClockKind::Local);
        let clock = |sealed_height| {
            let (network, kind) = (network.clone(), Some(ClockKind::Local));
            let (genesis_at, handover) = (UnixMillis(0), None);
            let (local_until, rpc_from) = (handover, handover);
            [ClockRow { network, genesis_at, block_ms: 1, sealed_height, kind, local_until, rpc_from }]
        };
        assert_eq!(heads.next(&clock(3), &network), Some(7));
        assert_eq!(heads.next(&clock(7), &network), Some(8));
        assert_eq!(heads.next(&clock(9), &network), Some(10));
        assert_eq!(heads.next(&clock(9), &dead), None);
        assert_eq!(heads.next(&clock(9), &"other".parse().unwrap()), None);
        assert_eq!(of_kind(ClockKind::Rpc).next(&clock(3), &network), None);
        assert!(heads.was_queried(&dead) && !heads.was_queried(&"other".parse().unwrap()));
    }
}
