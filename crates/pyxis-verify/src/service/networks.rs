//! Networks as people see them: what each answers from, and which block it is there.

use std::time::Duration;

use pyxis_core::proof::Kind;
use tokio::time::Instant;

use super::Result;
use crate::heights::{self, Block};
use crate::network::Network;
use crate::state::State;

/// How a network is.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    /// The network.
    pub network: &'a Network,
    /// The kinds that it has checks of.
    pub kinds: Vec<Kind>,
    /// Where its blocks are counted: `local` or `rpc`.
    pub clock: &'static str,
    /// Its newest block, and how long it took to learn it; or why it is not known.
    pub head: Result<(Block, Duration), String>,
}

/// Every network.
pub async fn list(state: &State) -> Vec<Standing<'_>> {
    let mut all = Vec::new();
    for network in state.networks().iter() {
        let begun = Instant::now();
        let head = heights::head(state, network).await;
        all.push(Standing {
            network,
            kinds: Kind::ALL.into_iter().filter(|kind| network.checks(*kind)).collect(),
            clock: if network.rpc.is_some() { "rpc" } else { "local" },
            head: head.map(|block| (block, begun.elapsed())).map_err(|error| error.to_string()),
        });
    }
    all
}
