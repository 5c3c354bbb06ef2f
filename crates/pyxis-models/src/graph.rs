//! A compact graph of transfers between many addresses.

use std::collections::HashMap;

use pyxis_core::address::EvmAddress;

use crate::scope::{Chain, Kind};

/// The number of an address within one [`Graph`].
pub type Node = u32;

/// One transfer. 20 bytes, because there are millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub from: Node,
    pub to: Node,
    /// Unix seconds; `None` if the source does not say.
    pub time: Option<std::num::NonZeroU32>,
    pub chain: Chain,
    pub kind: Kind,
    /// True for a round amount; `None` if the source does not say.
    pub round: Option<bool>,
}

/// Known facts about an address apart from its transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AddressProfile {
    /// Time of its first bridging, Unix seconds.
    pub first_bridge: u32,
    /// Bridged volume in US dollars.
    pub volume_usd: f32,
}

/// Transfers in input order, before they are sorted by address.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    addresses: Vec<EvmAddress>,
    nodes: HashMap<EvmAddress, Node>,
    transfers: Vec<Transfer>,
    facts: HashMap<Node, AddressProfile>,
}

impl Builder {
    /// The number of an address.
    ///
    /// # Panics
    /// With more than four billion addresses.
    pub fn node(&mut self, address: EvmAddress) -> Node {
        *self.nodes.entry(address).or_insert_with(|| {
            self.addresses.push(address);
            Node::try_from(self.addresses.len() - 1).expect("fewer than four billion addresses")
        })
    }

    /// Adds a transfer between numbers that this builder assigned.
    pub fn add(&mut self, transfer: Transfer) {
        self.transfers.push(transfer);
    }

    /// Adds known facts about an address; later facts replace earlier ones.
    pub fn add_facts(&mut self, address: EvmAddress, facts: AddressProfile) {
        let node = self.node(address);
        self.facts.insert(node, facts);
    }

    /// Number of transfers and facts so far.
    pub fn len(&self) -> usize {
        self.transfers.len() + self.facts.len()
    }

    /// True if nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn addresses(&self) -> &[EvmAddress] {
        &self.addresses
    }

    pub(crate) fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    pub(crate) fn facts(&self) -> &HashMap<Node, AddressProfile> {
        &self.facts
    }

    /// Sorts the transfers by address.
    pub fn build(self) -> Graph {
        let Self { addresses, nodes, transfers, facts } = self;
        let mut starts = vec![0_u32; addresses.len() + 1];
        for transfer in &transfers {
            for node in ends(transfer) {
                starts[node as usize + 1] += 1;
            }
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut incident = vec![0_u32; starts.last().copied().unwrap_or(0) as usize];
        for (index, transfer) in (0_u32..).zip(&transfers) {
            for node in ends(transfer) {
                incident[next[node as usize] as usize] = index;
                next[node as usize] += 1;
            }
        }
        let seen = transfers.iter().filter_map(|transfer| transfer.time).map(std::num::NonZeroU32::get);
        let latest = seen.chain(facts.values().map(|facts| facts.first_bridge)).max();
        let mut graph =
            Graph { addresses, nodes, transfers, facts, starts, incident, popularity: Vec::new(), latest };
        graph.popularity = graph.count_parties();
        graph
    }
}

/// Both ends, once if they are the same.
fn ends(transfer: &Transfer) -> impl Iterator<Item = Node> + use<> {
    let other = (transfer.from != transfer.to).then_some(transfer.to);
    std::iter::once(transfer.from).chain(other)
}

/// Transfers by address.
#[derive(Clone, Debug)]
pub struct Graph {
    addresses: Vec<EvmAddress>,
    nodes: HashMap<EvmAddress, Node>,
    transfers: Vec<Transfer>,
    facts: HashMap<Node, AddressProfile>,
    /// Start of each node's transfers in `incident`.
    starts: Vec<u32>,
    incident: Vec<u32>,
    /// Distinct counterparties of each node.
    popularity: Vec<u32>,
    latest: Option<u32>,
}

impl Graph {
    /// Number of addresses; their numbers are below it.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    pub fn transfer_count(&self) -> usize {
        self.transfers.len()
    }

    /// The number of an address that occurs in the graph.
    pub fn find(&self, address: EvmAddress) -> Option<Node> {
        self.nodes.get(&address).copied()
    }

    /// The address of a number.
    pub fn address(&self, node: Node) -> EvmAddress {
        self.addresses[node as usize]
    }

    /// Every number.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        0..Node::try_from(self.addresses.len()).unwrap_or(Node::MAX)
    }

    /// The transfers that an address sent or received, in input order.
    pub fn transfers_of(&self, node: Node) -> impl Iterator<Item = &Transfer> {
        let range = self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize;
        self.incident[range].iter().map(|index| &self.transfers[*index as usize])
    }

    /// Number of distinct counterparties of an address, over all chains.
    pub fn popularity(&self, node: Node) -> u32 {
        self.popularity[node as usize]
    }

    /// Known facts apart from transfers.
    pub fn facts(&self, node: Node) -> Option<&AddressProfile> {
        self.facts.get(&node)
    }

    /// True if facts are known about any address.
    pub fn has_facts(&self) -> bool {
        !self.facts.is_empty()
    }

    /// The newest time in the data, Unix seconds: ages are counted from it.
    pub fn latest(&self) -> Option<u32> {
        self.latest
    }

    /// The distinct counterparties of an address, in order.
    pub fn parties(&self, node: Node) -> Vec<Node> {
        let other = |transfer: &Transfer| if transfer.from == node { transfer.to } else { transfer.from };
        let mut parties: Vec<Node> =
            self.transfers_of(node).map(other).filter(|party| *party != node).collect();
        parties.sort_unstable();
        parties.dedup();
        parties
    }

    fn count_parties(&self) -> Vec<u32> {
        self.nodes().map(|node| u32::try_from(self.parties(node).len()).unwrap_or(u32::MAX)).collect()
    }
}
