//! Operator settings.

use std::time::Duration;

use ipnet::IpNet;
use pyxis_core::address::EvmAddress;
use pyxis_core::secret::SecretString;

use crate::network::Networks;

#[derive(Clone, Debug)]
pub struct Config {
    pub networks: Networks,
    /// Maximum number of addresses in one voting-strategy request.
    pub max_addresses: usize,
    /// Attestations and the external index.
    pub attestation: Attestations,
    /// Access control and rate limit.
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
    /// Lifetime of an attestation, unless the proof expires earlier.
    pub lifetime: Duration,
    /// URL of the external index; without it, clean hands of EVM addresses are unknown.
    pub scan_url: Option<String>,
    /// The one authorized attester (`docs/reference/behavior/verification.md#clean-hands-by-an-external-index`).
    pub attester: Option<EvmAddress>,
    /// The schema of clean-hands attestations
    /// (`docs/reference/behavior/verification.md#clean-hands-by-an-external-index`).
    pub schema: String,
    /// Time for which a found attestation is cached.
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

/// Access control and rate limit: open to anyone unless configured.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// Required API key.
    pub api_key: Option<SecretString>,
    /// Requests per IP address and minute; 0 for no limit.
    pub per_minute: u32,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
}

impl AccessRules {
    pub(crate) fn is_open(&self) -> bool {
        self.api_key.is_none() && self.per_minute == 0
    }
}
