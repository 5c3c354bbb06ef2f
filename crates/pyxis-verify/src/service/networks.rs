//! Networks as people see them: sources of answers and current block.

use std::time::Duration;

use futures_util::future::join_all;
use pyxis_core::proof::Kind;
use tokio::time::Instant;

use super::Result;
use crate::block_height::{self, ClockBlock};
use crate::network::Network;
use crate::state::State;

#[derive(Clone, Debug)]
pub struct NetworkStatus<'a> {
    pub network: &'a Network,
    /// Kinds that it has checks of.
    pub kinds: Vec<Kind>,
    /// Source of the block count: `local` or `rpc`.
    pub clock: &'static str,
    /// Newest block and the time it took to query, or the reason why it is unknown.
    pub head: Result<(ClockBlock, Duration), String>,
}

/// Every network, queried in parallel.
pub async fn list(state: &State) -> Vec<NetworkStatus<'_>> {
    let asked: Vec<_> = state.networks().iter().map(|network| network_status(state, network)).collect();
    join_all(asked).await
}

async fn network_status<'a>(state: &State, network: &'a Network) -> NetworkStatus<'a> {
    let begun = Instant::now();
    let head = block_height::latest(state, network).await;
    NetworkStatus {
        network,
        kinds: Kind::ALL.into_iter().filter(|kind| network.checks(*kind)).collect(),
        clock: network.clock().as_str(),
        head: head.map(|block| (block, begun.elapsed())).map_err(|error| error.to_string()),
    }
}
