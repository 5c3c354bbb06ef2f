//! Networks as written in the configuration.

use std::collections::BTreeMap;
use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::field::FieldElement;
use pyxis_core::proof::{Kind, NetworkName};
use pyxis_evm::{AbiWord, Settings};
use serde::Deserialize;

use super::{Network, Networks, SUI};
use crate::contracts::{Circuit, Contracts, Hub};

/// Longest pause before a node that is behind is asked again.
const LONGEST_PAUSE_MS: u64 = 10_000;

/// Invalid settings of networks.
#[derive(Debug, thiserror::Error)]
pub enum InvalidNetworks {
    /// Not a JSON object of networks by name.
    #[error("these are not networks by name")]
    Json(#[from] serde_json::Error),
    /// One network has invalid settings.
    #[error("networks.{name}: {reason}")]
    Network {
        /// Name of the network.
        name: String,
        /// The fault and its remedy.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNetwork {
    chain_id: Option<u64>,
    checks: Option<Vec<Check>>,
    sources: Option<Vec<ClockSource>>,
    block_ms: Option<i64>,
    #[serde(default)]
    rpc: Vec<String>,
    rpc_timeout_ms: Option<u64>,
    rpc_retry_ms: Option<u64>,
    multicall: Option<EvmAddress>,
    confirmations: Option<u64>,
    contracts: Option<WrittenContracts>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Check {
    Sybil,
    Residence,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum ClockSource {
    Registry,
    Evm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenContracts {
    #[serde(default)]
    unique: BTreeMap<String, EvmAddress>,
    residence: Option<EvmAddress>,
    hub: Option<WrittenHub>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHub {
    address: EvmAddress,
    circuits: BTreeMap<String, WrittenCircuit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCircuit {
    id: String,
    issuer: String,
}

/// The networks of a new installation, modified and extended.
pub(super) fn read(text: &str) -> Result<Networks, InvalidNetworks> {
    let mut networks = Networks::default();
    if text.trim().is_empty() {
        return Ok(networks);
    }
    let written: BTreeMap<String, RawNetwork> = serde_json::from_str(text)?;
    let names: Vec<String> = written.keys().cloned().collect();
    let ids: Vec<u64> = written.values().filter_map(|network| network.chain_id).collect();
    for (name, written) in written {
        let invalid = |reason: String| InvalidNetworks::Network { name: name.clone(), reason };
        let parsed: NetworkName = name.parse().map_err(|error| invalid(format!("{error}")))?;
        if parsed.as_str() == SUI {
            return Err(invalid("this name is reserved for Sui; use another one".to_owned()));
        }
        change(&mut networks, parsed, written).map_err(invalid)?;
    }
    networks.0.retain(|network| !is_renamed(network, &names, &ids));
    check_ids(&networks)?;
    Ok(networks)
}

/// True for a preset chain that is configured under another name. Earlier releases did not have these two.
fn is_renamed(network: &Network, names: &[String], ids: &[u64]) -> bool {
    let name = network.name.as_str();
    ["ethereum", "base"].contains(&name)
        && !names.iter().any(|written| written == name)
        && network.chain_id.is_some_and(|id| ids.contains(&id))
}

fn change(networks: &mut Networks, name: NetworkName, written: RawNetwork) -> Result<(), String> {
    let position = if let Some(position) = networks.0.iter().position(|network| network.name == name) {
        position
    } else {
        let id = written.chain_id.ok_or("chain_id is missing")?;
        networks.0.push(Network::new(name, Some(id), true, false));
        networks.0.len() - 1
    };
    let network = &mut networks.0[position];
    network.chain_id = written.chain_id.or(network.chain_id);
    if let Some(checks) = &written.checks {
        network.sybil = checks.contains(&Check::Sybil);
        network.residence = checks.contains(&Check::Residence);
    }
    if let Some(block_ms) = written.block_ms {
        if block_ms < 1 {
            return Err("block_ms must be at least 1".to_owned());
        }
        network.block_ms = block_ms;
    }
    network.confirmations = written.confirmations.unwrap_or(network.confirmations);
    sources(network, written)
}

fn sources(network: &mut Network, written: RawNetwork) -> Result<(), String> {
    let contracts = written.contracts.map(contracts).transpose()?;
    if let Some(sources) = &written.sources {
        network.registry = sources.contains(&ClockSource::Registry);
        if sources.contains(&ClockSource::Evm) && contracts.is_none() {
            return Err("the source evm needs contracts".to_owned());
        }
        if sources.is_empty() {
            return Err("sources must be registry, evm or both".to_owned());
        }
    }
    let wanted = written.sources.is_none_or(|sources| sources.contains(&ClockSource::Evm));
    network.contracts = contracts.filter(|_| wanted);
    for url in &written.rpc {
        check_url(url)?;
    }
    if !written.rpc.is_empty() {
        let timeout = Duration::from_millis(written.rpc_timeout_ms.unwrap_or(5000).max(1));
        let pause = Duration::from_millis(written.rpc_retry_ms.unwrap_or(250).min(LONGEST_PAUSE_MS));
        network.rpc = Some(Settings { urls: written.rpc, timeout, pause, multicall: written.multicall });
    }
    if network.contracts.is_some() && network.rpc.is_none() {
        return Err("the source evm needs rpc, a list of URLs".to_owned());
    }
    Ok(())
}

fn check_url(url: &str) -> Result<(), String> {
    let parsed: Option<http::Uri> = url.parse().ok();
    let scheme = parsed.as_ref().and_then(http::Uri::scheme_str);
    if matches!(scheme, Some("http" | "https")) {
        Ok(())
    } else {
        // A URL may contain a key: it is not repeated.
        Err("rpc must have http or https URLs".to_owned())
    }
}

fn contracts(written: WrittenContracts) -> Result<Contracts, String> {
    let named = |name: &str| {
        Kind::from_name(name).ok_or_else(|| {
            let known: Vec<&str> = Kind::ALL.into_iter().map(Kind::as_str).collect();
            format!("unknown kind {name}; use {}", known.join(", "))
        })
    };
    let unique = written.unique.iter().map(|(name, address)| Ok((named(name)?, *address)));
    let hub = written.hub.map(|hub| {
        let circuit = |(name, circuit): (&String, &WrittenCircuit)| Ok((named(name)?, circuit.read()?));
        let circuits = hub.circuits.iter().map(circuit).collect::<Result<_, String>>()?;
        Ok::<_, String>(Hub { address: hub.address, circuits })
    });
    Ok(Contracts {
        unique: unique.collect::<Result<_, String>>()?,
        residence: written.residence,
        hub: hub.transpose()?,
    })
}

impl WrittenCircuit {
    fn read(&self) -> Result<Circuit, String> {
        let issuer: FieldElement = self.issuer.parse().map_err(|error| format!("issuer: {error}"))?;
        Ok(Circuit { id: parse_word(&self.id)?, issuer: issuer.to_be_bytes() })
    }
}

/// `0x` and 64 hexadecimal digits.
fn parse_word(text: &str) -> Result<AbiWord, String> {
    let wrong = || "id must be 0x followed by 64 hex characters".to_owned();
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 64).ok_or_else(wrong)?;
    let address: pyxis_core::sui::SuiAddress = format!("0x{digits}").parse().map_err(|_| wrong())?;
    Ok(address.0)
}

/// Voting strategies could not distinguish two networks with the same chain id.
fn check_ids(networks: &Networks) -> Result<(), InvalidNetworks> {
    for (position, network) in networks.0.iter().enumerate() {
        let same = |other: &&Network| other.chain_id.is_some() && other.chain_id == network.chain_id;
        if let Some(other) = networks.0[..position].iter().find(same) {
            let reason = format!("has the chain id of {}", other.name);
            return Err(InvalidNetworks::Network { name: network.name.to_string(), reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(networks: &Networks, name: &str, kind: Kind) -> bool {
        networks.find_by_name(name).is_some_and(|network| network.checks(kind))
    }

    #[test]
    fn a_new_installation_has_the_documented_networks() {
        let networks = read("").unwrap();
        for (name, sybil, residence) in [
            ("optimism", true, true),
            ("base-sepolia", true, false),
            ("optimism-goerli", false, true),
            ("base", true, false),
        ] {
            assert_eq!(has(&networks, name, Kind::GovId), sybil, "{name}");
            assert_eq!(has(&networks, name, Kind::ResidenceUs), residence, "{name}");
        }
        for (id, name) in [
            (10, "optimism"),
            (84532, "base-sepolia"),
            (420, "optimism-goerli"),
            (1, "ethereum"),
            (8453, "base"),
        ] {
            assert_eq!(networks.of_chain(id).unwrap().name.as_str(), name);
        }
        assert!(networks.find_by_name("gnosis").is_none());
    }

    #[test]
    fn ethereum_and_base_keep_the_names_that_an_installation_gave_them() {
        let networks = read(r#"{"mainnet": {"chain_id": 1}, "base": {"chain_id": 8453}}"#).unwrap();
        assert_eq!(networks.of_chain(1).unwrap().name.as_str(), "mainnet");
        assert!(networks.find_by_name("ethereum").is_none() && has(&networks, "base", Kind::GovId));
    }

    #[test]
    fn networks_can_be_added_and_changed() {
        let text =
            r#"{"gnosis": {"chain_id": 100}, "optimism": {"checks": ["residence"], "block_ms": 2000}}"#;
        let networks = read(text).unwrap();
        assert!(has(&networks, "gnosis", Kind::Phone) && !has(&networks, "gnosis", Kind::ResidenceUs));
        assert!(!has(&networks, "optimism", Kind::Phone));
        assert_eq!(networks.find_by_name("optimism").unwrap().block_ms, 2000);
    }

    #[test]
    fn contracts_are_a_source_beside_the_registry_or_instead_of_it() {
        let contracts = r#""rpc": ["http://127.0.0.1:1"], "contracts": {
            "unique": {"gov-id": "0x1111111111111111111111111111111111111111"},
            "hub": {"address": "0x2222222222222222222222222222222222222222", "circuits": {
                "phone": {"id": "0x729d660e1c02e4e419745e617d643f897a538673ccf1051e093bbfa58b0a120b", "issuer": "7"}
            }}}"#;
        let both = read(&format!(r#"{{"optimism": {{{contracts}}}}}"#)).unwrap();
        assert_eq!(both.find_by_name("optimism").unwrap().sources(), ["registry", "evm"]);
        let alone = read(&format!(r#"{{"optimism": {{"sources": ["evm"], {contracts}}}}}"#)).unwrap();
        assert_eq!(alone.find_by_name("optimism").unwrap().sources(), ["evm"]);
        assert!(has(&alone, "optimism", Kind::Phone) && !has(&alone, "optimism", Kind::Biometrics));
        let clock = read(r#"{"optimism": {"rpc": ["http://127.0.0.1:1"]}}"#).unwrap();
        assert_eq!(clock.find_by_name("optimism").unwrap().sources(), ["registry"]);
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        for (text, said) in [
            ("[]", "these are not networks by name: invalid type"),
            (r#"{"gnosis": {}}"#, "networks.gnosis: chain_id"),
            (r#"{"gnosis": {"chain_id": 10}}"#, "networks.gnosis: has the chain id of optimism"),
            (r#"{"Gnosis": {"chain_id": 100}}"#, "networks.Gnosis: not a network name"),
            (r#"{"optimism": {"rcp": []}}"#, "unknown field"),
            (r#"{"optimism": {"block_ms": 0}}"#, "block_ms"),
            (r#"{"optimism": {"rpc": ["ws://x"]}}"#, "rpc must have http"),
            (r#"{"optimism": {"sources": ["evm"]}}"#, "needs contracts"),
            (r#"{"optimism": {"sources": []}}"#, "sources"),
            (r#"{"optimism": {"contracts": {}}}"#, "needs rpc"),
            (
                r#"{"optimism": {"contracts": {"unique": {"x": "0x1111111111111111111111111111111111111111"}}}}"#,
                "kind x",
            ),
        ] {
            let error = with_its_causes(&read(text).map(drop).unwrap_err());
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    /// The message as a person reads it at the start.
    fn with_its_causes(error: &dyn std::error::Error) -> String {
        let causes = std::iter::successors(Some(error), |error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }
}
