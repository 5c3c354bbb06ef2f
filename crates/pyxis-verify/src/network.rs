//! Networks: which checks each has, and where its proofs are found (decisions, Where proofs come from).

use std::collections::BTreeMap;

use pyxis_core::proof::{Kind, NetworkName, Subject};
use serde::Deserialize;

/// Name under which proofs of Sui addresses are registered.
const SUI: &str = "sui";

/// A network.
#[derive(Clone, Debug)]
pub struct Network {
    /// Its name, as it stands in paths.
    pub name: NetworkName,
    /// Its chain id; Sui has none.
    pub chain_id: Option<u64>,
    /// Whether it has sybil-resistance checks.
    pub sybil: bool,
    /// Whether it has residence checks.
    pub residence: bool,
    /// Whether proofs of the registry count.
    pub registry: bool,
    /// Milliseconds from block to block, where they are counted here.
    pub block_ms: i64,
}

impl Network {
    fn new(name: NetworkName, chain_id: Option<u64>, sybil: bool, residence: bool) -> Self {
        Self { name, chain_id, sybil, residence, registry: true, block_ms: 1000 }
    }

    /// Where its answers come from.
    pub fn sources(&self) -> Vec<&'static str> {
        let all = [("registry", self.registry)];
        all.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
    }

    /// Whether this network has checks of a kind.
    pub fn checks(&self, kind: Kind) -> bool {
        match kind {
            Kind::ResidenceUs => self.residence,
            Kind::CleanHands => true,
            Kind::GovId | Kind::Epassport | Kind::Phone | Kind::Biometrics => self.sybil,
        }
    }

    /// Whether a proof of this kind about this address can be registered here.
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
    /// Those of the specification (Spec 2, rule 2), and Sui.
    fn default() -> Self {
        let evm = |name: &str, chain_id, sybil, residence| {
            name.parse().ok().map(|name| Network::new(name, Some(chain_id), sybil, residence))
        };
        let sui = SUI.parse().ok().map(|name| Network::new(name, None, false, false));
        let all = [
            evm("optimism", 10, true, true),
            evm("base-sepolia", 84532, true, false),
            evm("optimism-goerli", 420, false, true),
            sui,
        ];
        Self(all.into_iter().flatten().collect())
    }
}

