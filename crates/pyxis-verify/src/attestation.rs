//! Attestations: answers that a contract can check without asking (decisions, Endpoints).

pub mod breaker;
pub mod index;
pub mod keys;
pub mod sui;
pub mod typed;

use std::time::Duration;

use pyxis_core::address::EvmAddress;

/// Settings of attestations and of the external index.
#[derive(Clone, Debug)]
pub struct Config {
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

impl Default for Config {
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
