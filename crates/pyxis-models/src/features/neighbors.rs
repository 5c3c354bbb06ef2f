//! A wallet's counterparties and the users that share them: looked up once for all of its features.

use super::count;
use crate::graph::{Graph, Node};
use crate::peers::{PeerIndex, RARE};

/// Surroundings of a wallet.
pub(super) struct Neighbors {
    /// All counterparties, in order.
    pub(super) parties: Vec<Node>,
    /// Counterparties that are users, in order.
    pub(super) near: Vec<Node>,
    /// Most similar first.
    pub(super) twins: Vec<Twin>,
}

/// A user with a rare counterparty in common.
pub(super) struct Twin {
    pub(super) node: Node,
    /// Share of common rare counterparties, out of all that either has.
    pub(super) likeness: f32,
    /// Number of common rare counterparties.
    pub(super) both: usize,
}

impl Neighbors {
    pub(super) fn compute(graph: &Graph, peers: &PeerIndex, node: Node) -> Self {
        let parties = graph.parties(node);
        let near = parties.iter().copied().filter(|party| peers.is_peer(*party)).collect();
        let twins = twins(peers, node, &parties);
        Self { parties, near, twins }
    }
}

fn twins(peers: &PeerIndex, node: Node, parties: &[Node]) -> Vec<Twin> {
    let mut met: Vec<Node> = Vec::new();
    for party in parties {
        let users = peers.touched_by(*party);
        if (2..RARE).contains(&users.len()) {
            met.extend(users.iter().filter(|other| **other != node));
        }
    }
    met.sort_unstable();
    let own = peers.rare(parties);
    let mut twins: Vec<Twin> = met
        .chunk_by(|one, next| one == next)
        .map(|run| {
            let both = run.len();
            let union = own + peers.rare_of(run[0]) - both;
            Twin { node: run[0], likeness: count(both) / count(union.max(1)), both }
        })
        .collect();
    twins.sort_unstable_by(|one, other| {
        let likeness = other.likeness.total_cmp(&one.likeness);
        likeness.then(other.both.cmp(&one.both)).then(one.node.cmp(&other.node))
    });
    twins
}
