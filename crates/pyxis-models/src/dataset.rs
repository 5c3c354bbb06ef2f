//! Labeled addresses with their features, and fair ways to leave some out.

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::features::Features;
use crate::graph::Graph;
use crate::linked_users;
use crate::peers::PeerIndex;

/// Parts into which labeled addresses are split: each is left out once.
pub const FOLDS: u64 = 5;

/// A labeled address.
#[derive(Clone, Debug)]
pub struct Row {
    pub address: EvmAddress,
    /// True for a human.
    pub human: bool,
    /// Features; `None` means too little data.
    pub features: Option<Features>,
    /// Identifies the group of users that it belongs to: see `linked_users`.
    group: EvmAddress,
}

/// Ways to leave addresses out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// One by one.
    Random,
    /// Whole groups, so that no address is judged by its own neighbors or copies.
    Cluster,
}

impl Row {
    /// Identifier of the group with which the row is left out.
    pub const fn group(&self) -> EvmAddress {
        self.group
    }

    /// The same wallet as an indexer would describe it: by its own transfers. The popularity of its counterparties is
    /// known if these were imported.
    #[must_use]
    pub fn without_context(&self, graph: &Graph, imported: bool) -> Self {
        let features = graph.find(self.address).and_then(|node| Features::alone_in(graph, node, imported));
        Self { features, ..self.clone() }
    }

    /// The part in which the row is left out.
    pub fn fold_index(&self, split: Split, seed: u64) -> u64 {
        let name = match split {
            Split::Random => self.address,
            Split::Cluster => self.group,
        };
        drawn(name, seed) % FOLDS
    }

    /// A pseudorandom number derived from the address.
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

/// The rows of labeled addresses, in the order of the labels.
pub fn rows(graph: &Graph, peers: &PeerIndex, labels: &[(EvmAddress, bool)]) -> Vec<Row> {
    let groups = linked_users::names(graph, peers);
    let row = |(address, human): &(EvmAddress, bool)| {
        let node = graph.find(*address);
        Row {
            address: *address,
            human: *human,
            features: node.and_then(|node| Features::compute(graph, peers, node)),
            group: node.map_or(*address, |node| graph.address(groups[node as usize])),
        }
    };
    labels.par_iter().map(row).collect()
}

/// Fingerprint of the labels: the SHA-256 of all of them in order.
pub fn digest(labels: &[(EvmAddress, bool)]) -> String {
    let mut sum = Sha256::new();
    for (address, human) in labels {
        sum.update(address.0);
        sum.update([u8::from(*human)]);
    }
    hex::encode(&sum.finalize())
}
