//! Users that belong together: those that direct transfers connect, and those that a small funder or sink connects if
//! further evidence supports it.
//!
//! A common funder or sink is not enough: a shop has customers. Two of its users are joined when they first bridged
//! within minutes of each other. If no bridgings are known, the times at which it funded them or they paid it count
//! instead. They are also joined when their rare counterparties are nearly the same. An address that serves many joins
//! no one. Users of one address are sorted and compared with their neighbors only. So the work grows with the number of
//! transfers and not with the square of anything.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::cast::count;
use crate::graph::{Graph, Node};
use crate::peers::{PeerIndex, RARE};

/// A funder or sink with more counterparties than this serves the public.
pub(crate) const SMALL: u32 = 300;
/// Maximum seconds between two users that arrived together.
const CO_ARRIVAL_SECS: u32 = 600;
/// Minimum share of common rare counterparties, out of all that either has, for copies; at least two of them.
const ALIKE: f32 = 0.75;
const LEAST_ALIKE: usize = 2;
/// A user with more rare counterparties than this is too active to count as a copy.
const MOST_RARE: usize = 200;
/// Number of orders for finding copies: two similar sets begin alike in most of them.
const ORDERS: usize = 4;

/// For each address, the identifier of its set of users: the smallest number in the set. An address that is not a user
/// is alone.
pub(crate) fn names(graph: &Graph, peers: &PeerIndex) -> Vec<Node> {
    let looks: Vec<RareCounterparties> = graph
        .nodes()
        .collect::<Vec<_>>()
        .par_iter()
        .map(|node| RareCounterparties::compute(graph, peers, *node))
        .collect();
    let mut sets = Sets((0..).take(graph.len()).collect());
    for node in graph.nodes().filter(|node| peers.is_peer(*node)) {
        sets.join(node, peers.group(node));
    }
    let hubs: Vec<Node> = graph.nodes().filter(|node| is_small(graph, peers, *node)).collect();
    let found: Vec<Vec<(Node, Node)>> =
        hubs.par_iter().map(|hub| pairs(graph, peers, &looks, *hub)).collect();
    for (one, other) in found.into_iter().flatten() {
        sets.join(one, other);
    }
    graph.nodes().map(|node| sets.find(node)).collect()
}

/// Users that belong together, each set in order.
pub(crate) fn groups(graph: &Graph, peers: &PeerIndex) -> Vec<Vec<Node>> {
    let names = names(graph, peers);
    let mut members: HashMap<Node, Vec<Node>> = HashMap::new();
    for node in graph.nodes().filter(|node| peers.is_peer(*node)) {
        members.entry(names[node as usize]).or_default().push(node);
    }
    members.into_values().collect()
}

/// True if an address may connect its users: few peers deal with it. A user is connected directly already.
fn is_small(graph: &Graph, peers: &PeerIndex, node: Node) -> bool {
    !peers.is_peer(node)
        && graph.popularity(node) <= SMALL
        && (2..RARE).contains(&peers.touched_by(node).len())
}

/// A user's rare counterparties, in order, and their start in each order; empty for others.
#[derive(Default)]
struct RareCounterparties {
    rare: Vec<Node>,
    begins: [u64; ORDERS],
}

impl RareCounterparties {
    fn compute(graph: &Graph, peers: &PeerIndex, node: Node) -> Self {
        if !peers.is_peer(node) || !(LEAST_ALIKE..=MOST_RARE).contains(&peers.rare_of(node)) {
            return Self::default();
        }
        let mut rare = graph.parties(node);
        rare.retain(|party| (2..RARE).contains(&peers.touched_by(*party).len()));
        let mut begins = [u64::MAX; ORDERS];
        for (salt, begin) in (1_u64..).zip(&mut begins) {
            *begin =
                rare.iter().map(|party| mixed(u64::from(*party) ^ (salt << 32))).min().unwrap_or(u64::MAX);
        }
        Self { rare, begins }
    }

    fn is_like(&self, other: &Self) -> bool {
        let both = self.rare.iter().filter(|party| other.rare.binary_search(party).is_ok()).count();
        let either = self.rare.len() + other.rare.len() - both;
        both >= LEAST_ALIKE && count(both) >= ALIKE * count(either)
    }
}

/// A pseudorandom number, the same on every machine.
const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The users of an address that belong together: among those that it funded, and among those that paid it.
fn pairs(graph: &Graph, peers: &PeerIndex, looks: &[RareCounterparties], hub: Node) -> Vec<(Node, Node)> {
    let mut found = Vec::new();
    for funded in [true, false] {
        let mut users: HashMap<Node, Option<u32>> = HashMap::new();
        for transfer in graph.transfers_of(hub).filter(|transfer| (transfer.from == hub) == funded) {
            let user = if funded { transfer.to } else { transfer.from };
            if peers.is_peer(user) {
                let time = transfer.time.map(std::num::NonZeroU32::get);
                let first = users.entry(user).or_insert(time);
                *first = first.iter().chain(&time).min().copied();
            }
        }
        let mut users: Vec<(Node, Option<u32>)> = users.into_iter().collect();
        users.sort_unstable();
        let arrived = |(user, first): &(Node, Option<u32>)| {
            let known = peers.cohort().arrival(*user).map(|arrival| arrival.at);
            let at = if graph.has_facts() { known } else { *first };
            Some((at?, *user))
        };
        let mut times: Vec<(u32, Node)> = users.iter().filter_map(arrived).collect();
        times.sort_unstable();
        let close = times.windows(2).filter(|pair| pair[1].0 - pair[0].0 <= CO_ARRIVAL_SECS);
        found.extend(close.map(|pair| (pair[0].1, pair[1].1)));
        found.extend(copies(looks, &users));
    }
    found
}

/// Users with nearly the same rare counterparties.
fn copies(looks: &[RareCounterparties], users: &[(Node, Option<u32>)]) -> Vec<(Node, Node)> {
    let look = |user: Node| &looks[user as usize];
    let mut users: Vec<Node> =
        users.iter().map(|(user, _)| *user).filter(|user| !look(*user).rare.is_empty()).collect();
    let mut found = Vec::new();
    for order in 0..ORDERS {
        users.sort_unstable_by_key(|user| (look(*user).begins[order], look(*user).rare.len(), *user));
        let alike = users.windows(2).filter(|pair| look(pair[0]).is_like(look(pair[1])));
        found.extend(alike.map(|pair| (pair[0], pair[1])));
    }
    found
}

/// Sets of nodes, each identified by its smallest node.
struct Sets(Vec<Node>);

impl Sets {
    fn find(&mut self, mut node: Node) -> Node {
        while self.0[node as usize] != node {
            let above = self.0[self.0[node as usize] as usize];
            self.0[node as usize] = above;
            node = above;
        }
        node
    }

    fn join(&mut self, one: Node, other: Node) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}
