//! The wallets whose features an activity change can affect, so that only these are recomputed. It keeps a fingerprint
//! of every input of the features.
//!
//! A wallet's features depend on its own transfers, on its counterparties and on global data. They also depend on the
//! users that share a rare counterparty. [`Fingerprint`] and [`global_fingerprint`] cover all of it: if no fingerprint
//! changed, no feature did. Any new input of features must be added here.

use pyxis_core::address::EvmAddress;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::features;
use crate::graph::{Graph, Node};
use crate::peers::{PeerIndex, RARE};

/// Fingerprint of an address as features see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Its transfers, the basis of its own features.
    pub own: i64,
    /// Its data that affects the features of its counterparties and of users with the same rare addresses.
    pub seen: i64,
}

/// The fingerprint of global data: the moment from which ages are counted, all first bridgings, and the version of the
/// features.
pub fn global_fingerprint(graph: &Graph, peers: &PeerIndex) -> i64 {
    let mut sum = Sha256::new();
    sum.update(format!("{} {} ", features::COMPUTED, features::names_digest()));
    sum.update(format!("{:?} {} ", graph.latest(), graph.has_facts()));
    for arrival in peers.cohort().all() {
        sum.update(arrival.at.to_le_bytes());
        sum.update(arrival.volume.to_le_bytes());
        sum.update(arrival.node.to_le_bytes());
    }
    start_of(&sum.finalize())
}

/// The fingerprint of every address, by its number.
pub fn compute(graph: &Graph, peers: &PeerIndex) -> Vec<Fingerprint> {
    let nodes: Vec<Node> = graph.nodes().collect();
    nodes
        .par_iter()
        .map(|node| Fingerprint {
            own: own_fingerprint(graph, *node),
            seen: fingerprint_node(graph, peers, *node),
        })
        .collect()
}

/// The start of a digest as a number.
pub fn start_of(digest: &[u8]) -> i64 {
    digest.first_chunk().map_or(0, |start| i64::from_le_bytes(*start))
}

/// For each address, by number: true if its features may differ from those at the time of `before`, its earlier
/// fingerprint. `None` is an address that was not there.
pub fn affected(
    graph: &Graph,
    peers: &PeerIndex,
    signs: &[Fingerprint],
    before: impl Fn(EvmAddress) -> Option<Fingerprint>,
) -> Vec<bool> {
    let mut reached = vec![false; graph.len()];
    for (node, sign) in graph.nodes().zip(signs) {
        let before = before(graph.address(node));
        reached[node as usize] |= before != Some(*sign);
        if before.is_some_and(|before| before.seen == sign.seen) {
            continue;
        }
        for party in graph.parties(node) {
            reached[party as usize] = true;
            // Users of a rare address are compared with each other.
            if peers.is_peer(node) && (2..RARE).contains(&peers.touched_by(party).len()) {
                for other in graph.parties(party) {
                    reached[other as usize] = true;
                }
            }
        }
    }
    reached
}

/// Includes the numbers of addresses: features are summed up and compared in their order.
fn own_fingerprint(graph: &Graph, node: Node) -> i64 {
    let mut sum = Sha256::new();
    sum.update(node.to_le_bytes());
    for transfer in graph.transfers_of(node) {
        sum.update(transfer.from.to_le_bytes());
        sum.update(transfer.to.to_le_bytes());
        sum.update(transfer.time.map_or(0, std::num::NonZeroU32::get).to_le_bytes());
        sum.update([transfer.chain as u8, transfer.kind as u8, transfer.round.map_or(2, u8::from)]);
    }
    start_of(&sum.finalize())
}

fn fingerprint_node(graph: &Graph, peers: &PeerIndex, node: Node) -> i64 {
    let mut sum = Sha256::new();
    let (receivers, senders) = peers.degree(node);
    let users = peers.touched_by(node);
    for number in [node, graph.popularity(node), receivers, senders, u32::from(peers.is_peer(node))] {
        sum.update(number.to_le_bytes());
    }
    if let Some(facts) = graph.facts(node) {
        sum.update(facts.first_bridge.to_le_bytes());
        sum.update(facts.volume_usd.to_le_bytes());
    }
    sum.update(users.len().to_le_bytes());
    if peers.is_peer(node) || users.len() < RARE {
        for user in users {
            sum.update(user.to_le_bytes());
        }
    }
    if peers.is_peer(node) {
        let group = peers.group_facts(node);
        sum.update(peers.group(node).to_le_bytes());
        sum.update(peers.group_size(node).to_le_bytes());
        sum.update(peers.rare_of(node).to_le_bytes());
        for fact in [group.gap_hours, group.links, group.spread] {
            sum.update(fact.to_le_bytes());
        }
    }
    start_of(&sum.finalize())
}

#[cfg(test)]
mod tests;
