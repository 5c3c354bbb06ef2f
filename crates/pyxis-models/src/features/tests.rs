//! Features, worked out by hand.

mod co_arrival;
mod imported_context;
mod many_transfers;

use std::num::NonZeroU32;

use pyxis_core::address::EvmAddress;

use super::*;
use crate::graph::{AddressProfile, Builder, Transfer};
use crate::scope::Chain;

const DAY: u32 = 86_400;

struct Story(Builder);

impl Story {
    fn new() -> Self {
        Self(Builder::default())
    }

    /// A transfer on Ethereum at an hour.
    fn sends(mut self, from: u8, to: u8, hour: u32) -> Self {
        self.add(from, to, Chain::Ethereum, Kind::Native, hour);
        self
    }

    fn on(mut self, chain: Chain, kind: Kind, from: u8, to: u8) -> Self {
        self.add(from, to, chain, kind, 0);
        self
    }

    fn add(&mut self, from: u8, to: u8, chain: Chain, kind: Kind, hour: u32) {
        let (from, to) = (self.0.node(address(from)), self.0.node(address(to)));
        let time = NonZeroU32::new(hour * 3600);
        self.0.add(Transfer { from, to, time, chain, kind, round: None });
    }

    fn bridged(mut self, who: u8, day: u32, volume_usd: f32) -> Self {
        self.0.add_facts(address(who), AddressProfile { first_bridge: day * DAY, volume_usd });
        self
    }

    fn look_at(self, who: u8) -> Option<Features> {
        let graph = self.0.build();
        let peers = PeerIndex::build(&graph);
        Features::compute(&graph, &peers, graph.find(address(who))?)
    }
}

fn address(byte: u8) -> EvmAddress {
    EvmAddress([byte; 20])
}

fn of_wallet(found: &Features, wanted: &str) -> f32 {
    let place = (0..WALLET).find(|place| feature_name(*place) == wanted).expect("a name");
    found.wallet[place]
}

fn of_ethereum(found: &Features, wanted: &str) -> f32 {
    let seen = found.scope_input(ChainScope::Chain(Chain::Ethereum)).expect("activity on Ethereum");
    let place = (WALLET..ALL).find(|place| feature_name(*place) == wanted).expect("a name");
    seen[place]
}

fn close(found: f32, wanted: f32) {
    assert!((found - wanted).abs() < 1e-4, "{found} is not {wanted}");
}

#[test]
fn transfers_and_counterparties_are_counted_by_direction() {
    // 1 sends to 2 twice and to 3 once; 2 and 4 send to 1; 1 sends to itself.
    let story = Story::new().sends(1, 2, 1).sends(1, 2, 2).sends(1, 3, 3);
    let found = story.sends(2, 1, 4).sends(4, 1, 5).sends(1, 1, 6).look_at(1).unwrap();
    let wanted = [
        ("out_transfers", 4.0),
        ("in_transfers", 2.0),
        ("out_parties", 2.0),
        ("in_parties", 2.0),
        ("parties", 3.0),
        ("mutual_parties", 1.0),
        // Six transfers, three counterparties.
        ("repeat_share", 0.5),
    ];
    for (name, wanted) in wanted {
        close(of_ethereum(&found, name), wanted);
    }
}

#[test]
fn popularity_is_the_logarithm_of_distinct_counterparties() {
    // 2 deals with 1, 3 and 4; 3 with 1 and 2.
    let found = Story::new().sends(1, 2, 1).sends(1, 3, 2).sends(2, 3, 3).sends(4, 2, 4).look_at(1).unwrap();
    close(of_ethereum(&found, "out_popularity_max"), 4.0_f32.ln());
    close(of_ethereum(&found, "out_popularity_min"), 3.0_f32.ln());
    close(of_ethereum(&found, "out_popularity_mean"), f32::midpoint(4.0_f32.ln(), 3.0_f32.ln()));
    close(of_ethereum(&found, "out_quiet_share"), 1.0);
    assert!(of_ethereum(&found, "in_popularity_mean").is_nan(), "nobody sent to it");
}

