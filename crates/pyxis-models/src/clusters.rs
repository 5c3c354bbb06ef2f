//! Suspected groups: users with low scores who are connected by transfers, a shared funder or sink, or timing. Includes
//! the evidence.

use std::collections::HashMap;

use pyxis_core::address::EvmAddress;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::graph::{Graph, Node};
use crate::linked_users::{self, SMALL};
use crate::peers::PeerIndex;

mod extent;

pub use extent::GroupExtent;

/// Bump when the joining rule or the description of groups changes; stored groups are then recomputed.
pub const RULE: u32 = 4;

/// Maximum number of members and links of a group that are kept for drawing.
const DRAWN: usize = 60;

/// A suspected group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its first address, which identifies it.
    pub id: EvmAddress,
    /// Number of users.
    pub size: usize,
    /// The median of their aggregate scores.
    pub median_score: f64,
    /// The small address that funded the most members.
    pub shared_funder: Option<SharedCounterparty>,
    /// The small address that collects from the most members.
    pub shared_sink: Option<SharedCounterparty>,
    /// Members that first bridged within a day of another member.
    pub same_day: usize,
    /// Transfers between members.
    pub transfers_within: usize,
    /// Members, at most 60.
    pub members: Vec<ClusterMember>,
    /// Transfers among the listed members, as pairs of positions: sender, recipient.
    pub links: Vec<(usize, usize)>,
}

/// An address that several members have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedCounterparty {
    pub address: EvmAddress,
    /// Number of members that deal with it.
    pub members: usize,
    /// Positions of the listed members that deal with it.
    #[serde(default)]
    pub who: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterMember {
    pub address: EvmAddress,
    /// Its aggregate score.
    pub score: Option<f64>,
}

/// Sets of at least `least` users that belong together, largest first.
pub fn candidates(graph: &Graph, peers: &PeerIndex, least: usize) -> Vec<Vec<Node>> {
    let mut large: Vec<Vec<Node>> =
        linked_users::groups(graph, peers).into_iter().filter(|nodes| nodes.len() >= least.max(2)).collect();
    large.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
    large
}

/// The sets of users whose median aggregate score is below 50, in their order, with all their members.
pub fn suspected(
    graph: &Graph,
    sets: &[Vec<Node>],
    score: impl Fn(EvmAddress) -> Option<f64> + Sync,
) -> Vec<(Group, GroupExtent)> {
    sets.par_iter().filter_map(|nodes| group(graph, nodes, &score)).collect()
}

fn group(
    graph: &Graph,
    nodes: &[Node],
    score: impl Fn(EvmAddress) -> Option<f64>,
) -> Option<(Group, GroupExtent)> {
    let member = |node: &Node| {
        let address = graph.address(*node);
        ClusterMember { address, score: score(address) }
    };
    let judged: Vec<ClusterMember> = nodes.iter().map(member).collect();
    let mut scores: Vec<f64> = judged.iter().filter_map(|member| member.score).collect();
    scores.sort_unstable_by(f64::total_cmp);
    let median_score = *scores.get(scores.len() / 2)?;
    if median_score >= 50.0 {
        return None;
    }
    let listed: Vec<Node> = nodes.iter().take(DRAWN).copied().collect();
    let extent = GroupExtent { members: judged.clone(), links: links(graph, nodes) };
    let group = Group {
        id: judged.iter().map(|member| member.address).min()?,
        size: nodes.len(),
        median_score,
        shared_funder: in_common(graph, nodes, false),
        shared_sink: in_common(graph, nodes, true),
        same_day: same_day(graph, nodes),
        transfers_within: nodes.iter().map(|node| sent_within(graph, nodes, *node)).sum(),
        members: judged.into_iter().take(DRAWN).collect(),
        links: links(graph, &listed),
    };
    Some((group, extent))
}

/// The small address outside the group that most members received from, or sent to.
fn in_common(graph: &Graph, nodes: &[Node], outgoing: bool) -> Option<SharedCounterparty> {
    let mut counts: HashMap<Node, usize> = HashMap::new();
    for node in nodes {
        let wanted = graph.transfers_of(*node).filter(|transfer| (transfer.from == *node) == outgoing);
        let mut ends: Vec<Node> =
            wanted.map(|transfer| if outgoing { transfer.to } else { transfer.from }).collect();
        ends.sort_unstable();
        ends.dedup();
        for end in ends.into_iter().filter(|end| end != node && graph.popularity(*end) <= SMALL) {
            *counts.entry(end).or_default() += 1;
        }
    }
    let address = |node: Node| graph.address(node);
    let (end, members) =
        counts.into_iter().max_by_key(|(node, count)| (*count, std::cmp::Reverse(address(*node))))?;
    let deals = |node: Node| {
        let pair = if outgoing { (node, end) } else { (end, node) };
        graph.transfers_of(node).any(|transfer| (transfer.from, transfer.to) == pair)
    };
    let who = (0..nodes.len().min(DRAWN)).filter(|place| deals(nodes[*place])).collect();
    (members >= 2).then(|| SharedCounterparty { address: address(end), members, who })
}

fn same_day(graph: &Graph, nodes: &[Node]) -> usize {
    let mut times: Vec<u32> =
        nodes.iter().filter_map(|node| graph.facts(*node)).map(|facts| facts.first_bridge).collect();
    times.sort_unstable();
    let close = |one: Option<&u32>, other: u32| one.is_some_and(|one| one.abs_diff(other) < 86_400);
    (0..times.len())
        .filter(|index| {
            let before = index.checked_sub(1).and_then(|index| times.get(index));
            close(before, times[*index]) || close(times.get(index + 1), times[*index])
        })
        .count()
}

fn sent_within(graph: &Graph, nodes: &[Node], node: Node) -> usize {
    let sent = graph.transfers_of(node).filter(|transfer| transfer.from == node && transfer.to != node);
    sent.filter(|transfer| nodes.binary_search(&transfer.to).is_ok()).count()
}

fn links(graph: &Graph, listed: &[Node]) -> Vec<(usize, usize)> {
    let mut links: Vec<(usize, usize)> = listed
        .iter()
        .enumerate()
        .flat_map(|(place, node)| {
            let sent = graph.transfers_of(*node).filter(|transfer| transfer.from == *node);
            sent.filter_map(move |transfer| Some((place, listed.binary_search(&transfer.to).ok()?)))
        })
        .filter(|(from, to)| from != to)
        .collect();
    links.sort_unstable();
    links.dedup();
    links
}

#[cfg(test)]
mod tests;
