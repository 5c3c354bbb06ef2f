//! Addresses that a change does not affect keep the same features.

use std::cell::Cell;
use std::collections::HashMap;
use std::num::NonZeroU32;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::features::Features;
use crate::graph::{AddressProfile, Builder, Transfer};
use crate::scope::{Chain, Kind};

/// An event between addresses.
#[derive(Clone, Copy, Debug)]
enum Event {
    Sent { from: u16, to: u16, chain: Chain, hour: Option<NonZeroU32> },
    Bridged { who: u16, hour: u32, volume_usd: f32 },
}

fn address(number: u16) -> EvmAddress {
    let mut bytes = [7; 20];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    EvmAddress(bytes)
}

fn sent(from: u16, to: u16) -> Event {
    Event::Sent { from, to, chain: Chain::Base, hour: None }
}

/// A rebuild's view of some activity: features by address, fingerprints by address.
struct RebuiltActivity {
    graph: Graph,
    peers: PeerIndex,
    signs: Vec<Fingerprint>,
}

impl RebuiltActivity {
    fn rebuild<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut builder = Builder::default();
        for event in events {
            match *event {
                Event::Sent { from, to, chain, hour } => {
                    let (from, to) = (builder.node(address(from)), builder.node(address(to)));
                    builder.add(Transfer { from, to, time: hour, chain, kind: Kind::Native, round: None });
                }
                Event::Bridged { who, hour, volume_usd } => {
                    builder.add_facts(address(who), AddressProfile { first_bridge: hour * 3600, volume_usd });
                }
            }
        }
        let graph = builder.build();
        let peers = PeerIndex::build(&graph);
        let signs = compute(&graph, &peers);
        Self { graph, peers, signs }
    }

    /// As bytes, so that unknown values compare equal.
    fn features(&self) -> HashMap<EvmAddress, Option<Vec<u8>>> {
        let look = |node| Features::compute(&self.graph, &self.peers, node).map(|found| found.to_bytes());
        self.graph.nodes().map(|node| (self.graph.address(node), look(node))).collect()
    }

    fn global_fingerprint(&self) -> i64 {
        global_fingerprint(&self.graph, &self.peers)
    }

    /// Addresses to compute after `before`.
    fn affected(&self, before: &Self) -> Vec<EvmAddress> {
        let signs: HashMap<EvmAddress, Fingerprint> =
            before.graph.nodes().map(|node| before.graph.address(node)).zip(before.signs.clone()).collect();
        let told = |address: EvmAddress| signs.get(&address).copied();
        let reached = affected(&self.graph, &self.peers, &self.signs, told);
        self.graph
            .nodes()
            .filter(|node| reached[*node as usize])
            .map(|node| self.graph.address(node))
            .collect()
    }
}

fn numbers(mut addresses: Vec<EvmAddress>) -> Vec<u16> {
    addresses.sort_unstable();
    addresses.iter().map(|address| u16::from_be_bytes([address.0[0], address.0[1]])).collect()
}

/// Few distinct hours and volumes, so that the global fingerprint is sometimes the same.
fn event() -> impl Strategy<Value = Event> {
    let chain = prop::sample::select(vec![Chain::Ethereum, Chain::Base]);
    let transfer =
        (0..24_u16, 0..24_u16, chain, prop::option::of(1..4_u32)).prop_map(|(from, to, chain, hour)| {
            Event::Sent { from, to, chain, hour: hour.and_then(NonZeroU32::new) }
        });
    let bridging =
        (0..24_u16, 1..3_u32).prop_map(|(who, hour)| Event::Bridged { who, hour, volume_usd: 9.0 });
    prop_oneof![40 => transfer, 1 => bridging]
}

/// Activity before and after a part of it was changed or moved.
fn change() -> impl Strategy<Value = (Vec<Event>, Vec<Event>)> {
    let base = prop::collection::vec(event(), 1..60);
    let part = || prop::collection::vec(event(), 0..4);
    (base, part(), part(), any::<prop::sample::Index>(), 0..4_u8).prop_map(
        |(base, part, other, place, how)| {
            let place = place.index(base.len() + 1);
            let with = |part: &[Event]| [&base[..place], part, &base[place..]].concat();
            (with(&part), if how == 0 { [base.clone(), part].concat() } else { with(&other) })
        },
    )
}

