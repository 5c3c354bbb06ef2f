//! `TreeEnsembleClassifier` and `TreeEnsembleRegressor` of `ai.onnx.ml`.
//!
//! The standard does not define the answer of a classifier with two classes and a single score. This follows the common
//! behavior of the reference evaluator and ONNX Runtime.

mod layout;

use crate::post_transform::{PostTransform, logistic};
use crate::proto::GraphNode;
use crate::rowwise::Rowwise;
use crate::tensor::{count, single};

use layout::Lists;

/// Maximum number of columns that a row of scores holds without an allocation.
const FEW_COLUMNS: usize = 8;

/// Comparison of a feature with a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BranchMode {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Equal,
    NotEqual,
}

/// Node of a tree. Children come after their parent, so that every path ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TreeNode {
    Split {
        feature: u32,
        mode: BranchMode,
        threshold: f32,
        unknown_is_true: bool,
        if_true: u32,
        if_false: u32,
    },
    Leaf {
        from: u32,
        to: u32,
    },
}

/// Function that combines the weights of all trees.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Aggregate {
    Sum,
    Average,
    Min,
    Max,
}

/// Trees whose paths, classes and features were all checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trees {
    roots: Vec<u32>,
    nodes: Vec<TreeNode>,
    /// Columns and weights of the leaves.
    weights: Vec<(u32, f32)>,
    base: Vec<f32>,
    columns: usize,
    aggregate: Aggregate,
    post_transform: PostTransform,
    /// True for two classes of which only one has weights.
    is_binary: bool,
    features: usize,
    steps: usize,
}

impl Trees {
    /// Reads a classifier or a regressor.
    pub(crate) fn read(node: &GraphNode<'_>) -> Result<Self, String> {
        if let Some(found) = node.attributes.iter().find(|found| found.name.ends_with("_as_tensor")) {
            return Err(format!("trees with {}: train in single precision", found.name));
        }
        let is_classifier = node.op_type == "TreeEnsembleClassifier";
        let columns = if is_classifier {
            node.labels().len()
        } else {
            usize::try_from(node.int("n_targets").unwrap_or(1)).unwrap_or(0)
        };
        if !(1..=1024).contains(&columns) {
            return Err(format!("trees with {columns} classes or targets"));
        }
        let aggregate = match node.text("aggregate_function").unwrap_or("SUM") {
            _ if is_classifier => Aggregate::Sum,
            "SUM" => Aggregate::Sum,
            "AVERAGE" => Aggregate::Average,
            "MIN" => Aggregate::Min,
            "MAX" => Aggregate::Max,
            other => return Err(format!("trees combined by {other}")),
        };
        let base = node.floats("base_values").to_vec();
        let mut trees = Self {
            roots: Vec::new(),
            nodes: Vec::new(),
            weights: Vec::new(),
            base,
            columns,
            aggregate,
            post_transform: PostTransform::read(node.text("post_transform"))?,
            is_binary: false,
            features: 0,
            steps: 0,
        };
        let mut lists = Lists::read(node, if is_classifier { "class" } else { "target" })?;
        let ids = node.ints(if is_classifier { "class_ids" } else { "target_ids" });
        trees.is_binary = is_classifier
            && columns <= 2
            && ids.first().is_some_and(|first| ids.iter().all(|id| id == first));
        let bases = trees.base.len();
        if !(bases == 0 || bases == columns || trees.is_binary && bases <= 2) {
            return Err(format!("{bases} base values for {columns} classes"));
        }
        if trees.base.iter().any(|value| !value.is_finite()) {
            return Err("trees with a base value that is not a number".to_owned());
        }
        lists.lay_out(&mut trees)?;
        Ok(trees)
    }

    /// Maximum number of nodes that one row visits.
    pub(crate) const fn steps(&self) -> usize {
        self.steps
    }

