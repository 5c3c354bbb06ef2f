//! Trains models from labeled addresses, and measures them on held-out addresses.

mod evaluation;
mod fit;

use pyxis_core::address::EvmAddress;
use rayon::prelude::*;

use crate::Error;
use crate::bundle::Bundle;
use crate::calibration::Curve;
use crate::card::{Card, ModelCard, TrainingData};
use crate::dataset::{self, Row, Split};
use crate::family::{Family, Part, SHARED};
use crate::features::{self, ALL};
use crate::graph::Graph;
use crate::metrics::float;
use crate::peers::PeerIndex;
use crate::scope::{Chain, ChainScope, Model};
use evaluation::Measured;
use fit::Matrix;

/// Fewest labeled humans, and fewest labeled Sybils, with data for a model.
const LEAST: usize = 200;

/// Chains in the training data of the shared model.
const LABELED: [Chain; 4] = [Chain::Ethereum, Chain::Optimism, Chain::Polygon, Chain::Gnosis];

/// The calibration of the model for activity without labels: none. Its trees minimize the log loss, and a curve fitted
/// to chains with labels says nothing about others. Fitted to three of them, it made the fourth worse in three out of
/// four cases.
const UNSEEN: Curve = Curve::PLAIN;

/// Training options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Random seed: the same seed and data give the same models.
    pub seed: u64,
    /// Trees per model.
    pub trees: usize,
    /// Time of training, RFC 3339, for the card.
    pub trained_at: String,
    /// Threads that grow trees; the models do not depend on them.
    pub threads: usize,
}

/// Trains every model that the labels can support, and measures all of them. `report` receives the number of steps done
/// and the total.
pub fn train(
    graph: &Graph,
    labels: &[(EvmAddress, bool)],
    options: &Options,
    report: &mut dyn FnMut(usize, usize),
) -> Result<Bundle, Error> {
    let peers = PeerIndex::build(graph);
    let rows = dataset::rows(graph, &peers, labels);
    let [unknown, imported] = [false, true].map(|imported| without_context(graph, &rows, imported));
    // One model must work with and without knowledge of a wallet's counterparties.
    let mixed: Vec<Row> = unknown
        .iter()
        .zip(&imported)
        .map(|(unknown, imported)| if unknown.lot(options.seed) % 2 == 0 { unknown } else { imported })
        .cloned()
        .collect();
    let (in_company, by_themselves) = (specs(&rows), specs(&mixed));
    if in_company.is_empty() {
        return Err(Error::Training(format!(
            "a model needs {LEAST} humans and {LEAST} Sybils with activity on one chain"
        )));
    }
    let all = steps(&in_company) + steps(&by_themselves);
    let mut steps = Steps { done: 0, all, report };
    let lesson = Lesson { learned: &rows, judged: &rows, imported: None, specs: &in_company };
    let (with_context, models) = lesson.learn(options, &mut steps)?;
    let (indexer_only, alone_models) = if by_themselves.is_empty() {
        (None, Vec::new())
    } else {
        let imported = Some(&imported[..]);
        let lesson = Lesson { learned: &mixed, judged: &unknown, imported, specs: &by_themselves };
        let (family, models) = lesson.learn(options, &mut steps)?;
        (Some(family), models)
    };
    let card = Card {
        trained_at: options.trained_at.clone(),
        seed: options.seed,
        library: "forust-ml 0.8".to_owned(),
        features_sha256: Some(features::names_digest()),
        data: TrainingData {
            transfers: graph.transfer_count(),
            addresses: graph.len(),
            labelled: rows.len(),
            humans: rows.iter().filter(|row| row.human).count(),
            labels_sha256: dataset::digest(labels),
        },
        split: SPLIT.to_owned(),
        limits: LIMITS.map(str::to_owned).to_vec(),
        models,
        alone: alone_models,
    };
    Ok(Bundle { card, with_context, indexer_only, customs: Vec::new(), of_program: false })
}

/// The same wallets with only their own transfers known.
fn without_context(graph: &Graph, rows: &[Row], imported: bool) -> Vec<Row> {
    rows.par_iter().map(|row| row.without_context(graph, imported)).collect()
}

/// Training and measurement data of a family of models.
struct Lesson<'a> {
    learned: &'a [Row],
    judged: &'a [Row],
    /// The measured wallets if their counterparties were imported.
    imported: Option<&'a [Row]>,
    specs: &'a [Spec],
}

