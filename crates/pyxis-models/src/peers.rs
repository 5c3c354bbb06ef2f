//! The population of wallets, and what its members have in common. Computed once for a graph.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::cohort::{Cohort, GroupFacts};
use crate::graph::{Graph, Node};

/// Maximum number of counterparties of a peer if no first bridging is known at all.
const MOST_PARTIES: u32 = 100;
/// A counterparty of this many peers is not rare.
pub(crate) const RARE: usize = 100;

/// Lists of nodes by node, one after the other.
#[derive(Clone, Debug, Default)]
struct Lists {
    starts: Vec<u32>,
    nodes: Vec<Node>,
}

impl Lists {
    fn get(&self, node: Node) -> &[Node] {
        &self.nodes[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    fn from_lists(lists: &[Vec<Node>]) -> Self {
        let mut starts = Vec::with_capacity(lists.len() + 1);
        let mut nodes = Vec::with_capacity(lists.iter().map(Vec::len).sum());
        starts.push(0);
        for list in lists {
            nodes.extend_from_slice(list);
            starts.push(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
        }
        Self { starts, nodes }
    }
}

/// Peers and their relations.
#[derive(Clone, Debug)]
pub struct PeerIndex {
    is_peer: Vec<bool>,
    /// For each peer, the peers it deals with, in order.
    neighbors: Lists,
    /// For each address, the peers that deal with it, in order.
    touched_by: Lists,
    /// For each peer, the smallest number of its group, and the group's size.
    groups: Vec<Node>,
    sizes: Vec<u32>,
    /// For each peer, its number of rare counterparties.
    rare: Vec<u32>,
    /// For each address, distinct recipients and distinct senders.
    degrees: Vec<(u32, u32)>,
    /// First bridgings with their times.
    cohort: Cohort,
    /// Common features of each group of at least two members, by group identifier.
    group_facts: HashMap<Node, GroupFacts>,
}

impl PeerIndex {
    /// Builds the index from the whole graph.
    pub fn build(graph: &Graph) -> Self {
        let is_peer: Vec<bool> = graph.nodes().map(|node| belongs(graph, node)).collect();
        let nodes: Vec<Node> = graph.nodes().collect();
        let touched_by: Vec<Vec<Node>> = nodes
            .par_iter()
            .map(|node| {
                let mut parties = graph.parties(*node);
                parties.retain(|party| is_peer[*party as usize]);
                parties
            })
            .collect();
        let neighbors: Vec<Vec<Node>> = touched_by
            .iter()
            .zip(&is_peer)
            .map(|(list, peer)| if *peer { list.clone() } else { Vec::new() })
            .collect();
        let (neighbors, touched_by) = (Lists::from_lists(&neighbors), Lists::from_lists(&touched_by));
        let groups = groups(&neighbors, nodes.len());
        let mut sizes = vec![0; nodes.len()];
        for (group, peer) in groups.iter().zip(&is_peer) {
            sizes[*group as usize] += u32::from(*peer);
        }
        let degrees = nodes.par_iter().map(|node| count_peers(graph, *node)).collect();
        let cohort = Cohort::from_graph(graph);
        let group_facts = group_facts(&cohort, &neighbors, &groups, &is_peer);
        let mut peers = Self {
            is_peer,
            neighbors,
            touched_by,
            groups,
            sizes,
            rare: Vec::new(),
            degrees,
            cohort,
            group_facts,
        };
        peers.rare = nodes
            .par_iter()
            .map(|node| {
                let counted = if peers.is_peer(*node) { peers.rare(&graph.parties(*node)) } else { 0 };
                u32::try_from(counted).unwrap_or(u32::MAX)
            })
            .collect();
        peers
    }

    /// True if an address belongs to the population.
    pub fn is_peer(&self, node: Node) -> bool {
        self.is_peer[node as usize]
    }

    /// The peers that a peer deals with, in order; empty for others.
    pub fn neighbors(&self, node: Node) -> &[Node] {
        self.neighbors.get(node)
    }

    /// The peers that deal with any address, in order.
    pub fn touched_by(&self, node: Node) -> &[Node] {
        self.touched_by.get(node)
    }

    /// Number of peers that direct transfers connect to a peer, itself included.
    pub fn group_size(&self, node: Node) -> usize {
        self.sizes[self.group(node) as usize] as usize
    }

    /// Identifier of a peer's group: its smallest number.
    pub fn group(&self, node: Node) -> Node {
        self.groups[node as usize]
    }

    /// First bridgings with their times.
    pub(crate) const fn cohort(&self) -> &Cohort {
        &self.cohort
    }

    /// Common features of a peer's group.
    pub(crate) fn group_facts(&self, node: Node) -> GroupFacts {
        self.group_facts.get(&self.group(node)).copied().unwrap_or(GroupFacts::UNKNOWN)
    }

    /// Number of rare counterparties: those of 2 to 99 peers.
    pub(crate) fn rare(&self, parties: &[Node]) -> usize {
        parties.iter().filter(|party| (2..RARE).contains(&self.touched_by(**party).len())).count()
    }

    /// Number of a peer's rare counterparties.
    pub(crate) fn rare_of(&self, node: Node) -> usize {
        self.rare[node as usize] as usize
    }

    /// Distinct recipients and distinct senders of an address.
    pub(crate) fn degree(&self, node: Node) -> (u32, u32) {
        self.degrees[node as usize]
    }
}

fn belongs(graph: &Graph, node: Node) -> bool {
    if graph.has_facts() {
        return graph.facts(node).is_some();
    }
    let (mut sent, mut received) = (false, false);
    for transfer in graph.transfers_of(node) {
        sent |= transfer.from == node;
        received |= transfer.to == node;
    }
    sent && received && graph.popularity(node) <= MOST_PARTIES
}

fn count_peers(graph: &Graph, node: Node) -> (u32, u32) {
    let count = |outgoing: bool| {
        let ends = graph.transfers_of(node).filter(|transfer| transfer.from != transfer.to);
        let mut others: Vec<Node> = ends
            .filter(|transfer| (transfer.from == node) == outgoing)
            .map(|transfer| if outgoing { transfer.to } else { transfer.from })
            .collect();
        others.sort_unstable();
        others.dedup();
        u32::try_from(others.len()).unwrap_or(u32::MAX)
    };
    (count(true), count(false))
}

fn group_facts(
    cohort: &Cohort,
    neighbors: &Lists,
    groups: &[Node],
    is_peer: &[bool],
) -> HashMap<Node, GroupFacts> {
    let mut members: HashMap<Node, Vec<Node>> = HashMap::new();
    for (node, (group, _)) in (0..).zip(groups.iter().zip(is_peer)).filter(|(_, (_, is_peer))| **is_peer) {
        members.entry(*group).or_default().push(node);
    }
    let facts = |(group, members): (Node, Vec<Node>)| {
        let links = members.iter().map(|node| neighbors.get(*node).len()).sum();
        (group, cohort.group(&members, links))
    };
    members.into_iter().filter(|(_, members)| members.len() > 1).map(facts).collect()
}

/// The smallest node that each node is connected to.
fn groups(neighbors: &Lists, nodes: usize) -> Vec<Node> {
    let mut groups: Vec<Node> = (0..Node::try_from(nodes).unwrap_or(Node::MAX)).collect();
    let mut done = vec![false; nodes];
    for start in groups.clone() {
        if std::mem::replace(&mut done[start as usize], true) {
            continue;
        }
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            groups[node as usize] = start;
            let fresh = neighbors
                .get(node)
                .iter()
                .filter(|other| !std::mem::replace(&mut done[**other as usize], true));
            open.extend(fresh);
        }
    }
    groups
}