    fn add_up(&self, row: &[f32], sums: &mut [f64]) {
        sums.fill(match self.aggregate {
            Aggregate::Sum | Aggregate::Average => 0.0,
            Aggregate::Min => f64::from(f32::MAX),
            Aggregate::Max => f64::from(f32::MIN),
        });
        for root in &self.roots {
            let mut index = *root;
            let (from, to) = loop {
                match self.nodes[index as usize] {
                    TreeNode::Split { feature, mode, threshold, unknown_is_true, if_true, if_false } => {
                        let seen = row[feature as usize];
                        let holds = if seen.is_nan() { unknown_is_true } else { mode.holds(seen, threshold) };
                        index = if holds { if_true } else { if_false };
                    }
                    TreeNode::Leaf { from, to } => break (from as usize, to as usize),
                }
            };
            for (column, weight) in &self.weights[from..to] {
                let sum = &mut sums[*column as usize];
                let weight = f64::from(*weight);
                *sum = match self.aggregate {
                    Aggregate::Sum | Aggregate::Average => *sum + weight,
                    Aggregate::Min => sum.min(weight),
                    Aggregate::Max => sum.max(weight),
                };
            }
        }
        if self.aggregate == Aggregate::Average {
            let trees = count(self.roots.len());
            for sum in sums {
                *sum /= trees;
            }
        }
    }

    /// Probabilities of two classes from a single score.
    fn binary(&self, sums: &[f64]) -> [f64; 2] {
        // Only one column ever has weights; exporters differ in which one.
        let score = sums.iter().sum::<f64>() + f64::from(self.base.last().copied().unwrap_or(0.0));
        match self.post_transform {
            PostTransform::None => [1.0 - score, score],
            PostTransform::Logistic => [logistic(-score), logistic(score)],
            PostTransform::Softmax => [logistic(-2.0 * score), logistic(2.0 * score)],
        }
    }

    fn finish(&self, sums: &mut [f64], into: &mut [f32]) {
        if self.is_binary {
            into.copy_from_slice(&self.binary(sums).map(single));
            return;
        }
        for (sum, base) in sums.iter_mut().zip(&self.base) {
            *sum += f64::from(*base);
        }
        self.post_transform.apply(sums);
        for (sum, into) in sums.iter().zip(into) {
            *into = single(*sum);
        }
    }
}

impl Rowwise for Trees {
    fn features(&self) -> usize {
        self.features
    }

    fn columns(&self, _: usize) -> usize {
        if self.is_binary { 2 } else { self.columns }
    }

    fn work(&self) -> usize {
        self.steps
    }

    fn compute(&self, row: &[f32], into: &mut [f32]) {
        let mut few = [0.0; FEW_COLUMNS];
        let mut many = Vec::new();
        let sums = if let Some(sums) = few.get_mut(..self.columns) {
            sums
        } else {
            many.resize(self.columns, 0.0);
            &mut many[..]
        };
        self.add_up(row, sums);
        self.finish(sums, into);
    }
}

impl BranchMode {
    fn read(mode: &str) -> Option<Self> {
        Some(match mode {
            "BRANCH_LEQ" => Self::LessOrEqual,
            "BRANCH_LT" => Self::Less,
            "BRANCH_GTE" => Self::GreaterOrEqual,
            "BRANCH_GT" => Self::Greater,
            "BRANCH_EQ" => Self::Equal,
            "BRANCH_NEQ" => Self::NotEqual,
            _ => return None,
        })
    }

    #[expect(clippy::float_cmp, reason = "the standard compares so")]
    fn holds(self, seen: f32, threshold: f32) -> bool {
        match self {
            Self::LessOrEqual => seen <= threshold,
            Self::Less => seen < threshold,
            Self::GreaterOrEqual => seen >= threshold,
            Self::Greater => seen > threshold,
            Self::Equal => seen == threshold,
            Self::NotEqual => seen != threshold,
        }
    }
}

#[cfg(test)]
mod tests;
