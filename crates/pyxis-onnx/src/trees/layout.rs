//! Layout of trees: from the lists of a file to checked nodes.

use std::collections::HashMap;

use super::{BranchMode, TreeNode, Trees};
use crate::proto::GraphNode;

/// Largest feature index that a split may read, plus one.
const MAX_FEATURES: u32 = 1 << 20;

/// Lists of a file, by tree and node.
pub(super) struct Lists<'a> {
    /// Trees in file order, each with the position of its root.
    order: Vec<(i64, usize)>,
    /// Positions of nodes by tree and id.
    positions: HashMap<(i64, i64), usize>,
    /// Columns and weights of leaves by tree and id.
    weights: HashMap<(i64, i64), Vec<(u32, f32)>>,
    trees: &'a [i64],
    ids: &'a [i64],
    children: [&'a [i64]; 2],
    features: &'a [i64],
    thresholds: &'a [f32],
    unknown_is_true: &'a [i64],
    modes: Vec<&'a str>,
}

/// Node on a path from the root.
struct PathNode {
    position: usize,
    depth: usize,
    /// Parent, and true for the child that is taken when its comparison holds.
    parent: Option<(usize, bool)>,
}

impl<'a> Lists<'a> {
    pub(super) fn read(node: &'a GraphNode<'_>, leaves: &str) -> Result<Self, String> {
        let mut lists = Self {
            order: Vec::new(),
            positions: HashMap::new(),
            weights: HashMap::new(),
            trees: node.ints("nodes_treeids"),
            ids: node.ints("nodes_nodeids"),
            children: [node.ints("nodes_truenodeids"), node.ints("nodes_falsenodeids")],
            features: node.ints("nodes_featureids"),
            thresholds: node.floats("nodes_values"),
            unknown_is_true: node.ints("nodes_missing_value_tracks_true"),
            modes: node.texts("nodes_modes"),
        };
        let nodes = lists.trees.len();
        let lengths = [
            lists.ids.len(),
            lists.features.len(),
            lists.thresholds.len(),
            lists.modes.len(),
            lists.children[0].len(),
            lists.children[1].len(),
        ];
        if nodes == 0
            || lengths.iter().any(|length| *length != nodes)
            || !(lists.unknown_is_true.is_empty() || lists.unknown_is_true.len() == nodes)
        {
            return Err("the lists of tree nodes differ in length".to_owned());
        }
        for (position, key) in lists.trees.iter().copied().zip(lists.ids.iter().copied()).enumerate() {
            if lists.positions.insert(key, position).is_some() {
                return Err(format!("tree {} has two nodes {}", key.0, key.1));
            }
            if lists.order.last().is_none_or(|(tree, _)| *tree != key.0) {
                lists.order.push((key.0, position));
            }
        }
        lists.read_weights(node, leaves)?;
        Ok(lists)
    }

    fn read_weights(&mut self, node: &GraphNode<'_>, leaves: &str) -> Result<(), String> {
        let list = |name: &str| node.ints(&format!("{leaves}_{name}"));
        let (trees, nodes, ids) = (list("treeids"), list("nodeids"), list("ids"));
        let weights = node.floats(&format!("{leaves}_weights"));
        if trees.len() != nodes.len() || trees.len() != ids.len() || trees.len() != weights.len() {
            return Err("the lists of tree weights differ in length".to_owned());
        }
        for (((tree, node), id), weight) in trees.iter().zip(nodes).zip(ids).zip(weights) {
            let id = u32::try_from(*id).map_err(|_| format!("a leaf of tree {tree} has the class {id}"))?;
            if !weight.is_finite() {
                return Err(format!("a leaf of tree {tree} has a weight that is not a number"));
            }
            self.weights.entry((*tree, *node)).or_default().push((id, *weight));
        }
        Ok(())
    }

    /// Lays out the nodes of every tree from its root. A node that two paths reach, or none, is an error.
    pub(super) fn lay_out(&mut self, trees: &mut Trees) -> Result<(), String> {
        let mut reached = vec![false; self.trees.len()];
        for (tree, root) in std::mem::take(&mut self.order) {
            if reached[root] {
                return Err(format!("the nodes of tree {tree} are not listed together"));
            }
            trees.roots.push(index(trees.nodes.len())?);
            let mut deepest = 0;
            let mut open = vec![PathNode { position: root, depth: 1, parent: None }];
            while let Some(PathNode { position, depth, parent }) = open.pop() {
                if std::mem::replace(&mut reached[position], true) {
                    return Err(format!("tree {tree} has a cycle"));
                }
                deepest = deepest.max(depth);
                let here = trees.nodes.len();
                if let Some((parent, is_true)) = parent
                    && let TreeNode::Split { if_true, if_false, .. } = &mut trees.nodes[parent]
                {
                    *(if is_true { if_true } else { if_false }) = index(here)?;
                }
                if self.modes[position] == "LEAF" {
                    let leaf = self.leaf(tree, position, trees)?;
                    trees.nodes.push(leaf);
                    continue;
                }
                let split = self.split(tree, position)?;
                if let TreeNode::Split { feature, .. } = split {
                    trees.features = trees.features.max(feature as usize + 1);
                }
                trees.nodes.push(split);
                for (children, is_true) in self.children.iter().zip([true, false]) {
                    let child = self.positions.get(&(tree, children[position]));
                    let child =
                        child.ok_or_else(|| format!("a branch of tree {tree} leads to a missing node"))?;
                    open.push(PathNode { position: *child, depth: depth + 1, parent: Some((here, is_true)) });
                }
            }
            trees.steps += deepest;
        }
        if reached.iter().all(|reached| *reached) {
            Ok(())
        } else {
            Err("some tree nodes cannot be reached from a root".to_owned())
        }
    }

    fn leaf(&mut self, tree: i64, position: usize, trees: &mut Trees) -> Result<TreeNode, String> {
        let from = trees.weights.len();
        trees.weights.extend(self.weights.remove(&(tree, self.ids[position])).unwrap_or_default());
        if let Some((column, _)) =
            trees.weights[from..].iter().find(|(column, _)| *column as usize >= trees.columns)
        {
            return Err(format!(
                "a leaf of tree {tree} has the class {column}, but there are {}",
                trees.columns
            ));
        }
        Ok(TreeNode::Leaf { from: index(from)?, to: index(trees.weights.len())? })
    }

    fn split(&self, tree: i64, position: usize) -> Result<TreeNode, String> {
        let (mode, threshold, feature) =
            (self.modes[position], self.thresholds[position], self.features[position]);
        if threshold.is_nan() {
            return Err(format!("a threshold of tree {tree} is not a number"));
        }
        Ok(TreeNode::Split {
            feature: u32::try_from(feature)
                .ok()
                .filter(|feature| *feature < MAX_FEATURES)
                .ok_or_else(|| format!("a split of tree {tree} reads the feature {feature}"))?,
            mode: BranchMode::read(mode).ok_or_else(|| format!("trees that branch by {mode:?}"))?,
            threshold,
            unknown_is_true: self.unknown_is_true.get(position).is_some_and(|flag| *flag != 0),
            if_true: 0,
            if_false: 0,
        })
    }
}

fn index(index: usize) -> Result<u32, String> {
    u32::try_from(index).map_err(|_| "the trees have too many nodes".to_owned())
}