/// What is written about networks cannot be.
#[derive(Debug, thiserror::Error)]
pub enum InvalidNetworks {
    /// Not the JSON of networks by name.
    #[error("networks: {0}")]
    Json(#[from] serde_json::Error),
    /// One of them cannot be.
    #[error("networks.{name}: {reason}")]
    Network {
        /// Its name.
        name: String,
        /// What is wrong and what to do.
        reason: String,
    },
}

/// A network as it is written in the configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    chain_id: Option<u64>,
    checks: Option<Vec<Check>>,
    sources: Option<Vec<Source>>,
    block_ms: Option<i64>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Check {
    Sybil,
    Residence,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Source {
    Registry,
}

impl Networks {
    /// The networks of the specification, changed and added to by a JSON object, name to settings.
    pub fn from_json(text: &str) -> Result<Self, InvalidNetworks> {
        let mut networks = Self::default();
        if text.trim().is_empty() {
            return Ok(networks);
        }
        let written: BTreeMap<String, Written> = serde_json::from_str(text)?;
        for (name, written) in written {
            let invalid = |reason: String| InvalidNetworks::Network { name: name.clone(), reason };
            let parsed: NetworkName = name.parse().map_err(|error| invalid(format!("{error}")))?;
            if parsed.as_str() == SUI {
                return Err(invalid("this name is Sui's own; leave it out".to_owned()));
            }
            networks.change(parsed, written).map_err(invalid)?;
        }
        networks.check_ids()?;
        Ok(networks)
    }

    fn change(&mut self, name: NetworkName, written: Written) -> Result<(), String> {
        let position = if let Some(position) = self.0.iter().position(|network| network.name == name) {
            position
        } else {
            let id = written.chain_id.ok_or("chain_id is missing")?;
            self.0.push(Network::new(name, Some(id), true, false));
            self.0.len() - 1
        };
        let network = &mut self.0[position];
        network.chain_id = written.chain_id.or(network.chain_id);
        if let Some(checks) = written.checks {
            network.sybil = checks.contains(&Check::Sybil);
            network.residence = checks.contains(&Check::Residence);
        }
        if let Some(sources) = written.sources {
            network.registry = sources.contains(&Source::Registry);
        }
        if let Some(block_ms) = written.block_ms {
            if block_ms < 1 {
                return Err("block_ms must be at least 1".to_owned());
            }
            network.block_ms = block_ms;
        }
        Ok(())
    }

    /// Two networks with one chain id could not be told apart by voting strategies.
    fn check_ids(&self) -> Result<(), InvalidNetworks> {
        for (position, network) in self.0.iter().enumerate() {
            let same = |other: &&Network| other.chain_id.is_some() && other.chain_id == network.chain_id;
            if let Some(other) = self.0[..position].iter().find(same) {
                let reason = format!("has the chain id of {}", other.name);
                return Err(InvalidNetworks::Network { name: network.name.to_string(), reason });
            }
        }
        Ok(())
    }

    /// Every network.
    pub fn iter(&self) -> impl Iterator<Item = &Network> {
        self.0.iter()
    }

    /// The network of a name.
    pub fn named(&self, name: &str) -> Option<&Network> {
        self.0.iter().find(|network| network.name.as_str() == name)
    }

    /// The network of a chain id.
    pub fn of_chain(&self, chain_id: u64) -> Option<&Network> {
        self.0.iter().find(|network| network.chain_id == Some(chain_id))
    }

    /// Where proofs of Sui addresses are.
    pub fn sui(&self) -> Option<&Network> {
        self.named(SUI)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(networks: &Networks, name: &str, kind: Kind) -> bool {
        networks.named(name).is_some_and(|network| network.checks(kind))
    }

    #[test]
    fn out_of_the_box_the_networks_are_those_of_the_specification() {
        let networks = Networks::from_json("").unwrap();
        for (name, sybil, residence) in
            [("optimism", true, true), ("base-sepolia", true, false), ("optimism-goerli", false, true)]
        {
            assert_eq!(has(&networks, name, Kind::GovId), sybil, "{name}");
            assert_eq!(has(&networks, name, Kind::ResidenceUs), residence, "{name}");
        }
        for (id, name) in [(10, "optimism"), (84532, "base-sepolia"), (420, "optimism-goerli")] {
            assert_eq!(networks.of_chain(id).unwrap().name.as_str(), name);
        }
        assert!(networks.named("ethereum").is_none());
    }

    #[test]
    fn networks_can_be_added_and_changed() {
        let text =
            r#"{"gnosis": {"chain_id": 100}, "optimism": {"checks": ["residence"], "block_ms": 2000}}"#;
        let networks = Networks::from_json(text).unwrap();
        assert!(has(&networks, "gnosis", Kind::Phone) && !has(&networks, "gnosis", Kind::ResidenceUs));
        assert!(!has(&networks, "optimism", Kind::Phone));
        assert_eq!(networks.named("optimism").unwrap().block_ms, 2000);
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        for (text, said) in [
            ("[]", "networks: "),
            (r#"{"gnosis": {}}"#, "networks.gnosis: chain_id"),
            (r#"{"gnosis": {"chain_id": 10}}"#, "networks.gnosis: has the chain id of optimism"),
            (r#"{"Gnosis": {"chain_id": 100}}"#, "networks.Gnosis: not a network's name"),
            (r#"{"optimism": {"rcp": []}}"#, "unknown field"),
            (r#"{"optimism": {"block_ms": 0}}"#, "block_ms"),
        ] {
            let error = Networks::from_json(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