#[test]
fn whoever_is_not_reached_has_the_same_features_as_before() {
    let spared = Cell::new(0_usize);
    let config = Config { cases: 600, failure_persistence: None, ..Config::default() };
    let property = |(before, after): (Vec<Event>, Vec<Event>)| {
        let (before, after) = (RebuiltActivity::rebuild(&before), RebuiltActivity::rebuild(&after));
        if before.global_fingerprint() != after.global_fingerprint() {
            return Ok(());
        }
        let reached = after.affected(&before);
        let known = before.features();
        for (address, found) in after.features() {
            if !reached.contains(&address) {
                prop_assert_eq!(known.get(&address), Some(&found), "{}", address);
                spared.set(spared.get() + usize::from(found.is_some()));
            }
        }
        Ok(())
    };
    // Work this small is done before another thread has woken up.
    let _alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    TestRunner::new(config).run(&change(), property).unwrap();
    assert!(spared.get() > 600, "{} were spared", spared.get());
}

#[test]
fn another_time_or_chain_of_a_transfer_reaches_its_ends() {
    let at = |chain, hour| {
        let moved = Event::Sent { from: 1, to: 2, chain, hour: NonZeroU32::new(hour) };
        RebuiltActivity::rebuild(&[moved, sent(3, 4), Event::Bridged { who: 3, hour: 5, volume_usd: 1.0 }])
    };
    let before = at(Chain::Base, 1);
    assert_eq!(numbers(at(Chain::Base, 2).affected(&before)), [1, 2]);
    assert_eq!(numbers(at(Chain::Polygon, 1).affected(&before)), [1, 2]);
    assert!(at(Chain::Base, 1).affected(&before).is_empty());
}

#[test]
fn a_transfer_reaches_those_who_deal_with_its_ends_and_no_strangers() {
    let circle = |first: u16| (0..4).map(move |step| sent(first + step, first + (step + 1) % 4));
    let before: Vec<Event> = circle(10).chain(circle(20)).collect();
    let known = RebuiltActivity::rebuild(&before);
    assert_eq!(
        numbers(RebuiltActivity::rebuild(before.iter().chain([&sent(10, 11)])).affected(&known)),
        [10, 11]
    );
    let new = [before.clone(), vec![sent(10, 30)]].concat();
    let reached = numbers(RebuiltActivity::rebuild(&new).affected(&known));
    assert_eq!(reached, [10, 11, 12, 13, 30], "it has one more counterparty, and 12 deals with the same two");
}

#[test]
fn an_address_that_ceases_to_be_rare_reaches_all_whom_it_made_alike() {
    let bridged = |who| Event::Bridged { who, hour: u32::from(who), volume_usd: 1.0 };
    let before: Vec<Event> = (0..100)
        .map(bridged)
        .chain((0..99).flat_map(|user| [sent(user, 500), sent(user, 600 + user)]))
        .collect();
    let after: Vec<Event> = before.iter().copied().chain([sent(99, 500)]).collect();
    let (before, after) = (RebuiltActivity::rebuild(&before), RebuiltActivity::rebuild(&after));
    assert_eq!(before.global_fingerprint(), after.global_fingerprint());
    let reached = numbers(after.affected(&before));
    assert!((0..100).chain([500]).all(|number| reached.contains(&number)), "{reached:?}");
    assert_ne!(before.features()[&address(5)], after.features()[&address(5)]);
}

#[test]
fn a_newer_moment_and_a_first_bridging_reach_everybody() {
    let before = vec![sent(1, 2), Event::Bridged { who: 1, hour: 5, volume_usd: 1.0 }];
    let hour = |hour| Event::Sent { from: 1, to: 2, chain: Chain::Base, hour: NonZeroU32::new(hour) };
    let world = |more: Event| RebuiltActivity::rebuild(before.iter().chain([&more])).global_fingerprint();
    assert_eq!(world(hour(5 * 3600)), RebuiltActivity::rebuild(&before).global_fingerprint());
    assert_ne!(world(hour(5 * 3600 + 1)), RebuiltActivity::rebuild(&before).global_fingerprint());
    assert_ne!(
        world(Event::Bridged { who: 2, hour: 4, volume_usd: 1.0 }),
        RebuiltActivity::rebuild(&before).global_fingerprint()
    );
}
