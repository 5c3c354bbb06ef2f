//! Settings of verification.

use std::time::Duration;

use anyhow::{Context, Result};
use pyxis_core::address::EvmAddress;
use pyxis_core::secret::SecretString;
use pyxis_verify as verify;
use pyxis_verify::network::Networks;

use super::env::Env;
use super::{Config, SettingSources};

/// Settings of verification.
#[derive(Clone, Debug)]
pub struct Verification {
    pub networks: Networks,
    /// Most addresses in one request of a voting strategy.
    pub max_addresses: usize,
    /// URL of the external attestation index.
    pub scan_url: Option<String>,
    /// The only authorized attester.
    pub attester: Option<EvmAddress>,
    /// The schema of clean-hands attestations.
    pub schema: String,
    /// Lifetime of an attestation.
    pub lifetime: Duration,
    /// Time that a found attestation is cached.
    pub remember: Duration,
    /// The API key that checks require.
    pub api_key: Option<SecretString>,
    /// Requests per minute from one IP address.
    pub per_minute: u32,
}

impl Verification {
    pub(super) fn read(source: &SettingSources<'_, impl Env>) -> Result<Self> {
        let scan_url = source.optional::<String>("attestation_scan_url")?;
        if let Some(url) = &scan_url {
            let parsed: Option<http::Uri> = url.parse().ok();
            let scheme = parsed.as_ref().and_then(http::Uri::scheme_str);
            if !matches!(scheme, Some("http" | "https")) {
                anyhow::bail!("PX_ATTESTATION_SCAN_URL must be an http or https URL");
            }
        }
        Ok(Self {
            networks: Networks::from_json(&source.text("networks")?)
                .context("PX_NETWORKS, or [networks.NAME] of the settings file")?,
            max_addresses: source.parsed("max_addresses")?,
            scan_url,
            attester: source.optional("authorized_attester")?,
            schema: source.text("clean_hands_schema")?,
            lifetime: Duration::from_secs(source.parsed("attestation_lifetime_secs")?),
            remember: Duration::from_secs(source.parsed("attestation_cache_secs")?),
            api_key: source.secret("verify_api_key")?,
            per_minute: source.parsed("verify_rate_limit")?,
        })
    }
}

impl Config {
    /// The configuration that the verification crate expects.
    pub fn verify(&self) -> verify::Config {
        let given = self.verification.clone();
        verify::Config {
            networks: given.networks,
            max_addresses: given.max_addresses,
            attestation: verify::Attestations {
                lifetime: given.lifetime,
                scan_url: given.scan_url,
                attester: given.attester,
                schema: given.schema,
                remember: given.remember,
            },
            admission: verify::AccessRules {
                api_key: given.api_key,
                per_minute: given.per_minute,
                trusted_proxies: self.trusted_proxies.clone(),
            },
        }
    }
}
