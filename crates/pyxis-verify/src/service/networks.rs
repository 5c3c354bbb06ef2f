//! Networks as people see them: what each answers from, and which block it is there.

use std::time::Duration;

use futures_util::future::join_all;
use pyxis_core::proof::Kind;
use tokio::time::Instant;

use super::Result;
use crate::block_height::{self, ClockBlock};
use crate::network::Network;
use crate::state::State;

/// How a network is.
#[derive(Clone, Debug)]
pub struct NetworkStatus<'a> {
    /// The network.
    pub network: &'a Network,
    /// The kinds that it has checks of.
    pub kinds: Vec<Kind>,
    /// Where its blocks are counted: `local` or `rpc`.
    pub clock: &'static str,
    /// Its newest block, and how long it took to learn it; or why it is not known.
    pub head: Result<(ClockBlock, Duration), String>,
}

/// Every network. They are asked side by side.
pub async fn list(state: &State) -> Vec<NetworkStatus<'_>> {
    let asked: Vec<_> = state.networks().iter().map(|network| standing(state, network)).collect();
    join_all(asked).await
}

async fn standing<'a>(state: &State, network: &'a Network) -> NetworkStatus<'a> {
    let begun = Instant::now();
    let head = block_height::latest(state, network).await;
    NetworkStatus {
        network,
        kinds: Kind::ALL.into_iter().filter(|kind| network.checks(*kind)).collect(),
        clock: network.clock().as_str(),
        head: head.map(|block| (block, begun.elapsed())).map_err(|error| error.to_string()),
    }
}
