//! Times and volumes of users' first bridgings, and the users that arrived together.

use std::collections::HashMap;

use crate::cast::{count, to_float};
use crate::graph::{Graph, Node};

/// A user's first bridging.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FirstBridging {
    /// Unix seconds.
    pub(crate) at: u32,
    /// Logarithm of the volume.
    pub(crate) volume: f32,
    pub(crate) node: Node,
}

/// First bridgings by address, by time and by volume.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cohort {
    by_node: HashMap<Node, FirstBridging>,
    by_time: Vec<FirstBridging>,
    volumes: Vec<f32>,
}

/// Features that the members of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GroupFacts {
    /// Typical hours between one first bridging and the next.
    pub(crate) gap_hours: f32,
    /// Links per member.
    pub(crate) links: f32,
    /// Difference between the lowest and the highest quartile of volume, as logarithms.
    pub(crate) spread: f32,
}

impl GroupFacts {
    /// All features unknown.
    pub(crate) const UNKNOWN: Self = Self { gap_hours: f32::NAN, links: f32::NAN, spread: f32::NAN };
}

impl Cohort {
    pub(crate) fn from_graph(graph: &Graph) -> Self {
        let mut by_time: Vec<FirstBridging> = graph
            .nodes()
            .filter_map(|node| {
                let facts = graph.facts(node).filter(|facts| facts.first_bridge > 0)?;
                Some(FirstBridging {
                    at: facts.first_bridge,
                    volume: facts.volume_usd.max(0.0).ln_1p(),
                    node,
                })
            })
            .collect();
        by_time.sort_by_key(|arrival| (arrival.at, arrival.node));
        let mut volumes: Vec<f32> = by_time.iter().map(|arrival| arrival.volume).collect();
        volumes.sort_unstable_by(f32::total_cmp);
        let by_node = by_time.iter().map(|arrival| (arrival.node, *arrival)).collect();
        Self { by_node, by_time, volumes }
    }

    /// Every first bridging, by time.
    pub(crate) fn all(&self) -> &[FirstBridging] {
        &self.by_time
    }

    /// The first bridging of an address, if known.
    pub(crate) fn arrival(&self, node: Node) -> Option<FirstBridging> {
        self.by_node.get(&node).copied()
    }

    /// All users that first bridged within this many seconds, including the user itself.
    pub(crate) fn around(&self, own: FirstBridging, seconds: u32) -> &[FirstBridging] {
        let from = self.by_time.partition_point(|other| other.at < own.at.saturating_sub(seconds));
        let to = self.by_time.partition_point(|other| other.at <= own.at.saturating_add(seconds));
        &self.by_time[from..to]
    }

    /// Number of users that bridged nearly the same volume, including the user itself.
    pub(crate) fn same_volume(&self, own: FirstBridging) -> usize {
        const NEARLY: f32 = 0.005;
        let from = self.volumes.partition_point(|volume| *volume < own.volume - NEARLY);
        let to = self.volumes.partition_point(|volume| *volume <= own.volume + NEARLY);
        to - from
    }

    /// Distance to the most similar of the five before and the five after: hours and volume added up.
    pub(crate) fn most_alike(&self, own: FirstBridging) -> f32 {
        const ADJACENT: usize = 5;
        let place = self.by_time.partition_point(|other| other.at < own.at);
        let to = (place + ADJACENT + 1).min(self.by_time.len());
        let near = self.by_time[place.saturating_sub(ADJACENT)..to].iter();
        near.filter(|other| other.node != own.node)
            .map(|other| (other.volume - own.volume).abs() + own.hours(other))
            .fold(f32::INFINITY, f32::min)
    }

    /// Common features of a group's members; `links` counts each link among them twice.
    pub(crate) fn group(&self, members: &[Node], links: usize) -> GroupFacts {
        let known: Vec<FirstBridging> = members.iter().filter_map(|node| self.arrival(*node)).collect();
        let mut times: Vec<u32> = known.iter().map(|arrival| arrival.at).collect();
        times.sort_unstable();
        let mut gaps: Vec<f32> = times.windows(2).map(|pair| hours(pair[1] - pair[0])).collect();
        gaps.sort_unstable_by(f32::total_cmp);
        let mut volumes: Vec<f32> = known.iter().map(|arrival| arrival.volume).collect();
        volumes.sort_unstable_by(f32::total_cmp);
        let quarter = |part: usize| volumes[volumes.len() * part / 4];
        GroupFacts {
            gap_hours: gaps.get(gaps.len() / 2).copied().unwrap_or(f32::NAN),
            links: count(links) / 2.0 / count(members.len()),
            spread: if volumes.len() > 1 { quarter(3) - quarter(1) } else { f32::NAN },
        }
    }
}

impl FirstBridging {
    /// Hours between two arrivals.
    pub(crate) fn hours(&self, other: &Self) -> f32 {
        hours(self.at.abs_diff(other.at))
    }
}

fn hours(seconds: u32) -> f32 {
    to_float(seconds) / 3600.0
}