#[test]
fn times_give_age_gaps_regularity_and_bursts() {
    // Hours 24, 25, 27 on one day, 75 two days later; the newest time of all is hour 96.
    let story = Story::new().sends(9, 1, 24).sends(1, 2, 25).sends(1, 3, 27).sends(1, 4, 75);
    let found = story.sends(5, 6, 96).look_at(1).unwrap();
    close(of_ethereum(&found, "age_days"), 3.0);
    close(of_ethereum(&found, "span_days"), 51.0 / 24.0);
    close(of_ethereum(&found, "active_days"), 2.0);
    close(of_ethereum(&found, "burst_share"), 0.75);
    // Gaps 1, 2, 48: median 2, mean 17, deviation 21.9241.
    close(of_ethereum(&found, "gap_median_hours"), 2.0);
    close(of_ethereum(&found, "gap_variation"), 21.924_1 / 17.0);
    // 9 came first, and has no other counterparties.
    close(of_ethereum(&found, "funder_popularity"), 2.0_f32.ln());
}

#[test]
fn what_the_source_does_not_say_is_unknown_and_not_zero() {
    let story = Story::new().on(Chain::Ethereum, Kind::Erc20, 1, 2).on(Chain::Ethereum, Kind::Nft, 1, 2);
    let found = story.look_at(1).unwrap();
    for name in ["age_days", "gap_median_hours", "burst_share", "round_share", "funder_popularity"] {
        assert!(of_ethereum(&found, name).is_nan(), "{name}");
    }
    close(of_ethereum(&found, "token_share"), 0.5);
    close(of_ethereum(&found, "nft_share"), 0.5);
    assert!(of_wallet(&found, "first_bridge_age_days").is_nan());
}

#[test]
fn a_scope_needs_two_transfers_and_a_first_bridging_is_enough_for_ethereum() {
    assert_eq!(Story::new().sends(1, 2, 1).look_at(1), None);
    let story =
        Story::new().sends(1, 2, 1).on(Chain::Base, Kind::Native, 1, 2).on(Chain::Base, Kind::Nft, 2, 1);
    let found = story.look_at(1).unwrap();
    assert!(found.scope_input(ChainScope::Chain(Chain::Base)).is_some());
    assert!(
        found.scope_input(ChainScope::Chain(Chain::Ethereum)).is_none()
            && found.scope_input(ChainScope::Nft).is_none()
    );
    close(of_wallet(&found, "chains"), 2.0);
    let bridged = Story::new().bridged(1, 10, 99.0).bridged(2, 12, 0.0).look_at(1).unwrap();
    assert!(bridged.scope_input(ChainScope::Chain(Chain::Ethereum)).is_some());
    close(of_wallet(&bridged, "first_bridge_age_days"), 2.0);
    close(of_wallet(&bridged, "bridge_volume"), 100.0_f32.ln());
}

#[test]
fn one_of_a_kind_tokens_of_all_chains_are_a_scope_of_their_own() {
    let story = Story::new().on(Chain::Base, Kind::Nft, 1, 2).on(Chain::Zksync, Kind::Nft, 3, 1);
    let found = story.look_at(1).unwrap();
    assert_eq!(found.scopes.iter().map(|(scope, _)| *scope).collect::<Vec<_>>(), [ChainScope::Nft]);
}

/// Users 1 to 4 are peers: 1-2, 2-3 and 1-3 deal with each other, 4 deals with 3.
fn friends() -> Story {
    let story = Story::new().sends(1, 2, 1).sends(2, 3, 1).sends(3, 1, 1).sends(4, 3, 1);
    story.bridged(1, 10, 10.0).bridged(2, 10, 10.0).bridged(3, 12, 1000.0).bridged(4, 20, 0.0)
}

