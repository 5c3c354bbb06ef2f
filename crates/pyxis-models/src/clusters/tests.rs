//! Suspected groups, worked out by hand.

use std::num::NonZeroU32;

use super::*;
use crate::features::Features;
use crate::graph::{AddressProfile, Builder, Transfer};
use crate::scope::{Chain, Kind};

const START: u32 = 1_640_000_000;
/// Addresses from here on are not users.
const FUNDER: u16 = 1_000;
const SINK: u16 = 1_001;

fn address(number: u16) -> EvmAddress {
    let mut bytes = [7; 20];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    EvmAddress(bytes)
}

fn numbers(nodes: &[EvmAddress]) -> Vec<u16> {
    nodes.iter().map(|node| u16::from_be_bytes([node.0[0], node.0[1]])).collect()
}

#[derive(Default)]
struct Story(Builder);

impl Story {
    fn sends(&mut self, from: u16, to: u16, time: u32) {
        let (from, to) = (self.0.node(address(from)), self.0.node(address(to)));
        let time = NonZeroU32::new(time);
        self.0.add(Transfer { from, to, time, chain: Chain::Polygon, kind: Kind::Native, round: None });
    }

    fn bridged(&mut self, who: u16, at: u32) {
        self.0.add_facts(address(who), AddressProfile { first_bridge: at, volume_usd: 100.0 });
    }

    /// Users that belong together, without those that are alone.
    fn cluster_members(self) -> Vec<Vec<u16>> {
        let graph = self.0.build();
        let peers = PeerIndex::build(&graph);
        let mut found: Vec<Vec<u16>> = linked_users::groups(&graph, &peers)
            .into_iter()
            .filter(|members| members.len() > 1)
            .map(|members| {
                let mut members =
                    numbers(&members.iter().map(|node| graph.address(*node)).collect::<Vec<_>>());
                members.sort_unstable();
                members
            })
            .collect();
        found.sort();
        found
    }

    fn find_groups(self, least: usize) -> Vec<Group> {
        let graph = self.0.build();
        let (peers, bundle) = (PeerIndex::build(&graph), crate::built_in().unwrap());
        let score = |address| {
            let found = Features::compute(&graph, &peers, graph.find(address)?)?;
            bundle.scores(&found).unwrap().aggregate.map(crate::bundle::score)
        };
        let found = suspected(&graph, &candidates(&graph, &peers, least), score);
        found.into_iter().map(|(group, _)| group).collect()
    }
}

/// Twelve users of one funder and one sink that never deal with each other.
fn farm(story: &mut Story, apart: u32) {
    for user in 1..=12 {
        story.sends(FUNDER, user, START + 60 * u32::from(user));
        story.sends(user, SINK, START + 90_000 + u32::from(user));
        story.bridged(user, START + apart * u32::from(user));
    }
}

#[test]
fn users_of_one_funder_that_came_within_minutes_are_a_group_with_its_evidence() {
    let mut story = Story::default();
    farm(&mut story, 1);
    let [group] = story.find_groups(5).try_into().unwrap();
    assert_eq!((group.size, group.members.len(), group.same_day), (12, 12, 12));
    let shared = |of| Some(SharedCounterparty { address: address(of), members: 12, who: (0..12).collect() });
    assert_eq!((&group.shared_funder, &group.shared_sink), (&shared(FUNDER), &shared(SINK)));
    assert_eq!((group.transfers_within, group.links.len()), (0, 0));
    assert!(group.median_score < 50.0, "{}", group.median_score);
    assert_eq!(group.id, address(1));
    let drawn = crate::plot::group(&group);
    assert_eq!(drawn.matches("<circle").count(), 14, "users, funder and sink: {drawn}");
    assert_eq!(drawn.matches("<path").count(), 24, "each to both: {drawn}");
    for who in [FUNDER, SINK, 1, 12].map(address) {
        assert!(drawn.contains(&format!("{who}</title>")), "{who}: {drawn}");
    }
}

