//! `TreeEnsembleClassifier` and `TreeEnsembleRegressor` of `ai.onnx.ml`.
//!
//! Where the text of the standard leaves open what two classes with one score mean, this follows what its
//! reference evaluator and the common runtimes agree on.

use std::collections::HashMap;

use tract_onnx::pb::NodeProto;

use crate::attributes::Attributes;
use crate::rows::Rows;

/// How a split compares.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
    Other,
}

/// Children stand after their parent, so that every way through a tree ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    Split { feature: usize, rule: Rule, value: f32, unknown_yes: bool, yes: usize, no: usize },
    Leaf { from: usize, to: usize },
}

/// What becomes of the answers of all trees.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Together {
    Sum,
    Mean,
    Least,
    Most,
}

/// What becomes of the sums.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Finish {
    Plain,
    Logistic,
    Softmax,
}

/// Trees that were looked through.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trees {
    roots: Vec<usize>,
    nodes: Vec<Node>,
    /// Columns and weights that leaves add.
    weights: Vec<(usize, f32)>,
    base: Vec<f32>,
    columns: usize,
    together: Together,
    finish: Finish,
    /// Two classes of which one has scores.
    binary: bool,
    features: usize,
    steps: usize,
}

/// What is wrong with trees.
type Wrong = String;

impl Trees {
    /// Reads a classifier or a regressor.
    pub(crate) fn read(node: &NodeProto) -> Result<Self, Wrong> {
        let attributes = Attributes(node);
        if let Some(found) = node.attribute.iter().find(|found| found.name.ends_with("_as_tensor")) {
            return Err(format!("trees with {}: train in single precision", found.name));
        }
        let classifier = node.op_type == "TreeEnsembleClassifier";
        let leaves = if classifier { "class" } else { "target" };
        let columns = if classifier {
            attributes.labels().len()
        } else {
            let targets = attributes.find("n_targets").map_or(1, |found| found.i);
            usize::try_from(targets).unwrap_or(0)
        };
        if !(1..=1024).contains(&columns) {
            return Err(format!("trees with {columns} classes or targets"));
        }
        let together = match attributes.text("aggregate_function").unwrap_or("SUM") {
            _ if classifier => Together::Sum,
            "SUM" => Together::Sum,
            "AVERAGE" => Together::Mean,
            "MIN" => Together::Least,
            "MAX" => Together::Most,
            other => return Err(format!("trees put together by {other}")),
        };
        let finish = match attributes.text("post_transform").unwrap_or("NONE") {
            "NONE" => Finish::Plain,
            "LOGISTIC" => Finish::Logistic,
            "SOFTMAX" => Finish::Softmax,
            other => return Err(format!("trees that end in {other}")),
        };
        let mut trees = Self {
            roots: Vec::new(),
            nodes: Vec::new(),
            weights: Vec::new(),
            base: attributes.floats("base_values").to_vec(),
            columns,
            together,
            finish,
            binary: false,
            features: 0,
            steps: 0,
        };
        let ids = attributes.ints(&format!("{leaves}_ids"));
        trees.binary =
            classifier && columns <= 2 && ids.first().is_some_and(|first| ids.iter().all(|id| id == first));
        if !(trees.base.is_empty() || trees.base.len() == columns || trees.binary && trees.base.len() <= 2) {
            return Err(format!("{} base values for {columns} classes", trees.base.len()));
        }
        if trees.base.iter().any(|value| !value.is_finite()) {
            return Err("a base value that is no number".to_owned());
        }
        Plan::read(attributes, leaves)?.lay_out(&mut trees)?;
        Ok(trees)
    }

    /// Steps that one answer takes at most.
    pub(crate) const fn steps(&self) -> usize {
        self.steps
    }

    fn sums(&self, row: &[f32]) -> Vec<f64> {
        let start = match self.together {
            Together::Sum | Together::Mean => 0.0,
            Together::Least => f64::from(f32::MAX),
            Together::Most => f64::from(f32::MIN),
        };
        let mut sums = vec![start; self.columns];
        for root in &self.roots {
            let mut place = *root;
            let (from, to) = loop {
                match self.nodes[place] {
                    Node::Split { feature, rule, value, unknown_yes, yes, no } => {
                        let seen = row[feature];
                        let goes = if seen.is_nan() { unknown_yes } else { rule.holds(seen, value) };
                        place = if goes { yes } else { no };
                    }
                    Node::Leaf { from, to } => break (from, to),
                }
            };
            for (column, weight) in &self.weights[from..to] {
                let sum = &mut sums[*column];
                let weight = f64::from(*weight);
                *sum = match self.together {
                    Together::Sum | Together::Mean => *sum + weight,
                    Together::Least => sum.min(weight),
                    Together::Most => sum.max(weight),
                };
            }
        }
        if self.together == Together::Mean {
            let trees = f64::from(u32::try_from(self.roots.len()).unwrap_or(u32::MAX));
            sums = sums.into_iter().map(|sum| sum / trees).collect();
        }
        sums
    }

