//! Labelled addresses with their features, and fair ways to leave some out.

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::features::Features;
use crate::graph::Graph;
use crate::linked_users;
use crate::peers::PeerIndex;

/// Parts into which labelled addresses are cut: each is left out once.
pub const FOLDS: u64 = 5;

/// A labelled address.
#[derive(Clone, Debug)]
pub struct Row {
    /// The address.
    pub address: EvmAddress,
    /// True if it is a human.
    pub human: bool,
    /// What is known; `None` is too little.
    pub features: Option<Features>,
    /// What names the group of users that it belongs to: see [`joined`].
    group: EvmAddress,
}

/// How addresses are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// One by one.
    Random,
    /// Whole groups, so that nobody is judged by its own neighbours or copies.
    Cluster,
}

impl Row {
    /// What names the group of which the row is left out as a part.
    pub const fn group(&self) -> EvmAddress {
        self.group
    }

    /// The same wallet as an indexer would tell of it: by its own transfers. How popular its counterparties are
    /// is known where these were imported.
    #[must_use]
    pub fn alone(&self, graph: &Graph, imported: bool) -> Self {
        let features = graph.find(self.address).and_then(|node| Features::alone_in(graph, node, imported));
        Self { features, ..self.clone() }
    }

    /// The part in which the row is left out.
    pub fn fold(&self, split: Split, seed: u64) -> u64 {
        let name = match split {
            Split::Random => self.address,
            Split::Cluster => self.group,
        };
        drawn(name, seed) % FOLDS
    }

    /// A number without a pattern that belongs to the address.
    pub fn lot(&self, seed: u64) -> u64 {
        drawn(self.address, seed) / FOLDS
    }
}

fn drawn(name: EvmAddress, seed: u64) -> u64 {
    let digest = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(name.0).finalize();
    let mut start = [0; 8];
    start.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(start)
}

/// The rows of labelled addresses, in the order of the labels.
pub fn rows(graph: &Graph, peers: &PeerIndex, labels: &[(EvmAddress, bool)]) -> Vec<Row> {
    let groups = linked_users::names(graph, peers);
    let row = |(address, human): &(EvmAddress, bool)| {
        let node = graph.find(*address);
        Row {
            address: *address,
            human: *human,
            features: node.and_then(|node| Features::of(graph, peers, node)),
            group: node.map_or(*address, |node| graph.address(groups[node as usize])),
        }
    };
    labels.par_iter().map(row).collect()
}

/// What names the labels: the SHA-256 of all of them in order.
pub fn digest(labels: &[(EvmAddress, bool)]) -> String {
    let mut sum = Sha256::new();
    for (address, human) in labels {
        sum.update(address.0);
        sum.update([u8::from(*human)]);
    }
    hex::encode(&sum.finalize())
}
