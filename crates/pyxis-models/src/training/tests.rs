//! Training on a small made-up population: tests determinism and honesty, not skill.

use std::num::NonZeroU32;

use super::*;
use crate::bundle::score;
use crate::features::Features;
use crate::graph::{AddressProfile, Builder, Transfer};
use crate::scope::Kind;

fn address(number: u32) -> EvmAddress {
    let mut bytes = [0; 20];
    bytes[16..].copy_from_slice(&number.to_be_bytes());
    EvmAddress(bytes)
}

/// Humans trade with many venues at odd times; Sybils pass coins along in chains of ten.
fn population() -> (Graph, Vec<(EvmAddress, bool)>) {
    population_on([Chain::Ethereum, Chain::Polygon])
}

fn population_on(chains: [Chain; 2]) -> (Graph, Vec<(EvmAddress, bool)>) {
    let mut builder = Builder::default();
    let mut labels = Vec::new();
    let mut noise = 7_u32;
    let mut random = move |below: u32| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 8) % below
    };
    for number in 0..800_u32 {
        let human = number % 2 == 0;
        labels.push((address(number), human));
        let own = builder.node(address(number));
        for step in 0..4 + random(6) {
            // One in eight behaves like the others.
            let like_human = human != (random(8) == 0);
            let other = if like_human { 10_000 + random(60) } else { (number + 20) % 800 };
            let other = builder.node(address(other));
            let chain = chains[step as usize % 2];
            let time = NonZeroU32::new(1_600_000_000 + random(10_000_000));
            builder.add(Transfer { from: own, to: other, time, chain, kind: Kind::Native, round: None });
        }
    }
    (builder.build(), labels)
}

fn options(seed: u64, threads: usize) -> Options {
    Options { seed, trees: 20, trained_at: "2026-01-01T00:00:00Z".to_owned(), threads }
}

fn trained(seed: u64, threads: usize) -> Bundle {
    let (graph, labels) = population();
    train(&graph, &labels, &options(seed, threads), &mut |_, _| {}).unwrap()
}

#[test]
fn the_same_seed_makes_the_same_models_on_any_number_of_threads() {
    let first = trained(1, 1);
    assert_eq!(first.to_bytes(), trained(1, 1).to_bytes());
    assert_eq!(first.fingerprint(), trained(1, 2).fingerprint());
    assert_ne!(first.fingerprint(), trained(2, 1).fingerprint());
}

#[test]
fn a_bundle_says_what_it_learned_and_how_good_it_is() {
    let bundle = trained(1, 2);
    let names: Vec<&str> = bundle.card.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["aggregate", "ethereum_activity", "polygon", "shared"]);
    for model in &bundle.card.models {
        let quality = model.random.as_ref().unwrap();
        assert!(quality.auc > 0.75, "{}: {}", model.name, quality.auc);
    }
    let shared = &bundle.card.models[3];
    assert!(shared.transferred && shared.serves.contains(&"base".to_owned()));
    assert!(!shared.serves.contains(&"polygon".to_owned()));
    assert_eq!(
        shared.by_chain.iter().map(|(chain, _)| chain.as_str()).collect::<Vec<_>>(),
        ["ethereum", "polygon"]
    );
    assert_eq!((bundle.card.data.labelled, bundle.card.data.humans), (800, 400));
}

#[test]
fn labels_on_one_chain_train_models_without_a_figure_for_other_chains() {
    let (graph, labels) = population_on([Chain::Ethereum, Chain::Ethereum]);
    let mut last = (0, 0);
    let bundle = train(&graph, &labels, &options(1, 2), &mut |done, all| last = (done, all)).unwrap();
    let shared = bundle.card.models.iter().find(|model| model.name == SHARED).unwrap();
    assert!(shared.by_chain.is_empty() && shared.random.is_some());
    assert_eq!(last.0, last.1);
}

#[test]
fn a_wallet_that_only_an_indexer_knows_is_judged_by_models_of_its_own() {
    let bundle = trained(1, 2);
    let names: Vec<&str> = bundle.card.alone.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["aggregate", "ethereum_activity", "polygon", "shared"]);
    for model in &bundle.card.alone {
        for quality in [&model.random, &model.imported] {
            let quality = quality.as_ref().unwrap();
            assert!(quality.auc > 0.75, "{}: {}", model.name, quality.auc);
        }
    }
    let (graph, _) = population();
    let node = graph.find(address(3)).unwrap();
    let scope = Model::Polygon.scope().unwrap();
    let whole = Features::compute(&graph, &PeerIndex::build(&graph), node).unwrap();
    let alone = Features::alone_in(&graph, node, false).unwrap();
    for (found, family) in [(whole, &bundle.with_context), (alone, bundle.indexer_only.as_ref().unwrap())] {
        let (part, _) = family.part(Model::Polygon).unwrap();
        let wanted = part.curve.log_odds(part.forest.predict(&found.scope_input(scope).unwrap()));
        let scores = bundle.scores(&found).unwrap();
        let polygon = scores.singles.iter().find(|single| single.model == Model::Polygon).unwrap();
        assert_eq!(polygon.log_odds.to_bits(), wanted.to_bits());
        let mean = scores.singles.iter().map(|single| single.weight * single.log_odds).sum::<f64>();
        assert!((scores.aggregate.unwrap() - family.aggregate.log_odds(mean)).abs() < 1e-9);
    }
}