    /// Two classes from the score of one.
    fn two(&self, sums: &[f64]) -> [f64; 2] {
        // Only one column ever has weights; which one is a habit of the exporter.
        let score = sums.iter().sum::<f64>() + f64::from(self.base.last().copied().unwrap_or(0.0));
        match self.finish {
            Finish::Plain => [1.0 - score, score],
            Finish::Logistic => [logistic(-score), logistic(score)],
            Finish::Softmax => [logistic(-2.0 * score), logistic(2.0 * score)],
        }
    }
}

impl Rows for Trees {
    fn features(&self) -> usize {
        self.features
    }

    fn columns(&self, _: usize) -> usize {
        if self.binary { 2 } else { self.columns }
    }

    fn answer(&self, row: &[f32], into: &mut Vec<f32>) {
        let mut sums = self.sums(row);
        if self.binary {
            into.extend(self.two(&sums).map(single));
            return;
        }
        for (sum, base) in sums.iter_mut().zip(&self.base) {
            *sum += f64::from(*base);
        }
        match self.finish {
            Finish::Plain => {}
            Finish::Logistic => sums = sums.into_iter().map(logistic).collect(),
            Finish::Softmax => {
                let most = sums.iter().copied().fold(f64::MIN, f64::max);
                let raised: Vec<f64> = sums.iter().map(|sum| (sum - most).exp()).collect();
                let whole: f64 = raised.iter().sum();
                sums = raised.into_iter().map(|sum| sum / whole).collect();
            }
        }
        into.extend(sums.into_iter().map(single));
    }
}

impl Rule {
    fn of(mode: &str) -> Option<Self> {
        Some(match mode {
            "BRANCH_LEQ" => Self::AtMost,
            "BRANCH_LT" => Self::Below,
            "BRANCH_GTE" => Self::AtLeast,
            "BRANCH_GT" => Self::Above,
            "BRANCH_EQ" => Self::Equal,
            "BRANCH_NEQ" => Self::Other,
            _ => return None,
        })
    }

    #[expect(clippy::float_cmp, reason = "the standard compares so")]
    fn holds(self, seen: f32, value: f32) -> bool {
        match self {
            Self::AtMost => seen <= value,
            Self::Below => seen < value,
            Self::AtLeast => seen >= value,
            Self::Above => seen > value,
            Self::Equal => seen == value,
            Self::Other => seen != value,
        }
    }
}

fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

#[expect(clippy::cast_possible_truncation, reason = "tensors hold single precision")]
fn single(number: f64) -> f32 {
    number as f32
}

/// The lists of a file, by tree and node.
struct Plan<'a> {
    attributes: Attributes<'a>,
    /// Trees in the order in which they come, each with its first node.
    order: Vec<(i64, usize)>,
    /// Where a node of a tree stands in the lists.
    places: HashMap<(i64, i64), usize>,
    /// What leaves add.
    weights: HashMap<(i64, i64), Vec<(usize, f32)>>,
    children: [&'a [i64]; 2],
    features: &'a [i64],
    values: &'a [f32],
    unknown: &'a [i64],
    modes: Vec<&'a str>,
    tree_of: &'a [i64],
}

/// A node on the way through a tree.
struct Reached {
    /// Where it stands in the lists.
    place: usize,
    depth: usize,
    /// Whose child it is, and whether by yes.
    parent: Option<(usize, bool)>,
}

impl<'a> Plan<'a> {
    fn read(attributes: Attributes<'a>, leaves: &str) -> Result<Self, Wrong> {
        let list = |name: &str| attributes.ints(name);
        let (tree_of, node_of) = (list("nodes_treeids"), list("nodes_nodeids"));
        let mut plan = Self {
            attributes,
            order: Vec::new(),
            places: HashMap::new(),
            weights: HashMap::new(),
            children: [list("nodes_truenodeids"), list("nodes_falsenodeids")],
            features: list("nodes_featureids"),
            values: attributes.floats("nodes_values"),
            unknown: list("nodes_missing_value_tracks_true"),
            modes: attributes.texts("nodes_modes"),
            tree_of,
        };
        let nodes = tree_of.len();
        let lengths = [
            node_of.len(),
            plan.features.len(),
            plan.values.len(),
            plan.modes.len(),
            plan.children[0].len(),
            plan.children[1].len(),
        ];
        if nodes == 0
            || lengths.iter().any(|length| *length != nodes)
            || !(plan.unknown.is_empty() || plan.unknown.len() == nodes)
        {
            return Err("the lists of the trees' nodes are not of one length".to_owned());
        }
        for (place, key) in tree_of.iter().copied().zip(node_of.iter().copied()).enumerate() {
            if plan.places.insert(key, place).is_some() {
                return Err(format!("node {} of tree {} is there twice", key.1, key.0));
            }
            if plan.order.last().is_none_or(|(tree, _)| *tree != key.0) {
                plan.order.push((key.0, place));
            }
        }
        plan.read_weights(leaves)?;
        Ok(plan)
    }

