//! What an operator sets.

use std::time::Duration;

use ipnet::IpNet;
use pyxis_core::address::EvmAddress;
use pyxis_core::secret::SecretString;

use crate::network::Networks;

/// Settings of verification.
#[derive(Clone, Debug)]
pub struct Config {
    /// The networks.
    pub networks: Networks,
    /// Most addresses in one question of a voting strategy.
    pub max_addresses: usize,
    /// Attestations and the external index.
    pub attestation: Attestations,
    /// Who may ask, and how often.
    pub admission: AccessRules,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            networks: Networks::default(),
            max_addresses: 1000,
            attestation: Attestations::default(),
            admission: AccessRules::default(),
        }
    }
}

/// Settings of attestations and of the external index.
#[derive(Clone, Debug)]
pub struct Attestations {
    /// How long an attestation holds, unless the proof expires before.
    pub lifetime: Duration,
    /// Where the external index is; without it clean hands of EVM addresses are not known.
    pub scan_url: Option<String>,
    /// The one authorized attester (Spec 2, rule 3).
    pub attester: Option<EvmAddress>,
    /// The schema of clean-hands attestations (Spec 2, rule 3).
    pub schema: String,
    /// How long a found attestation is answered from memory.
    pub remember: Duration,
}

impl Default for Attestations {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_hours(1),
            scan_url: None,
            attester: None,
            schema: "onchain_evm_10_0x8".to_owned(),
            remember: Duration::from_secs(5),
        }
    }
}

/// Who may ask, and how often: anybody, unless something is set here.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// The key that is asked for.
    pub api_key: Option<SecretString>,
    /// Requests of one IP address in a minute; 0 for no limit.
    pub per_minute: u32,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
}

impl AccessRules {
    pub(crate) fn is_open(&self) -> bool {
        self.api_key.is_none() && self.per_minute == 0
    }
}
