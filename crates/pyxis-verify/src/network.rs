//! Networks: their checks and their sources of proofs (`docs/reference/behavior/verification.md#sources`).

mod network_config;

use pyxis_core::proof::{Kind, NetworkName, Subject};
use pyxis_evm::Settings;
use pyxis_store::block_clocks::ClockKind;

use crate::contracts::Contracts;

pub use network_config::InvalidNetworks;

/// Name under which proofs of Sui addresses are registered.
pub(crate) const SUI: &str = "sui";
/// Confirmations after which an answer counts as final.
const CONFIRMATIONS: u64 = 64;

/// A network that checks refer to.
#[derive(Clone, Debug)]
pub struct Network {
    /// Name, as used in paths.
    pub name: NetworkName,
    /// Chain id; Sui has none.
    pub chain_id: Option<u64>,
    /// True if it has sybil-resistance checks.
    pub sybil: bool,
    /// True if it has residence checks.
    pub residence: bool,
    /// True if proofs in the registry count.
    pub registry: bool,
    /// Milliseconds per block, if they are counted locally.
    pub block_ms: i64,
    /// RPC nodes, which count the network's blocks.
    pub rpc: Option<Settings>,
    /// Contracts whose proofs count.
    pub contracts: Option<Contracts>,
    /// Confirmations after which an answer counts as final.
    pub confirmations: u64,
}

impl Network {
    fn new(name: NetworkName, chain_id: Option<u64>, sybil: bool, residence: bool) -> Self {
        Self {
            name,
            chain_id,
            sybil,
            residence,
            registry: true,
            block_ms: 1000,
            rpc: None,
            contracts: None,
            confirmations: CONFIRMATIONS,
        }
    }

    /// Source of the block count.
    pub const fn clock(&self) -> ClockKind {
        if self.rpc.is_some() { ClockKind::Rpc } else { ClockKind::Local }
    }

    /// Sources of its answers.
    pub fn sources(&self) -> Vec<&'static str> {
        let all = [("registry", self.registry), ("evm", self.contracts.is_some())];
        all.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
    }

    /// True if this network has checks of a kind, and a source for them.
    pub fn checks(&self, kind: Kind) -> bool {
        let offered = match kind {
            Kind::ResidenceUs => self.residence,
            Kind::CleanHands => true,
            Kind::GovId | Kind::Epassport | Kind::Phone | Kind::Biometrics => self.sybil,
        };
        offered && (self.registry || self.contracts_for(kind).is_some())
    }

    /// Contracts that have proofs of a kind.
    pub fn contracts_for(&self, kind: Kind) -> Option<&Contracts> {
        self.contracts.as_ref().filter(|contracts| contracts.know(kind))
    }

    /// True if a proof of this kind about this address can be registered here.
    pub fn takes(&self, kind: Kind, subject: Subject) -> bool {
        let fits = match subject {
            Subject::Evm(_) => self.chain_id.is_some(),
            Subject::Sui(_) => self.chain_id.is_none(),
        };
        fits && self.registry && self.checks(kind)
    }
}

/// The networks of an installation.
#[derive(Clone, Debug)]
pub struct Networks(Vec<Network>);

impl Default for Networks {
    /// Networks of a new installation (`docs/reference/behavior/verification.md#networks`), with Sui.
    fn default() -> Self {
        let evm = |name: &str, chain_id, sybil, residence| {
            name.parse().ok().map(|name| Network::new(name, Some(chain_id), sybil, residence))
        };
        let sui = SUI.parse().ok().map(|name| Network::new(name, None, false, false));
        let all = [
            evm("optimism", 10, true, true),
            evm("base-sepolia", 84532, true, false),
            evm("optimism-goerli", 420, false, true),
            evm("ethereum", 1, true, false),
            evm("base", 8453, true, false),
            sui,
        ];
        Self(all.into_iter().flatten().collect())
    }
}

impl Networks {
    /// The networks of a new installation, modified and extended by a JSON object from name to settings.
    pub fn from_json(text: &str) -> Result<Self, InvalidNetworks> {
        network_config::read(text)
    }

    /// Every network.
    pub fn iter(&self) -> impl Iterator<Item = &Network> {
        self.0.iter()
    }

    pub fn find_by_name(&self, name: &str) -> Option<&Network> {
        self.0.iter().find(|network| network.name.as_str() == name)
    }

    pub fn of_chain(&self, chain_id: u64) -> Option<&Network> {
        self.0.iter().find(|network| network.chain_id == Some(chain_id))
    }

    /// Message about a name that no network has.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self.iter().map(|network| network.name.as_str()).collect();
        format!("unknown network {name}; known: {}", known.join(", "))
    }

    /// The network of Sui addresses.
    pub fn sui(&self) -> Option<&Network> {
        self.find_by_name(SUI)
    }
}