#[test]
fn copies_are_joined_however_far_apart_they_came() {
    let mut story = Story::default();
    farm(&mut story, 864_000);
    // A thirteenth pays the same sink ten days later, and has a life of its own; so has another.
    for user in [13, 14] {
        story.sends(user, SINK, START);
        story.bridged(user, START + 864_000 * u32::from(user));
        for party in 0..4 {
            story.sends(user, 1_100 + party, START);
        }
    }
    // One more rare counterparty makes these two nearly the same: five of six.
    story.sends(13, 1_200, START);
    story.sends(15, 1_200, START);
    story.bridged(15, START);
    assert_eq!(story.cluster_members(), [(1..=12).collect::<Vec<_>>(), vec![13, 14]]);
}

#[test]
fn a_shop_does_not_make_a_group_of_its_customers() {
    let mut story = Story::default();
    for user in 1..=20 {
        story.sends(user, SINK, START + user_day(user));
        story.bridged(user, START + user_day(user));
        story.sends(user, 1_100 + user, START);
    }
    assert_eq!(story.cluster_members(), Vec::<Vec<u16>>::new());
}

fn user_day(user: u16) -> u32 {
    86_400 * u32::from(user)
}

#[test]
fn whoever_serves_many_joins_nobody() {
    let mut exchange = Story::default();
    for other in 0..400 {
        exchange.sends(FUNDER, 2_000 + other, START);
    }
    for user in 1..=12 {
        exchange.sends(FUNDER, user, START);
        exchange.bridged(user, START + u32::from(user));
    }
    assert_eq!(exchange.cluster_members(), Vec::<Vec<u16>>::new(), "many counterparties");
    let mut venue = Story::default();
    for user in 1..=120 {
        venue.sends(user, SINK, START);
        venue.bridged(user, START);
    }
    assert_eq!(venue.cluster_members(), Vec::<Vec<u16>>::new(), "many users");
}

#[test]
fn without_any_first_bridging_the_moment_of_funding_counts() {
    let mut story = Story::default();
    for user in 1..=6 {
        // Three within a minute, three on separate days.
        let at = if user <= 3 { START + u32::from(user) } else { START + user_day(user) };
        story.sends(FUNDER, user, at);
        story.sends(user, 1_100 + user, at);
    }
    // It funds many more that do nothing.
    for other in 0..120 {
        story.sends(FUNDER, 2_000 + other, START);
    }
    assert_eq!(story.cluster_members(), [vec![1, 2, 3]]);
}

/// Three in a row and a ring of four, days apart.
fn acquaintances() -> Story {
    let mut story = Story::default();
    for user in [1, 2, 3, 11, 12, 13, 14] {
        story.bridged(user, START + user_day(user));
    }
    for (from, to) in [(1, 2), (2, 3), (11, 12), (12, 13), (13, 14), (14, 11)] {
        story.sends(from, to, START);
    }
    story
}

#[test]
fn direct_transfers_connect() {
    assert_eq!(acquaintances().cluster_members(), [vec![1, 2, 3], vec![11, 12, 13, 14]]);
}

#[test]
fn a_group_tells_who_sends_to_whom_and_only_if_models_doubt_it() {
    let graph = acquaintances().0.build();
    let nodes: Vec<Node> = (11..15).map(|user| graph.find(address(user)).unwrap()).collect();
    let judged = |scores: [f64; 4]| {
        let score =
            |member| nodes.iter().position(|node| graph.address(*node) == member).map(|place| scores[place]);
        group(&graph, &nodes, score)
    };
    let (ring, extent) = judged([10.0, 90.0, 20.0, 30.0]).unwrap();
    assert_eq!((extent.members.len(), extent.links.len()), (4, 4));
    assert_eq!((ring.id, ring.size, ring.transfers_within), (address(11), 4, 4));
    assert_eq!(ring.links, [(0, 1), (1, 2), (2, 3), (3, 0)]);
    assert_eq!(ring.members[1], ClusterMember { address: address(12), score: Some(90.0) });
    assert!((ring.median_score - 30.0).abs() < f64::EPSILON);
    // They bridged a whole day apart, and have no other counterparties.
    assert_eq!((ring.same_day, ring.shared_funder, ring.shared_sink), (0, None, None));
    assert_eq!(judged([10.0, 90.0, 60.0, 50.0]), None);
}
