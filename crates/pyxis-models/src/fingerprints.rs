//! Which wallets' features a change of the activity can reach: told from a sign of everything that features look
//! at, so that only these are computed anew.
//!
//! The features of a wallet are made of its own transfers, of what its counterparties and the users that deal with
//! a rare one of them look like, and of what is the same for everybody. [`Sign`] and [`world`] name all of it: where
//! no sign changed, no feature did. Whatever features come to look at has to come in here.

use pyxis_core::address::EvmAddress;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::features;
use crate::graph::{Graph, Node};
use crate::peers::{PeerIndex, RARE};

/// What names an address as features see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Its transfers, which its own features are made of.
    pub own: i64,
    /// What the features of those who deal with it, or with the same rare addresses, see of it.
    pub seen: i64,
}

/// The sign of what all wallets look at: the moment from which ages are counted, everybody's first bridging, and
/// how features are computed.
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

/// The sign of every address, by its number.
pub fn of(graph: &Graph, peers: &PeerIndex) -> Vec<Fingerprint> {
    let nodes: Vec<Node> = graph.nodes().collect();
    nodes
        .par_iter()
        .map(|node| Fingerprint { own: own(graph, *node), seen: seen(graph, peers, *node) })
        .collect()
}

/// The start of a digest as a number.
pub fn start_of(digest: &[u8]) -> i64 {
    digest.first_chunk().map_or(0, |start| i64::from_le_bytes(*start))
}

/// Whether the features of each address, by its number, may be others than when `before` told its sign; `None` is
/// an address that was not there.
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

/// Numbers of addresses stand for the addresses: features are summed up and compared in their order.
fn own(graph: &Graph, node: Node) -> i64 {
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

fn seen(graph: &Graph, peers: &PeerIndex, node: Node) -> i64 {
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
