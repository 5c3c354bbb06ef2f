//! Trained trees, in a layout for fast answers, explanations and a small file.

use crate::Error;

/// An index into [`Forest::splits`], or, from `LEAF` on, into [`Forest::leaves`].
type NodeIndex = u32;
const LEAF: NodeIndex = 1 << 31;

/// One split on a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Split {
    /// Smaller values go left.
    threshold: f32,
    feature: u16,
    /// True if unknown values go left.
    unknown_left: bool,
    left: NodeIndex,
    right: NodeIndex,
    /// Mean answer of the tree at this node, for explanations.
    mean: f32,
}

/// Trees whose answers add up to log odds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forest {
    base: f64,
    roots: Vec<NodeIndex>,
    splits: Vec<Split>,
    leaves: Vec<f32>,
}

/// A tree as training produces it.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// An answer.
    Leaf(f32),
    Split {
        /// Index of the feature.
        feature: u16,
        /// Smaller values go left.
        threshold: f32,
        /// True if unknown values go left.
        unknown_left: bool,
        /// Mean answer of the tree at this node.
        mean: f32,
        /// Subtree for smaller values.
        left: Box<Tree>,
        /// Subtree for the rest.
        right: Box<Tree>,
    },
}

impl Forest {
    /// Lays out trees.
    pub fn new(base: f64, trees: &[Tree]) -> Self {
        let mut forest = Self { base, ..Self::default() };
        for tree in trees {
            let root = forest.push_tree(tree);
            forest.roots.push(root);
        }
        forest
    }

    fn push_tree(&mut self, tree: &Tree) -> NodeIndex {
        match tree {
            Tree::Leaf(answer) => {
                self.leaves.push(*answer);
                LEAF | number(self.leaves.len() - 1)
            }
            Tree::Split { feature, threshold, unknown_left, mean, left, right } => {
                let here = self.splits.len();
                let (feature, threshold, unknown_left, mean) = (*feature, *threshold, *unknown_left, *mean);
                self.splits.push(Split { threshold, feature, unknown_left, left: 0, right: 0, mean });
                self.splits[here].left = self.push_tree(left);
                self.splits[here].right = self.push_tree(right);
                number(here)
            }
        }
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.roots.len()
    }

    /// The log odds of being human.
    pub fn predict(&self, seen: &[f32]) -> f64 {
        let mut sum = self.base;
        for root in &self.roots {
            let mut place = *root;
            while place < LEAF {
                place = self.splits[place as usize].next(seen);
            }
            sum += f64::from(self.leaves[(place & !LEAF) as usize]);
        }
        sum
    }

    /// Contribution of each feature to the log odds, and the starting value before any feature is considered. Together
    /// they add up to the prediction. A feature is credited with the change of the mean answer at its splits.
    pub fn explain(&self, seen: &[f32]) -> (Vec<f64>, f64) {
        let mut moved = vec![0.0; seen.len()];
        let mut start = self.base;
        for root in &self.roots {
            let mut place = *root;
            let mut mean = self.mean(place);
            start += mean;
            while place < LEAF {
                let split = &self.splits[place as usize];
                place = split.next(seen);
                let after = self.mean(place);
                moved[usize::from(split.feature)] += after - mean;
                mean = after;
            }
        }
        (moved, start)
    }

    fn mean(&self, place: NodeIndex) -> f64 {
        f64::from(if place < LEAF {
            self.splits[place as usize].mean
        } else {
            self.leaves[(place & !LEAF) as usize]
        })
    }

    /// File format: lengths, then numbers, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes =
            Vec::with_capacity(20 + self.roots.len() * 4 + self.splits.len() * 18 + self.leaves.len() * 4);
        bytes.extend(self.base.to_le_bytes());
        for length in [self.roots.len(), self.splits.len(), self.leaves.len()] {
            bytes.extend(number(length).to_le_bytes());
        }
        bytes.extend(self.roots.iter().flat_map(|root| root.to_le_bytes()));
        for split in &self.splits {
            bytes.extend(split.threshold.to_le_bytes());
            bytes.extend((split.feature | if split.unknown_left { 0x8000 } else { 0 }).to_le_bytes());
            bytes.extend(split.left.to_le_bytes());
            bytes.extend(split.right.to_le_bytes());
            bytes.extend(split.mean.to_le_bytes());
        }
        bytes.extend(self.leaves.iter().flat_map(|leaf| leaf.to_le_bytes()));
        bytes
    }

    /// Reads the output of [`Forest::to_bytes`] for models with `features` features. A file with a dangling index, a
    /// cycle or an unknown feature is refused.
    pub fn from_bytes(bytes: &[u8], features: usize) -> Result<Self, Error> {
        read(bytes, features).ok_or_else(|| Error::unreadable("the model", "its trees are damaged"))
    }
}