#[test]
fn a_file_is_read_again_and_scores_alike() {
    let bundle = trained(1, 2);
    let again = Bundle::from_bytes(&bundle.to_bytes()).unwrap();
    assert_eq!(again, bundle);
    let (graph, _) = population();
    let peers = PeerIndex::build(&graph);
    let found = Features::compute(&graph, &peers, graph.find(address(3)).unwrap()).unwrap();
    let scores = again.scores(&found).unwrap();
    assert_eq!(scores, bundle.scores(&found).unwrap());
    assert_eq!(scores.singles.len(), 2);
    assert!((scores.singles.iter().map(|single| single.weight).sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(scores.get(Model::Aggregate).is_some() && scores.get(Model::Base).is_none());
    let why = again.explain(Model::Polygon, &found).unwrap().unwrap();
    let sum = why.start + why.contributions.iter().map(|entry| entry.moved).sum::<f64>();
    assert!((score(sum) - scores.get(Model::Polygon).unwrap()).abs() < 0.02);
    let bytes = bundle.to_bytes();
    for length in [0, 3, 7, 100, bytes.len() - 1] {
        assert!(Bundle::from_bytes(&bytes[..length]).is_err());
    }
}

#[test]
fn a_file_for_other_features_is_refused_and_one_that_names_none_is_taken_by_their_number() {
    let mut bundle = trained(1, 2);
    assert_eq!(bundle.card.features_sha256, Some(features::names_digest()));
    bundle.card.features_sha256 = None;
    assert_eq!(Bundle::from_bytes(&bundle.to_bytes()).unwrap(), bundle);
    bundle.card.features_sha256 = Some("of others".to_owned());
    let error = Bundle::from_bytes(&bundle.to_bytes()).unwrap_err();
    assert!(error.to_string().contains("train it again"), "{error}");
}

#[test]
fn activity_without_labels_is_judged_by_the_shared_model_and_weighs_half() {
    let bundle = trained(1, 2);
    let mut builder = Builder::default();
    let [a, b] = [1, 2].map(|number| builder.node(address(number)));
    for chain in [Chain::Base, Chain::Base, Chain::Polygon, Chain::Polygon] {
        builder.add(Transfer { from: a, to: b, time: None, chain, kind: Kind::Native, round: None });
    }
    let graph = builder.build();
    let found = Features::compute(&graph, &PeerIndex::build(&graph), a).unwrap();
    let scores = bundle.scores(&found).unwrap();
    let transferred: Vec<(Model, bool)> =
        scores.singles.iter().map(|single| (single.model, single.transferred)).collect();
    assert_eq!(transferred, [(Model::Base, true), (Model::Polygon, false)]);
    let shared = bundle.with_context.parts.iter().find(|part| part.name == SHARED).unwrap().weight / 2.0;
    let polygon = bundle.with_context.part(Model::Polygon).unwrap().0.weight;
    assert!((scores.singles[0].weight - shared / (shared + polygon)).abs() < 1e-9);
}

#[test]
fn too_few_labels_are_no_model() {
    let (graph, labels) = population();
    let error = train(&graph, &labels[..100], &options(1, 1), &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("200 humans"));
}

#[test]
fn parts_depend_on_the_seed_and_keep_groups_together() {
    let (graph, labels) = population();
    let rows = dataset::rows(&graph, &PeerIndex::build(&graph), &labels);
    let folds: Vec<u64> = rows.iter().map(|row| row.fold_index(Split::Random, 1)).collect();
    assert_ne!(folds, rows.iter().map(|row| row.fold_index(Split::Random, 2)).collect::<Vec<_>>());
    for fold in 0..dataset::FOLDS {
        assert!(folds.iter().filter(|other| **other == fold).count() > 100);
    }
    let whole: Vec<(EvmAddress, u64)> =
        rows.iter().map(|row| (row.group(), row.fold_index(Split::Cluster, 1))).collect();
    let mut by_group = std::collections::HashMap::new();
    for (group, fold) in &whole {
        assert_eq!(by_group.entry(*group).or_insert(*fold), fold, "a group is left out as a whole");
    }
    // Sybils pass coins along: they are in groups of many, whose members differ in the random parts.
    let largest = by_group.keys().map(|group| whole.iter().filter(|(other, _)| other == group).count()).max();
    assert!(largest.is_some_and(|largest| largest > 10), "{largest:?}");
}

#[test]
fn copies_that_one_funder_made_are_left_out_together_though_they_never_met() {
    let mut builder = Builder::default();
    let funder = builder.node(address(900));
    for (number, bridged) in [(1, 1_640_000_000), (2, 1_640_000_300), (3, 1_640_900_000)] {
        let user = builder.node(address(number));
        let (time, chain) = (NonZeroU32::new(bridged - 60), Chain::Polygon);
        builder.add(Transfer { from: funder, to: user, time, chain, kind: Kind::Native, round: None });
        builder.add_facts(address(number), AddressProfile { first_bridge: bridged, volume_usd: 100.0 });
    }
    let graph = builder.build();
    let labels = [1, 2, 3].map(|number| (address(number), false));
    let groups: Vec<EvmAddress> =
        dataset::rows(&graph, &PeerIndex::build(&graph), &labels).iter().map(Row::group).collect();
    assert_eq!(groups[0], groups[1]);
    assert_ne!(groups[0], groups[2], "who came ten days later is another customer");
}