#[test]
fn company_is_peers_groups_and_triangles() {
    let found = friends().look_at(1).unwrap();
    let wanted = [
        ("peers", 2.0),
        ("group_size", 4.0),
        // 2 deals with two peers, 3 with three.
        ("peers_of_peers_mean", 2.5),
        // 1, 2, 3 and 4.
        ("two_steps", 4.0),
        ("triangles", 1.0),
        ("closure", 1.0),
        ("nearest_peer_hours", 0.0),
        ("median_peer_hours", 48.0),
        ("nearest_peer_volume", 0.0),
        ("same_day_peers", 1.0),
    ];
    for (name, wanted) in wanted {
        close(of_wallet(&found, name), wanted);
    }
}

#[test]
fn twins_share_rare_counterparties() {
    // 1 and 2 both send to 11 and 12; 1 also to 13, and 3 to 11.
    let story = Story::new().sends(1, 11, 1).sends(1, 12, 1).sends(1, 13, 1).sends(2, 11, 1).sends(2, 12, 1);
    let story = story.sends(3, 11, 1).bridged(1, 1, 0.0).bridged(2, 1, 0.0).bridged(3, 1, 0.0);
    let found = story.look_at(1).unwrap();
    let wanted = [
        ("twins", 2.0),
        ("twin_overlap_max", 2.0),
        ("twin_overlap_sum", 3.0),
        // Only user 1 has 13. Of 11 and 12, user 2 has both and user 3 one.
        ("twin_similarity", 1.0),
        ("near_copies", 2.0),
        ("shared_few", 2.0),
        ("shared_weight", 1.0 / 4.0_f32.ln() + 1.0 / 3.0_f32.ln()),
        // 11 collects from three.
        ("sink_fanin", 3.0),
        ("funder_fanout", 0.0),
    ];
    for (name, wanted) in wanted {
        close(of_wallet(&found, name), wanted);
    }
}

#[test]
fn without_any_first_bridging_peers_are_those_that_send_and_receive() {
    let found = Story::new().sends(1, 2, 1).sends(2, 1, 2).sends(1, 3, 3).look_at(1).unwrap();
    // 3 only receives.
    close(of_wallet(&found, "peers"), 1.0);
    close(of_wallet(&found, "group_size"), 2.0);
}

#[test]
fn stored_features_are_read_again_bit_for_bit() {
    let found =
        friends().on(Chain::Base, Kind::Nft, 1, 2).on(Chain::Base, Kind::Nft, 1, 2).look_at(1).unwrap();
    let bytes = found.to_bytes();
    assert_eq!(Features::from_bytes(&bytes).unwrap().to_bytes(), bytes);
    assert_eq!(Features::from_bytes(&bytes[1..]), None);
    assert_eq!(Features::from_bytes(&[]), None);
}

#[test]
fn a_wallet_known_alone_has_its_own_numbers_and_no_company() {
    let event = |party, outgoing| ScopedTransfer {
        chain: Chain::Base,
        kind: Kind::Native,
        party: Some(party),
        outgoing,
        time: NonZeroU32::new(3600),
        round: Some(true),
    };
    let events = [event(0, true), event(1, false)];
    let found =
        Features::of_alone(&events, &|party| if party == 0 { 9.0 } else { f32::NAN }, Some(7200)).unwrap();
    let seen = found.scope_input(ChainScope::Chain(Chain::Base)).unwrap();
    close(seen[WALLET + 6], 10.0_f32.ln());
    assert!(seen[WALLET + 9].is_nan(), "nobody knows the sender");
    close(of_wallet(&found, "chains"), 1.0);
    assert!(of_wallet(&found, "peers").is_nan());
}

#[test]
fn every_number_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<String> = (0..ALL).map(feature_name).collect();
    assert_eq!(names.len(), ALL);
    assert!((0..ALL).all(|place| !feature_label(place).is_empty()));
}
