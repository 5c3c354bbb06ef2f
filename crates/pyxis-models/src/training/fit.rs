//! Grows trees with the library, and converts them to a [`Forest`].

use forust_ml::gradientbooster::GrowPolicy;
use forust_ml::objective::ObjectiveType;
use forust_ml::sampler::SampleMethod;
use forust_ml::{GradientBooster, Matrix as Columns};

use super::{Options, Spec};
use crate::Error;
use crate::dataset::{FOLDS, Row};
use crate::features::ALL;
use crate::forest::{Forest, Tree};
use crate::scope::ChainScope;

/// Learning rate: many small steps rather than few large ones.
const STEP: f32 = 0.06;
const LEAVES: usize = 31;
const DEPTH: usize = 9;
/// Least evidence in a leaf, as a sum of second derivatives: about four undecided wallets per unit.
const LEAF_WEIGHT: f32 = 3.0;
/// Shares of the rows and of the features that a tree sees.
const ROWS: f32 = 0.8;
const FEATURES: f64 = 0.5;

pub(super) fn folds() -> usize {
    usize::try_from(FOLDS).unwrap_or(usize::MAX)
}

/// Features of many wallets.
pub(super) struct Matrix {
    /// Row by row.
    seen: Vec<[f32; ALL]>,
    human: Vec<bool>,
}

impl Matrix {
    /// The rows of a model for which `wanted` holds, in order.
    pub(super) fn select(rows: &[Row], spec: &Spec, wanted: impl Fn(&Row, ChainScope) -> bool) -> Self {
        let mut matrix = Self { seen: Vec::new(), human: Vec::new() };
        for row in rows {
            let Some(found) = &row.features else { continue };
            for scope in spec.scopes.iter().filter(|scope| wanted(row, **scope)) {
                if let Some(seen) = found.scope_input(*scope) {
                    matrix.seen.push(seen);
                    matrix.human.push(row.human);
                }
            }
        }
        matrix
    }

    pub(super) fn rows(&self) -> usize {
        self.seen.len()
    }

    /// True if there are humans and Sybils to tell apart.
    pub(super) fn has_both_kinds(&self) -> bool {
        self.human.contains(&true) && self.human.contains(&false)
    }

    pub(super) fn row(&self, index: usize) -> [f32; ALL] {
        self.seen[index]
    }
}

/// Grows trees that tell humans from Sybils.
pub(super) fn fit(matrix: &Matrix, options: &Options) -> Result<Forest, Error> {
    if !matrix.has_both_kinds() {
        return Err(Error::Training(
            "a fifth of the data holds all humans or all Sybils; add labels of groups that are not connected"
                .to_owned(),
        ));
    }
    let columns: Vec<f64> =
        (0..ALL).flat_map(|place| matrix.seen.iter().map(move |seen| f64::from(seen[place]))).collect();
    let labels: Vec<f64> = matrix.human.iter().map(|human| f64::from(u8::from(*human))).collect();
    let mut booster = GradientBooster::default()
        .set_objective_type(ObjectiveType::LogLoss)
        .set_iterations(options.trees)
        .set_learning_rate(STEP)
        .set_max_leaves(LEAVES)
        .set_max_depth(DEPTH)
        .set_min_leaf_weight(LEAF_WEIGHT)
        .set_sample_method(SampleMethod::Random)
        .set_subsample(ROWS)
        .set_colsample_bytree(FEATURES)
        .set_initialize_base_score(true)
        .set_seed(options.seed)
        .set_num_threads(Some(options.threads.max(1)));
    booster.grow_policy = GrowPolicy::LossGuide;
    booster
        .fit_unweighted(&Columns::new(&columns, matrix.rows(), ALL), &labels, None)
        .map_err(|error| Error::Training(error.to_string()))?;
    let trees: Option<Vec<Tree>> =
        booster.trees.iter().map(|tree| convert_tree(tree, 0).map(|(tree, ..)| tree)).collect();
    let trees = trees.ok_or_else(|| Error::Training("the library made a tree with a hole".to_owned()))?;
    Ok(Forest::new(booster.base_score, &trees))
}

/// Converts the library's nodes to a tree; also returns its mean answer and its weight.
fn convert_tree(tree: &forust_ml::tree::Tree, number: usize) -> Option<(Tree, f64, f64)> {
    let node = tree.nodes.get(number)?;
    if node.is_leaf {
        let weight = f64::from(node.hessian_sum).max(1e-9);
        return Some((Tree::Leaf(node.weight_value), f64::from(node.weight_value), weight));
    }
    let (left, left_mean, left_weight) = convert_tree(tree, node.left_child)?;
    let (right, right_mean, right_weight) = convert_tree(tree, node.right_child)?;
    let weight = left_weight + right_weight;
    let mean = (left_mean * left_weight + right_mean * right_weight) / weight;
    let split = Tree::Split {
        feature: u16::try_from(node.split_feature).ok()?,
        threshold: not_below(node.split_value),
        unknown_left: node.missing_node == node.left_child,
        mean: single(mean),
        left: Box::new(left),
        right: Box::new(right),
    };
    Some((split, mean, weight))
}

/// The smallest single-precision number that is not below the threshold: the same numbers are smaller than either.
fn not_below(threshold: f64) -> f32 {
    let near = single(threshold);
    if f64::from(near) < threshold { near.next_up() } else { near }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
fn single(number: f64) -> f32 {
    number as f32
}