    fn read_weights(&mut self, leaves: &str) -> Result<(), Wrong> {
        let list = |name: &str| self.attributes.ints(&format!("{leaves}_{name}"));
        let (trees, nodes, ids) = (list("treeids"), list("nodeids"), list("ids"));
        let weights = self.attributes.floats(&format!("{leaves}_weights"));
        if trees.len() != nodes.len() || trees.len() != ids.len() || trees.len() != weights.len() {
            return Err("the lists of the trees' answers are not of one length".to_owned());
        }
        for (((tree, node), id), weight) in trees.iter().zip(nodes).zip(ids).zip(weights) {
            let id = usize::try_from(*id).map_err(|_| "an answer for a class below zero")?;
            if !weight.is_finite() {
                return Err("an answer of a tree that is no number".to_owned());
            }
            self.weights.entry((*tree, *node)).or_default().push((id, *weight));
        }
        Ok(())
    }

    /// Lays the nodes of every tree out from its root. A node that is reached twice, or leads nowhere, is
    /// an error.
    fn lay_out(&mut self, trees: &mut Trees) -> Result<(), Wrong> {
        let mut reached = vec![false; self.tree_of.len()];
        for (tree, root) in self.order.clone() {
            if reached[root] {
                return Err(format!("tree {tree} is there in pieces"));
            }
            trees.roots.push(trees.nodes.len());
            let mut deepest = 0;
            let mut open = vec![Reached { place: root, depth: 1, parent: None }];
            while let Some(Reached { place, depth, parent }) = open.pop() {
                if std::mem::replace(&mut reached[place], true) {
                    return Err(format!("tree {tree} has a circle"));
                }
                deepest = deepest.max(depth);
                let here = trees.nodes.len();
                if let Some((parent, is_yes)) = parent
                    && let Node::Split { yes, no, .. } = &mut trees.nodes[parent]
                {
                    *(if is_yes { yes } else { no }) = here;
                }
                if self.modes[place] == "LEAF" {
                    let leaf = self.leaf(tree, place, trees)?;
                    trees.nodes.push(leaf);
                } else {
                    let split = self.split(place)?;
                    if let Node::Split { feature, .. } = split {
                        trees.features = trees.features.max(feature + 1);
                    }
                    trees.nodes.push(split);
                    for (child, is_yes) in self.children.iter().zip([true, false]) {
                        let child = self.places.get(&(tree, child[place]));
                        let child = child.ok_or_else(|| format!("a branch of tree {tree} leads nowhere"))?;
                        open.push(Reached { place: *child, depth: depth + 1, parent: Some((here, is_yes)) });
                    }
                }
            }
            trees.steps += deepest;
        }
        if reached.iter().all(|reached| *reached) {
            Ok(())
        } else {
            Err("some nodes belong to no tree".to_owned())
        }
    }

    fn leaf(&mut self, tree: i64, place: usize, trees: &mut Trees) -> Result<Node, Wrong> {
        let node = self.attributes.ints("nodes_nodeids")[place];
        let from = trees.weights.len();
        trees.weights.extend(self.weights.remove(&(tree, node)).unwrap_or_default());
        if trees.weights[from..].iter().any(|(column, _)| *column >= trees.columns) {
            return Err("an answer for a class that is not there".to_owned());
        }
        Ok(Node::Leaf { from, to: trees.weights.len() })
    }

    fn split(&self, place: usize) -> Result<Node, Wrong> {
        let mode = self.modes[place];
        let value = self.values[place];
        if value.is_nan() {
            return Err("a threshold that is no number".to_owned());
        }
        Ok(Node::Split {
            feature: usize::try_from(self.features[place])
                .ok()
                .filter(|feature| *feature < 1 << 20)
                .ok_or("a feature that is not there")?,
            rule: Rule::of(mode).ok_or_else(|| format!("trees that branch by {mode:?}"))?,
            value,
            unknown_yes: self.unknown.get(place).is_some_and(|yes| *yes != 0),
            yes: 0,
            no: 0,
        })
    }
}

#[cfg(test)]
mod tests;
