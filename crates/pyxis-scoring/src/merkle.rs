//! Merkle tree of addresses in the format of `@openzeppelin/merkle-tree` (`StandardMerkleTree`, `standard-v1`), whose
//! proofs `MerkleProof` of the same authors verifies in contracts.
//!
//! A leaf is an address alone, `["address"]`: the list says who passes, and the contract what that is worth.

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_signing::eip712::{AbiWord, abi_words};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use serde::Deserialize;

/// Nodes or values in one chunk of the dump: about 70 kB.
const CHUNK: usize = 1000;

/// Reason that a dump cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidDump {
    #[error("not the JSON of a Merkle list: {0}")]
    Json(#[from] serde_json::Error),
    #[error("format {0:?} is not \"standard-v1\" with leaves of one address")]
    Format(String),
    #[error("the tree does not belong to the list's addresses; make the list again")]
    Tree,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dump {
    format: String,
    leaf_encoding: Vec<String>,
    tree: Vec<String>,
    values: Vec<DumpedValue>,
}

#[derive(Deserialize)]
struct DumpedValue {
    value: [EvmAddress; 1],
}

/// A Merkle tree over distinct addresses.
pub struct AddressTree {
    /// In ascending order.
    addresses: Vec<EvmAddress>,
    /// The root first; the children of node `n` are `2n + 1` and `2n + 2`.
    nodes: Vec<AbiWord>,
    /// Node of each address.
    places: Vec<usize>,
}

impl AddressTree {
    /// Builds the tree. `None` if there is no address.
    pub fn build(mut addresses: Vec<EvmAddress>) -> Option<Self> {
        addresses.par_sort_unstable();
        addresses.dedup();
        let count = addresses.len();
        let last = (2 * count).checked_sub(2)?;
        let mut leaves: Vec<(AbiWord, usize)> =
            (0..count).into_par_iter().map(|index| (leaf(addresses[index]), index)).collect();
        leaves.par_sort_unstable();
        let mut nodes = vec![[0; 32]; last + 1];
        let mut places = vec![0; count];
        for (order, (hash, index)) in leaves.into_iter().enumerate() {
            nodes[last - order] = hash;
            places[index] = last - order;
        }
        // Half of the rest at once: all children of these nodes are done.
        let mut end = count - 1;
        while end > 0 {
            let start = end / 2;
            let level: Vec<AbiWord> = (start..end)
                .into_par_iter()
                .map(|node| pair(nodes[2 * node + 1], nodes[2 * node + 2]))
                .collect();
            nodes[start..end].copy_from_slice(&level);
            end = start;
        }
        Some(Self { addresses, nodes, places })
    }

    /// Reads a dump and builds its tree again, which must be the one in it.
    pub fn read(dump: &[u8]) -> Result<Self, InvalidDump> {
        let dump: Dump = serde_json::from_slice(dump)?;
        if dump.format != "standard-v1" || dump.leaf_encoding != ["address"] {
            return Err(InvalidDump::Format(format!("{} {:?}", dump.format, dump.leaf_encoding)));
        }
        let addresses = dump.values.iter().map(|value| value.value[0]).collect();
        let tree = Self::build(addresses).ok_or(InvalidDump::Tree)?;
        let same = dump.tree.len() == tree.nodes.len()
            && dump.tree.iter().zip(&tree.nodes).all(|(dumped, node)| *dumped == text(node));
        if same { Ok(tree) } else { Err(InvalidDump::Tree) }
    }

    /// Number of addresses.
    pub fn count(&self) -> usize {
        self.addresses.len()
    }

    /// The root, hex with `0x`.
    pub fn root(&self) -> String {
        text(&self.nodes[0])
    }

    /// The hashes that lead from an address to the root, hex with `0x`. `None` if it is not on the list.
    pub fn proof(&self, address: EvmAddress) -> Option<Vec<String>> {
        let mut place = self.places[self.addresses.binary_search(&address).ok()?];
        let mut proof = Vec::new();
        while place > 0 {
            let sibling = if place % 2 == 1 { place + 1 } else { place - 1 };
            proof.push(text(&self.nodes[sibling]));
            place = (place - 1) / 2;
        }
        Some(proof)
    }

    /// Part `number` of the dump that `StandardMerkleTree.load` reads; `None` after the last.
    pub fn chunk(&self, number: usize) -> Option<String> {
        let nodes = self.nodes.len().div_ceil(CHUNK);
        let values = self.addresses.len().div_ceil(CHUNK);
        let mut json = String::with_capacity(CHUNK * 90);
        if number < nodes {
            if number == 0 {
                json.push_str(r#"{"format":"standard-v1","leafEncoding":["address"],"tree":["#);
            }
            for (index, node) in self.nodes.iter().enumerate().skip(number * CHUNK).take(CHUNK) {
                json.push_str(if index > 0 { ",\"0x" } else { "\"0x" });
                hex::push(&mut json, node);
                json.push('"');
            }
            return Some(json);
        }
        let number = number - nodes;
        if number == 0 {
            json.push_str(r#"],"values":["#);
        }
        if number < values {
            let entries = self.addresses.iter().zip(&self.places).enumerate();
            for (index, (address, place)) in entries.skip(number * CHUNK).take(CHUNK) {
                json.push_str(if index > 0 { ",{\"value\":[\"0x" } else { "{\"value\":[\"0x" });
                hex::push(&mut json, &address.0);
                json.push_str("\"],\"treeIndex\":");
                json.push_str(&place.to_string());
                json.push('}');
            }
        }
        if number + 1 == values {
            json.push_str("]}");
        }
        (number < values).then_some(json)
    }
}

/// Hash of a leaf. It is hashed twice, so that no inner node passes for a leaf.
fn leaf(address: EvmAddress) -> AbiWord {
    abi_words::keccak(&abi_words::keccak(&abi_words::address(address)))
}

/// Hash of two nodes, the lower one first, so that a proof needs no directions.
fn pair(a: AbiWord, b: AbiWord) -> AbiWord {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    abi_words::keccak(&[low, high].concat())
}

fn text(node: &AbiWord) -> String {
    format!("0x{}", hex::encode(node))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbered(number: u64) -> EvmAddress {
        let mut bytes = [0; 20];
        bytes[12..].copy_from_slice(&number.to_be_bytes());
        EvmAddress(bytes)
    }

    fn dump(tree: &AddressTree) -> String {
        (0..).map_while(|number| tree.chunk(number)).collect()
    }

    fn leads_to_root(tree: &AddressTree, address: EvmAddress) -> bool {
        let proof = tree.proof(address).unwrap();
        let word = |text: &String| AbiWord::try_from(hex::decode_prefixed(text).unwrap()).unwrap();
        text(&proof.iter().map(word).fold(leaf(address), pair)) == tree.root()
    }

    /// Made with `@openzeppelin/merkle-tree` 1.0.8: `StandardMerkleTree.of([…], ["address"])`.
    #[test]
    fn the_dump_is_that_of_the_library() {
        let addresses = [0x11, 0x22, 0x33].map(|byte| EvmAddress([byte; 20]));
        let tree = AddressTree::build(addresses.to_vec()).unwrap();
        assert_eq!(dump(&tree), include_str!("../data/merkle.json").trim_end());
        let one = AddressTree::build(vec![addresses[0]]).unwrap();
        assert_eq!((one.count(), one.proof(addresses[0]).unwrap()), (1, Vec::new()));
        assert_eq!(one.root(), text(&leaf(addresses[0])));
    }

    #[test]
    fn no_address_is_no_tree_and_another_dump_is_refused() {
        assert!(AddressTree::build(Vec::new()).is_none());
        let tree = AddressTree::build((0..5).map(numbered).collect()).unwrap();
        let json = dump(&tree);
        assert_eq!(AddressTree::read(json.as_bytes()).unwrap().root(), tree.root());
        for (from, to) in [
            ("standard-v1", "simple-v1"),
            ("[\"address\"]", "[\"uint256\"]"),
            (&*tree.root(), &*text(&[7; 32])),
            ("0000000000000003", "0000000000000009"),
        ] {
            assert!(AddressTree::read(json.replace(from, to).as_bytes()).is_err(), "{from}");
        }
        for bad in [
            "",
            "{}",
            "[]",
            "{\"format\":\"standard-v1\",\"leafEncoding\":[\"address\"],\"tree\":[],\"values\":[]}",
        ] {
            assert!(AddressTree::read(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn every_address_has_a_proof_that_leads_to_the_root(count in 1_u64..1100, other in 3000_u64..4000) {
            let tree = AddressTree::build((0..count).chain(0..count).map(numbered).collect()).unwrap();
            prop_assert_eq!(tree.count() as u64, count);
            for number in [0, count / 2, count - 1] {
                prop_assert!(leads_to_root(&tree, numbered(number)));
            }
            prop_assert!(tree.proof(numbered(other)).is_none());
            prop_assert_eq!(AddressTree::read(dump(&tree).as_bytes()).unwrap().root(), tree.root());
        }
    }
}
