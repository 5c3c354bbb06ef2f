//! Wallets that arrived together: at the same time, with the same volume, with the same counterparties.

use super::count;
use super::neighbors::{Neighbors, Twin};
use crate::cohort::FirstBridging;
use crate::graph::{Graph, Node};
use crate::peers::PeerIndex;

/// Names and plain words, in the order of [`measure`].
pub const NAMES: [(&str, &str); 24] = [
    ("cohort_ten_minutes", "users whose first bridge transfer was within ten minutes"),
    ("cohort_hour", "users whose first bridge transfer was within an hour"),
    ("cohort_alike", "users with a similar volume whose first bridge transfer was within a day"),
    ("volume_copies", "users with nearly the same volume"),
    ("cohort_nearest", "distance to the most similar user who first bridged just before or after"),
    ("twin_best_hours", "hours to the first bridge transfer of the most similar user"),
    (
        "twin_near_hours",
        "hours to the nearest first bridge transfer of a user with a shared rare counterparty",
    ),
    ("twin_best_volume", "difference in volume to the most similar user"),
    ("twin_best_parties", "difference in counterparties to the most similar user"),
    ("twins_same_hour", "users with a shared rare counterparty who first bridged within an hour"),
    ("twins_same_day", "users with a shared rare counterparty who first bridged within a day"),
    ("twin_second", "similarity to the second most similar user, by rare counterparties"),
    ("twin_five", "similarity to the five most similar users, by rare counterparties"),
    ("peers_in", "other users it received from"),
    ("peers_out", "other users it sent to"),
    ("peer_transfers", "transfers with other users"),
    ("peer_share", "share of transfers with other users"),
    ("peer_likeness", "similarity to its direct peers, by rare counterparties"),
    ("peer_volume_spread", "spread of volume among its direct peers"),
    ("peer_parties", "difference in counterparties to its most similar direct peer"),
    ("group_gap_hours", "median hours between first bridge transfers in its group"),
    ("group_links", "links per user in its group"),
    ("group_volume_spread", "spread of volume in its group"),
    ("many_chains_share", "share of counterparties met on more than one chain"),
];

/// Maximum number of peers that are compared.
const LOOKED_AT: usize = 50;
/// Volumes (logarithms) within this distance are similar.
const ALIKE: f32 = 0.1;

/// The numbers of [`NAMES`].
pub(super) fn measure(
    graph: &Graph,
    peers: &PeerIndex,
    node: Node,
    neighbors: &Neighbors,
) -> [f32; NAMES.len()] {
    let Neighbors { parties, near, twins } = neighbors;
    let mut numbers = [f32::NAN; NAMES.len()];
    let own = peers.cohort().arrival(node);
    if let Some(own) = own {
        numbers[..5].copy_from_slice(&cohort(peers, own));
    }
    numbers[5..13].copy_from_slice(&alike(graph, peers, own, parties, twins));
    numbers[13..17].copy_from_slice(&with_peers(graph, node, near));
    if !near.is_empty() {
        numbers[17..20].copy_from_slice(&of_peers(graph, peers, parties, near, twins));
    }
    let largest =
        near.iter().chain([&node]).max_by_key(|peer| (peers.group_size(**peer), peers.group(**peer)));
    let group = peers.group_facts(*largest.unwrap_or(&node));
    numbers[20..23].copy_from_slice(&[group.gap_hours, group.links, group.spread]);
    numbers[23] = many_chains(graph, node, parties);
    numbers
}

fn cohort(peers: &PeerIndex, own: FirstBridging) -> [f32; 5] {
    let cohort = peers.cohort();
    let others = |seconds: u32| count(cohort.around(own, seconds).len().saturating_sub(1));
    let day = cohort.around(own, 86_400).iter();
    let alike = day.filter(|other| (other.volume - own.volume).abs() < ALIKE).count();
    [
        others(600),
        others(3_600),
        count(alike.saturating_sub(1)),
        count(cohort.same_volume(own).saturating_sub(1)),
        cohort.most_alike(own),
    ]
}

fn alike(
    graph: &Graph,
    peers: &PeerIndex,
    own: Option<FirstBridging>,
    parties: &[Node],
    twins: &[Twin],
) -> [f32; 8] {
    let hours = |twin: &Twin| {
        own.zip(peers.cohort().arrival(twin.node)).map_or(f32::NAN, |(own, other)| own.hours(&other))
    };
    let volume = |twin: &Twin| {
        own.zip(peers.cohort().arrival(twin.node))
            .map_or(f32::NAN, |(own, other)| (own.volume - other.volume).abs())
    };
    let times: Vec<f32> = twins.iter().map(hours).filter(|hours| !hours.is_nan()).collect();
    let best = twins.first();
    [
        best.map_or(f32::NAN, hours),
        times.iter().copied().fold(f32::NAN, f32::min),
        best.map_or(f32::NAN, volume),
        best.map_or(f32::NAN, |twin| apart(graph, twin.node, parties)),
        count(times.iter().filter(|hours| **hours < 1.0).count()),
        count(times.iter().filter(|hours| **hours < 24.0).count()),
        twins.get(1).map_or(0.0, |twin| twin.likeness),
        twins.iter().take(5).map(|twin| twin.likeness).sum::<f32>() / 5.0,
    ]
}

/// Difference in the number of counterparties to another user.
fn apart(graph: &Graph, other: Node, parties: &[Node]) -> f32 {
    (super::to_float(graph.popularity(other)) - count(parties.len())).abs()
}

fn with_peers(graph: &Graph, node: Node, near: &[Node]) -> [f32; 4] {
    let (mut from, mut to, mut moved, mut all) = (Vec::new(), Vec::new(), 0, 0_usize);
    for transfer in graph.transfers_of(node) {
        all += 1;
        let outgoing = transfer.from == node;
        let other = if outgoing { transfer.to } else { transfer.from };
        if near.binary_search(&other).is_ok() {
            moved += 1;
            if outgoing { to.push(other) } else { from.push(other) }
        }
    }
    for list in [&mut from, &mut to] {
        list.sort_unstable();
        list.dedup();
    }
    [count(from.len()), count(to.len()), count(moved), count(moved) / count(all.max(1))]
}

fn of_peers(graph: &Graph, peers: &PeerIndex, parties: &[Node], near: &[Node], twins: &[Twin]) -> [f32; 3] {
    let looked_at = &near[..near.len().min(LOOKED_AT)];
    let like = |peer: &Node| twins.iter().find(|twin| twin.node == *peer).map_or(0.0, |twin| twin.likeness);
    let volumes = near.iter().filter_map(|peer| peers.cohort().arrival(*peer)).map(|arrival| arrival.volume);
    let (least, most) =
        volumes.fold((f32::NAN, f32::NAN), |(least, most), volume| (least.min(volume), most.max(volume)));
    [
        looked_at.iter().map(like).sum::<f32>() / count(looked_at.len()),
        most - least,
        near.iter().map(|peer| apart(graph, *peer, parties)).fold(f32::INFINITY, f32::min),
    ]
}

fn many_chains(graph: &Graph, node: Node, parties: &[Node]) -> f32 {
    let mut met: Vec<(Node, u8)> = graph
        .transfers_of(node)
        .filter(|transfer| transfer.from != transfer.to)
        .map(|transfer| {
            (if transfer.from == node { transfer.to } else { transfer.from }, transfer.chain as u8)
        })
        .collect();
    met.sort_unstable();
    met.dedup();
    let many = met.chunk_by(|one, next| one.0 == next.0).filter(|chains| chains.len() > 1).count();
    count(many) / count(parties.len().max(1))
}
