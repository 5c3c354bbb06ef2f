//! Features: numbers that describe a wallet, computed by the same code for training and serving.
//!
//! A *scope* (one chain, or NFTs on every chain) has [`scope::NAMES`]. The wallet as a whole has the same over all
//! chains, [`wallet::NAMES`] and [`co_arrival::NAMES`]. A model of a scope reads both. Unknown values (ages if the
//! source has no times) are NaN, which differs from zero.

pub mod co_arrival;
mod imported_context;
mod neighbors;
pub mod scope;
pub mod wallet;

use pyxis_core::hex;
use sha2::{Digest, Sha256};

use crate::cast::{count, to_float};
use crate::graph::{Graph, Node};
use crate::peers::PeerIndex;
use crate::scope::{ChainScope, Kind, Model};
use neighbors::Neighbors;
use scope::ScopedTransfer;

/// Number of features of a scope.
pub const SCOPE: usize = scope::NAMES.len();
/// Number of features of a wallet.
pub const WALLET: usize = SCOPE + COMPANY + co_arrival::NAMES.len();
const COMPANY: usize = wallet::NAMES.len();
/// Number of features that a model reads.
pub const ALL: usize = WALLET + SCOPE;

/// Fewest transfers in a scope that a model needs; with fewer, the score is -1.
pub const LEAST_TRANSFERS: usize = 2;

/// The name of a model's feature, by index.
pub fn feature_name(place: usize) -> String {
    match place {
        _ if place < SCOPE => format!("wallet_{}", scope::NAMES[place].0),
        _ if place < SCOPE + COMPANY => wallet::NAMES[place - SCOPE].0.to_owned(),
        _ if place < WALLET => co_arrival::NAMES[place - SCOPE - COMPANY].0.to_owned(),
        _ => scope::NAMES[place - WALLET].0.to_owned(),
    }
}

/// The feature's description in plain words.
pub fn feature_label(place: usize) -> String {
    match place {
        _ if place < SCOPE => format!("{}, on all chains", scope::NAMES[place].1),
        _ if place < SCOPE + COMPANY => wallet::NAMES[place - SCOPE].1.to_owned(),
        _ if place < WALLET => co_arrival::NAMES[place - SCOPE - COMPANY].1.to_owned(),
        _ => format!("{}, in the model's scope", scope::NAMES[place - WALLET].1),
    }
}

/// Number of features given to a custom model: those of [`feature_name`], from the first on.
pub const fn feature_count(model: Model) -> usize {
    match model {
        Model::Aggregate => WALLET,
        _ => ALL,
    }
}

/// Fingerprint of a model's features: the SHA-256 of their names, one per line, hex.
pub fn digest(model: Model) -> String {
    let names: Vec<String> = (0..feature_count(model)).map(feature_name).collect();
    hex::encode(&Sha256::digest(names.join("\n")))
}

/// The index of a name, evaluated at compile time: an unknown name does not compile.
pub(crate) const fn index_of(names: &[(&str, &str)], wanted: &str) -> usize {
    let mut place = 0;
    while !is_same(names[place].0.as_bytes(), wanted.as_bytes()) {
        place += 1;
    }
    place
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Bump when a feature's definition changes; stored features are then recomputed.
pub const COMPUTED: u32 = 2;

/// Fingerprint of all features, whatever the model.
pub fn names_digest() -> String {
    digest(Model::EthereumActivity)
}

/// All features of one wallet.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// The wallet as a whole, [`WALLET`] numbers.
    pub wallet: Vec<f32>,
    /// Scopes with enough activity, [`SCOPE`] numbers each, in scope order.
    pub scopes: Vec<(ChainScope, [f32; SCOPE])>,
}

impl Features {
    /// The features of an address in a graph; `None` if every scope has too little activity.
    pub fn compute(graph: &Graph, peers: &PeerIndex, node: Node) -> Option<Self> {
        let events: Vec<ScopedTransfer> = events(graph, node).collect();
        let popularity = |party: Node| to_float(graph.popularity(party));
        let mut found = Self::of_events(&events, &popularity, graph.latest(), graph.facts(node).is_some())?;
        let neighbors = Neighbors::compute(graph, peers, node);
        found.wallet.extend(wallet::measure(graph, peers, node, &neighbors));
        found.wallet.extend(co_arrival::measure(graph, peers, node, &neighbors));
        Some(found)
    }

