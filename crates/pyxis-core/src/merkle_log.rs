//! Merkle tree over a log (RFC 9162, section 2.1): SHA-256 with one prefix for leaves and another for nodes.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// Hash of a leaf or a node.
pub type LogHash = [u8; 32];

/// Hash of a leaf's content.
#[must_use]
pub fn leaf_hash(content: &[u8]) -> LogHash {
    Sha256::new().chain_update([0]).chain_update(content).finalize().into()
}

/// Hash of a node with two children.
#[must_use]
pub fn node_hash(left: &LogHash, right: &LogHash) -> LogHash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// Bytes that a signature of a tree's head covers: number of leaves, root, `mac`, and milliseconds since 1970.
///
/// `mac` is that of the audit chain's record with that number.
#[must_use]
pub fn head_message(size: u64, root: &LogHash, mac: &LogHash, signed_at_ms: i64) -> Vec<u8> {
    let mut message = b"pyxis audit tree 1\0".to_vec();
    message.extend_from_slice(&size.to_be_bytes());
    message.extend_from_slice(root);
    message.extend_from_slice(mac);
    message.extend_from_slice(&signed_at_ms.to_be_bytes());
    message
}

/// The root to which a leaf's path leads (RFC 9162, section 2.1.3.2). `None` if the path does not fit index and size.
#[must_use]
pub fn root_from_path(leaf: LogHash, index: u64, size: u64, path: &[LogHash]) -> Option<LogHash> {
    let mut last = size.checked_sub(1).filter(|last| index <= *last)?;
    let (mut at, mut root) = (index, leaf);
    for sibling in path {
        if last == 0 {
            return None;
        }
        if at % 2 == 1 || at == last {
            root = node_hash(sibling, &root);
            while at % 2 == 0 && at != 0 {
                at /= 2;
                last /= 2;
            }
        } else {
            root = node_hash(&root, sibling);
        }
        at /= 2;
        last /= 2;
    }
    (last == 0).then_some(root)
}

/// The part of a tree that is needed for its root and the paths of some leaves.
#[derive(Clone, Debug, Default)]
pub struct PartialTree {
    size: u64,
    /// Roots of complete subtrees, by height and position at that height. Leaves have height 0.
    known: BTreeMap<(u32, u64), LogHash>,
}

impl PartialTree {
    /// A tree with this number of leaves, none of them known.
    #[must_use]
    pub const fn new(size: u64) -> Self {
        Self { size, known: BTreeMap::new() }
    }

    /// Adds the root of a complete subtree with `1 << height` leaves.
    pub fn insert(&mut self, height: u32, position: u64, hash: LogHash) {
        self.known.insert((height, position), hash);
    }

    /// Root of the tree. `None` if too little of it is known, or it is empty.
    #[must_use]
    pub fn root(&self) -> Option<LogHash> {
        self.subtree(0, self.size)
    }

    /// Siblings on the way from a leaf to the root. `None` if too little of the tree is known.
    #[must_use]
    pub fn path(&self, index: u64) -> Option<Vec<LogHash>> {
        let (mut from, mut to) = (0, self.size);
        if index >= to {
            return None;
        }
        let mut path = Vec::new();
        while to - from > 1 {
            let middle = from + split(to - from);
            if index < middle {
                path.push(self.subtree(middle, to)?);
                to = middle;
            } else {
                path.push(self.subtree(from, middle)?);
                from = middle;
            }
        }
        path.reverse();
        Some(path)
    }

    /// Root of the leaves `from..to`, which are a subtree.
    fn subtree(&self, from: u64, to: u64) -> Option<LogHash> {
        let count = to.checked_sub(from).filter(|count| *count > 0)?;
        if count.is_power_of_two() && from.is_multiple_of(count) {
            let known = self.known.get(&(count.trailing_zeros(), from / count));
            if known.is_some() || count == 1 {
                return known.copied();
            }
        }
        let middle = from + split(count);
        Some(node_hash(&self.subtree(from, middle)?, &self.subtree(middle, to)?))
    }
}

/// The greatest power of two below `count`, which is at least 2.
const fn split(count: u64) -> u64 {
    1 << (u64::BITS - 1 - (count - 1).leading_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(count: u64) -> Vec<LogHash> {
        (0..count).map(|number| leaf_hash(&number.to_be_bytes())).collect()
    }

    fn tree(leaves: &[LogHash]) -> PartialTree {
        let mut tree = PartialTree::new(leaves.len() as u64);
        for (position, leaf) in leaves.iter().enumerate() {
            tree.insert(0, position as u64, *leaf);
        }
        tree
    }

    /// The definition of RFC 9162, section 2.1.1.
    fn defined_root(leaves: &[LogHash]) -> LogHash {
        if let [leaf] = leaves {
            return *leaf;
        }
        let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
        node_hash(&defined_root(left), &defined_root(right))
    }

    #[test]
    fn a_leaf_and_a_tree_of_two_hash_as_the_standard_says() {
        let empty = crate::hex::encode(&leaf_hash(b""));
        assert_eq!(empty, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
        let two = leaves(2);
        assert_eq!(tree(&two).root(), Some(node_hash(&two[0], &two[1])));
    }

    #[test]
    fn every_path_of_every_small_tree_leads_to_its_root() {
        for size in 1..70 {
            let leaves = leaves(size);
            let tree = tree(&leaves);
            let root = defined_root(&leaves);
            assert_eq!(tree.root(), Some(root), "{size}");
            for index in 0..size {
                let leaf = leaves[usize::try_from(index).unwrap()];
                let path = tree.path(index).unwrap();
                assert_eq!(root_from_path(leaf, index, size, &path), Some(root), "{index} of {size}");
                assert_ne!(root_from_path(leaf_hash(b"another"), index, size, &path), Some(root));
                if size > 1 {
                    assert_ne!(root_from_path(leaf, (index + 1) % size, size, &path), Some(root));
                    assert_eq!(root_from_path(leaf, index, size, &path[1..]), None);
                }
            }
        }
    }

    #[test]
    fn complete_subtrees_replace_their_leaves() {
        let all = leaves(27);
        let mut partial = PartialTree::new(27);
        partial.insert(3, 0, defined_root(&all[..8]));
        partial.insert(3, 2, defined_root(&all[16..24]));
        for index in (8..16).chain(24..27) {
            partial.insert(0, index, all[usize::try_from(index).unwrap()]);
        }
        assert_eq!(partial.root(), tree(&all).root());
        assert_eq!(partial.path(9), tree(&all).path(9));
        assert_eq!(partial.path(3), None);
        assert_eq!(PartialTree::new(0).root(), None);
    }
}
