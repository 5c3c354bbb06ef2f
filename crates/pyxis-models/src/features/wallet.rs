//! Features of a wallet's surroundings: other users that fund, receive and move with it.
//!
//! A *peer* is a wallet of the population. Its first bridging is known or, if none is, it sends and receives and has
//! few counterparties (see [`PeerIndex`]).

use super::neighbors::Neighbors;
use super::{count, to_float};
use crate::graph::{Graph, Node};
use crate::peers::PeerIndex;

/// Names and plain words, in the order of [`measure`].
pub const NAMES: [(&str, &str); 24] = [
    ("chains", "chains with activity"),
    ("first_bridge_age_days", "days since the first bridge transfer"),
    ("bridge_volume", "volume bridged (logarithm of US dollars)"),
    ("peers", "users with direct transfers"),
    ("group_size", "users in the group that direct transfers connect it to"),
    ("peers_of_peers_mean", "mean number of direct peers of its direct peers"),
    ("two_steps", "users within two steps"),
    ("triangles", "pairs of its direct peers with transfers between them"),
    ("closure", "share of pairs of its direct peers with transfers between them"),
    ("shared_few", "counterparties shared with 1 to 8 other users"),
    ("shared_some", "counterparties shared with 9 to 48 other users"),
    ("shared_many", "counterparties shared with 49 to 298 other users"),
    ("shared_weight", "counterparties shared with other users, weighted by rarity"),
    ("twins", "users with a shared rare counterparty"),
    ("twin_overlap_max", "largest number of rare counterparties shared with one user"),
    ("twin_overlap_sum", "rare counterparties shared, summed over all users"),
    ("twin_similarity", "similarity to the most similar user, by rare counterparties"),
    ("near_copies", "users that share at least half of the rare counterparties"),
    ("funder_fanout", "addresses funded by the same small funder (largest number)"),
    ("sink_fanin", "addresses sending to the same small receiver (largest number)"),
    ("nearest_peer_hours", "hours to the nearest first bridge transfer of a direct peer"),
    ("median_peer_hours", "median hours to the first bridge transfers of its direct peers"),
    ("nearest_peer_volume", "difference in volume to its most similar direct peer"),
    ("same_day_peers", "direct peers who first bridged within a day"),
];

/// Counterparties with more counterparties than this serve the public and say nothing about ownership.
const SMALL: u32 = 300;

/// The numbers of [`NAMES`].
pub(super) fn measure(
    graph: &Graph,
    peers: &PeerIndex,
    node: Node,
    neighbors: &Neighbors,
) -> [f32; NAMES.len()] {
    let near = &neighbors.near;
    let mut numbers = [f32::NAN; NAMES.len()];
    let facts = graph.facts(node);
    let mut seen = 0_u32;
    for transfer in graph.transfers_of(node) {
        seen |= 1 << (transfer.chain as u8);
    }
    numbers[0] = to_float(seen.count_ones());
    if let (Some(facts), Some(latest)) = (facts, graph.latest()) {
        numbers[1] = to_float(latest.saturating_sub(facts.first_bridge)) / 86_400.0;
        numbers[2] = facts.volume_usd.max(0.0).ln_1p();
    }
    numbers[3..9].copy_from_slice(&peer_features(peers, node, near));
    numbers[9..18].copy_from_slice(&shared(peers, neighbors));
    let (fanout, fanin) = ownership(graph, peers, node);
    numbers[18] = fanout;
    numbers[19] = fanin;
    numbers[20..24].copy_from_slice(&bridged(graph, node, near));
    numbers
}

/// The graph of peers around a wallet.
fn peer_features(peers: &PeerIndex, node: Node, near: &[Node]) -> [f32; 6] {
    let group = near.iter().chain([&node]).map(|peer| peers.group_size(*peer)).max().unwrap_or(0);
    let degrees: usize = near.iter().map(|peer| peers.neighbors(*peer).len()).sum();
    let mean = if near.is_empty() { 0.0 } else { count(degrees) / count(near.len()) };
    let mut within: Vec<Node> =
        near.iter().flat_map(|peer| peers.neighbors(*peer)).chain(near).copied().collect();
    within.sort_unstable();
    within.dedup();
    let ends: usize = near
        .iter()
        .map(|peer| peers.neighbors(*peer).iter().filter(|other| near.binary_search(other).is_ok()).count())
        .sum();
    let triangles = ends / 2;
    let pairs = near.len() * near.len().saturating_sub(1) / 2;
    let closure = if pairs == 0 { 0.0 } else { count(triangles) / count(pairs) };
    [count(near.len()), count(group), mean, count(within.len()), count(triangles), closure]
}

/// Counterparties shared with other peers.
fn shared(peers: &PeerIndex, neighbors: &Neighbors) -> [f32; 9] {
    let mut bands = [0_usize; 3];
    let mut weight = 0.0_f64;
    for party in &neighbors.parties {
        let users = peers.touched_by(*party).len();
        if users < 2 {
            continue;
        }
        weight += 1.0 / f64::from(u32::try_from(users).unwrap_or(u32::MAX)).ln_1p();
        match users {
            2..10 => bands[0] += 1,
            10..50 => bands[1] += 1,
            50..300 => bands[2] += 1,
            _ => {}
        }
    }
    let twins = &neighbors.twins;
    let most = twins.iter().map(|twin| twin.both).max().unwrap_or(0);
    let sum: usize = twins.iter().map(|twin| twin.both).sum();
    let alike = twins.first().map_or(0.0, |twin| twin.likeness);
    let copies = twins.iter().filter(|twin| twin.likeness >= 0.5).count();
    #[expect(clippy::cast_possible_truncation, reason = "seven digits are enough")]
    let weight = weight as f32;
    let [few, some, many] = bands.map(count);
    [few, some, many, weight, count(twins.len()), count(most), count(sum), alike, count(copies)]
}

/// Fan-out of small funders and fan-in of small receivers.
fn ownership(graph: &Graph, peers: &PeerIndex, node: Node) -> (f32, f32) {
    let (mut fanout, mut fanin) = (0, 0);
    for transfer in graph.transfers_of(node) {
        if transfer.from == transfer.to {
            continue;
        }
        let incoming = transfer.to == node;
        let party = if incoming { transfer.from } else { transfer.to };
        if graph.popularity(party) > SMALL {
            continue;
        }
        let (out, into) = peers.degree(party);
        if incoming {
            fanout = fanout.max(out);
        } else {
            fanin = fanin.max(into);
        }
    }
    (to_float(fanout), to_float(fanin))
}

/// Distance to its peers' first bridgings, in time and volume.
fn bridged(graph: &Graph, node: Node, near: &[Node]) -> [f32; 4] {
    let mut numbers = [f32::NAN; 4];
    let Some(own) = graph.facts(node) else { return numbers };
    let others: Vec<_> = near.iter().filter_map(|peer| graph.facts(*peer)).collect();
    let mut hours: Vec<f32> =
        others.iter().map(|other| to_float(other.first_bridge.abs_diff(own.first_bridge)) / 3600.0).collect();
    hours.sort_unstable_by(f32::total_cmp);
    numbers[3] = count(hours.iter().filter(|hours| **hours < 24.0).count());
    if let Some(nearest) = hours.first() {
        let volume = |usd: f32| usd.max(0.0).ln_1p();
        let apart = others.iter().map(|other| (volume(other.volume_usd) - volume(own.volume_usd)).abs());
        numbers[0] = *nearest;
        numbers[1] = hours[hours.len() / 2];
        numbers[2] = apart.fold(f32::INFINITY, f32::min);
    }
    numbers
}