impl Split {
    fn next(&self, seen: &[f32]) -> NodeIndex {
        let value = seen[usize::from(self.feature)];
        let left = if value.is_nan() { self.unknown_left } else { value < self.threshold };
        if left { self.left } else { self.right }
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn read(bytes: &[u8], features: usize) -> Option<Forest> {
    let (head, rest) = bytes.split_at_checked(20)?;
    let base = f64::from_le_bytes(head[..8].try_into().ok()?);
    let mut lengths = head[8..].as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four) as usize);
    let (roots, splits, leaves) = (lengths.next()?, lengths.next()?, lengths.next()?);
    let (root_bytes, rest) = rest.split_at_checked(roots.checked_mul(4)?)?;
    let (split_bytes, rest) = rest.split_at_checked(splits.checked_mul(18)?)?;
    if rest.len() != leaves.checked_mul(4)? || !base.is_finite() {
        return None;
    }
    // Children come after their parent, so no path through a tree is a cycle.
    let leads = |place: NodeIndex, from: usize| {
        let index = (place & !LEAF) as usize;
        if place < LEAF { index < splits && index >= from } else { index < leaves }
    };
    let mut forest = Forest { base, ..Forest::default() };
    for four in root_bytes.as_chunks::<4>().0 {
        let root = u32::from_le_bytes(*four);
        leads(root, 0).then(|| forest.roots.push(root))?;
    }
    for (index, entry) in split_bytes.as_chunks::<18>().0.iter().enumerate() {
        let word = |at: usize| [entry[at], entry[at + 1], entry[at + 2], entry[at + 3]];
        let feature = u16::from_le_bytes([entry[4], entry[5]]);
        let split = Split {
            threshold: f32::from_le_bytes(word(0)),
            feature: feature & 0x7fff,
            unknown_left: feature & 0x8000 != 0,
            left: u32::from_le_bytes(word(6)),
            right: u32::from_le_bytes(word(10)),
            mean: f32::from_le_bytes(word(14)),
        };
        let sound = usize::from(split.feature) < features
            && leads(split.left, index + 1)
            && leads(split.right, index + 1)
            && split.mean.is_finite();
        sound.then(|| forest.splits.push(split))?;
    }
    forest.leaves = rest.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
    forest.leaves.iter().all(|leaf| leaf.is_finite()).then_some(forest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest() -> Forest {
        let split = |feature, threshold, left, right| Tree::Split {
            feature,
            threshold,
            unknown_left: feature == 0,
            mean: 0.25,
            left: Box::new(left),
            right: Box::new(right),
        };
        let inner = split(1, 5.0, Tree::Leaf(-1.0), Tree::Leaf(2.0));
        Forest::new(0.5, &[split(0, 1.0, inner, Tree::Leaf(0.125)), Tree::Leaf(1.0)])
    }

    #[test]
    fn smaller_goes_left_and_the_unknown_goes_where_it_learned_to() {
        let forest = forest();
        let answers = [[0.0, 4.0], [0.0, 5.0], [1.0, 4.0], [f32::NAN, 9.0], [0.0, f32::NAN]];
        let found = answers.map(|seen| forest.predict(&seen).to_bits());
        assert_eq!(found, [0.5_f64, 3.5, 1.625, 3.5, 3.5].map(f64::to_bits));
    }

    #[test]
    fn an_explanation_adds_up_to_the_prediction() {
        let forest = forest();
        for seen in [[0.0, 4.0], [3.0, 4.0], [f32::NAN, 6.0]] {
            let (moved, start) = forest.explain(&seen);
            assert!((start + moved.iter().sum::<f64>() - forest.predict(&seen)).abs() < 1e-9);
        }
        assert_eq!(forest.explain(&[0.0, 4.0]), (vec![0.0, -1.25], 1.75));
    }

    #[test]
    fn a_file_is_read_again_and_a_damaged_one_is_refused() {
        let bytes = forest().to_bytes();
        assert_eq!(Forest::from_bytes(&bytes, 2).unwrap(), forest());
        assert!(Forest::from_bytes(&bytes, 1).is_err(), "a feature that is not there");
        for length in 0..bytes.len() {
            assert!(Forest::from_bytes(&bytes[..length], 2).is_err());
        }
        let mut circle = bytes;
        // The left child of the first split becomes the split itself.
        circle[20 + 8 + 6..20 + 8 + 10].copy_from_slice(&0_u32.to_le_bytes());
        assert!(Forest::from_bytes(&circle, 2).is_err());
    }
}