    /// The features of a wallet of which only its own transfers are known; features of its neighbors are missing.
    /// `None` for an address that never sent anything: it may be anything.
    pub fn of_alone(
        events: &[ScopedTransfer],
        popularity: &impl Fn(Node) -> f32,
        latest: Option<u32>,
    ) -> Option<Self> {
        if !events.iter().any(|event| event.outgoing) {
            return None;
        }
        let mut found = Self::of_events(events, popularity, latest, false)?;
        found.wallet.extend([f32::NAN; WALLET - SCOPE]);
        found.wallet[SCOPE] = to_float(chains(events));
        Some(found)
    }

    /// The features of an address in a graph as if only an indexer knew it. `imported`: true if everyone else's
    /// activity was imported, so that the popularity of its counterparties is known.
    pub fn alone_in(graph: &Graph, node: Node, imported: bool) -> Option<Self> {
        let events: Vec<ScopedTransfer> = events(graph, node).collect();
        let others = |party: Node| graph.popularity(party).saturating_sub(1);
        let popularity = |party: Node| match others(party) {
            known if imported && known > 0 => to_float(known),
            _ => f32::NAN,
        };
        Self::of_alone(&events, &popularity, graph.latest())
    }

    fn of_events(
        events: &[ScopedTransfer],
        popularity: &impl Fn(Node) -> f32,
        latest: Option<u32>,
        bridged: bool,
    ) -> Option<Self> {
        let mut scopes = Vec::new();
        for wanted in ChainScope::all() {
            let within: Vec<ScopedTransfer> =
                events.iter().filter(|event| event.is_in(wanted)).copied().collect();
            // The first bridging is activity on Ethereum, with a time and a volume.
            let known = bridged && wanted == ChainScope::Chain(crate::scope::Chain::Ethereum);
            if within.len() >= LEAST_TRANSFERS || known {
                scopes.push((wanted, scope::measure(&within, popularity, latest)));
            }
        }
        if scopes.is_empty() {
            return None;
        }
        let mut wallet = Vec::with_capacity(WALLET);
        wallet.extend(scope::measure(events, popularity, latest));
        Some(Self { wallet, scopes })
    }

    /// Input of a scope's model, or `None` with too little activity.
    pub fn scope_input(&self, scope: ChainScope) -> Option<[f32; ALL]> {
        let (_, numbers) = self.scopes.iter().find(|(found, _)| *found == scope)?;
        let mut seen = [f32::NAN; ALL];
        seen[..WALLET].copy_from_slice(&self.wallet);
        seen[WALLET..].copy_from_slice(numbers);
        Some(seen)
    }

    /// Storage format: the wallet's numbers, then each scope's number and features, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(WALLET * 4 + self.scopes.len() * (1 + SCOPE * 4));
        bytes.extend(self.wallet.iter().flat_map(|number| number.to_le_bytes()));
        for (scope, numbers) in &self.scopes {
            bytes.push(scope.number());
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        bytes
    }

    /// Decodes the output of [`Features::to_bytes`]; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (wallet, mut rest) = bytes.split_at_checked(WALLET * 4)?;
        let mut scopes = Vec::new();
        while let Some((number, after)) = rest.split_first() {
            let (numbers, after) = after.split_at_checked(SCOPE * 4)?;
            let mut read = [0.0; SCOPE];
            for (place, number) in read.iter_mut().zip(floats(numbers)) {
                *place = number;
            }
            scopes.push((ChainScope::from_number(*number)?, read));
            rest = after;
        }
        Some(Self { wallet: floats(wallet).collect(), scopes })
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk))
}

/// The transfers of an address from its own point of view.
fn events(graph: &Graph, node: Node) -> impl Iterator<Item = ScopedTransfer> {
    graph.transfers_of(node).map(move |transfer| {
        let outgoing = transfer.from == node;
        let party = if outgoing { transfer.to } else { transfer.from };
        ScopedTransfer {
            chain: transfer.chain,
            kind: transfer.kind,
            party: (party != node).then_some(party),
            outgoing,
            time: transfer.time,
            round: transfer.round,
        }
    })
}

/// Number of chains with at least one transfer.
fn chains(events: &[ScopedTransfer]) -> u32 {
    let mut seen: Vec<u8> = events.iter().map(|event| event.chain as u8).collect();
    seen.sort_unstable();
    seen.dedup();
    u32::try_from(seen.len()).unwrap_or(u32::MAX)
}

impl ScopedTransfer {
    fn is_in(&self, scope: ChainScope) -> bool {
        match scope {
            ChainScope::Chain(chain) => self.chain == chain,
            ChainScope::Nft => self.kind == Kind::Nft,
        }
    }
}

#[cfg(test)]
mod tests;