impl Lesson<'_> {
    fn learn(&self, options: &Options, steps: &mut Steps<'_>) -> Result<(Family, Vec<ModelCard>), Error> {
        let views: Vec<&[Row]> = [self.learned, self.judged].into_iter().chain(self.imported).collect();
        let random =
            Measured::cross_validate(self.learned, &views, self.specs, Split::Random, options, steps)?;
        let cluster =
            Measured::cross_validate(self.learned, &views[..2], self.specs, Split::Cluster, options, steps)?;
        let (fair, fair_cluster) = (random[0].fair(), cluster[0].fair());
        let imported = random.get(2);
        let mut cards = vec![ModelCard {
            name: Model::Aggregate.as_str().to_owned(),
            serves: vec![Model::Aggregate.as_str().to_owned()],
            transferred: false,
            rows: self.learned.len(),
            trees: 0,
            weight: 1.0,
            random: random[1].aggregate(&fair),
            by_cluster: cluster[1].aggregate(&fair_cluster),
            imported: imported.and_then(|view| view.aggregate(&fair)),
            by_chain: Vec::new(),
            important: Vec::new(),
        }];
        let mut parts = Vec::new();
        for (index, spec) in self.specs.iter().enumerate() {
            let matrix = Matrix::select(self.learned, spec, |_, _| true);
            let forest = fit::fit(&matrix, options)?;
            steps.step();
            let (curve, weight) = random[0].curve(index);
            let by_chain = if spec.is_shared() {
                evaluation::by_chain(self.judged, options, steps)?
            } else {
                Vec::new()
            };
            cards.push(ModelCard {
                name: spec.name.to_owned(),
                serves: spec.serves(self.specs),
                transferred: spec.is_shared(),
                rows: matrix.rows(),
                trees: forest.trees(),
                weight,
                random: random[1].quality(index, &fair),
                by_cluster: cluster[1].quality(index, &fair_cluster),
                imported: imported.and_then(|view| view.quality(index, &fair)),
                by_chain,
                important: important(&forest, &matrix),
            });
            parts.push(Part { name: spec.name.to_owned(), curve, weight, forest });
        }
        Ok((Family { parts, aggregate: random[0].aggregate_curve(&fair) }, cards))
    }
}

const SPLIT: &str = "five folds, each left out once: single addresses at random, and whole groups connected by direct \
    transfers, a small funder or sink, or nearly the same counterparties; calibration and weights are fitted on the \
    other folds too";

const LIMITS: [&str; 5] = [
    "If the labels were themselves drawn from transfers, high figures are partly circular: the models find again \
     what the reviewers looked for.",
    "A score says how much an address resembles the labeled ones. It is not a proof, and no one should lose \
     anything because of a score alone.",
    "Less is known about a wallet that only an indexer reports, so the figures of imported wallets do not apply \
     to it. Figures for wallets without known counterparties are listed separately.",
    "A transferred model never saw labels of the activity that it scores; its figure by chain is the best that \
     can be expected there.",
    "Wallets of exchanges and contracts are not users; their scores mean little.",
];

/// A model to train.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    name: &'static str,
    scopes: Vec<ChainScope>,
}

impl Spec {
    fn is_shared(&self) -> bool {
        self.name == SHARED
    }

    fn serves(&self, specs: &[Self]) -> Vec<String> {
        if !self.is_shared() {
            return vec![self.name.to_owned()];
        }
        let own = |model: &Model| specs.iter().any(|spec| spec.name == model.as_str());
        Model::single().filter(|model| !own(model)).map(|model| model.as_str().to_owned()).collect()
    }
}

/// Models of the API with enough labels, and the shared one.
fn specs(rows: &[Row]) -> Vec<Spec> {
    let enough = |scopes: &[ChainScope]| {
        let has = |row: &&Row| {
            let found = row.features.as_ref();
            found.is_some_and(|found| found.scopes.iter().any(|(scope, _)| scopes.contains(scope)))
        };
        let humans = rows.iter().filter(has).filter(|row| row.human).count();
        humans >= LEAST && rows.iter().filter(has).count() - humans >= LEAST
    };
    let single = Model::single().filter_map(|model| {
        let scopes = vec![model.scope()?];
        enough(&scopes).then_some(Spec { name: model.as_str(), scopes })
    });
    let mut specs: Vec<Spec> = single.collect();
    let scopes = LABELED.map(ChainScope::Chain).to_vec();
    if enough(&scopes) {
        specs.push(Spec { name: SHARED, scopes });
    }
    specs
}

/// The features that move answers most, on average over at most 2,000 rows.
fn important(forest: &crate::forest::Forest, matrix: &Matrix) -> Vec<(String, f64)> {
    let step = matrix.rows().div_ceil(2_000).max(1);
    let mut sums = [0.0; ALL];
    let mut looked = 0;
    for index in (0..matrix.rows()).step_by(step) {
        let (moved, _) = forest.explain(&matrix.row(index));
        looked += 1;
        for (sum, moved) in sums.iter_mut().zip(moved) {
            *sum += moved.abs();
        }
    }
    let mut ranked: Vec<(String, f64)> = sums
        .iter()
        .enumerate()
        .map(|(place, sum)| (features::feature_name(place), (sum / float(looked.max(1)) * 1e4).round() / 1e4))
        .collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    ranked.truncate(15);
    ranked
}

/// Number of steps to train and measure models.
fn steps(specs: &[Spec]) -> usize {
    let unseen = if specs.iter().any(Spec::is_shared) { LABELED.len() * fit::folds() } else { 0 };
    specs.len() * (2 * fit::folds() + 1) + unseen
}

/// Progress.
pub(crate) struct Steps<'a> {
    done: usize,
    all: usize,
    report: &'a mut dyn FnMut(usize, usize),
}

impl Steps<'_> {
    fn step(&mut self) {
        self.done += 1;
        (self.report)(self.done, self.all);
    }
}

#[cfg(test)]
mod tests;
