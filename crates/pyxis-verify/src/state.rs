//! What every part of verification shares.

use std::sync::Arc;

use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::entropy::Entropy;
use pyxis_http::Managers;
use pyxis_net::Client;
use pyxis_store::Store;
use pyxis_store::audit::AuditKeys;
use pyxis_store::cipher::Keyring;

use crate::admission::Admission;
use crate::attestation;
use crate::attestation::index::Index;
use crate::chains::Chains;
use crate::heights::Heights;
use crate::network::Networks;

/// Settings of verification.
#[derive(Clone, Debug)]
pub struct Config {
    /// The networks.
    pub networks: Networks,
    /// Most addresses in one question of a voting strategy.
    pub max_addresses: usize,
    /// Attestations and the external index.
    pub attestation: attestation::Config,
    /// Who may ask, and how often.
    pub admission: Admission,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            networks: Networks::default(),
            max_addresses: 1000,
            attestation: attestation::Config::default(),
            admission: Admission::default(),
        }
    }
}

/// The parts that verification is made of.
pub struct Parts {
    /// The database.
    pub store: Store,
    /// Keys of the audit trail, on which every administrative change is.
    pub audit_keys: AuditKeys,
    /// Keys of attestations are derived from it.
    pub keyring: Keyring,
    /// Who may manage.
    pub managers: Arc<dyn Managers>,
    /// The way out.
    pub net: Client,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Settings.
    pub config: Config,
}

/// A cheap handle on everything that verification needs.
#[derive(Clone)]
pub struct State(Arc<Inner>);

/// What [`State`] points to.
pub struct Inner {
    /// The database.
    pub store: Store,
    /// Keys of the audit trail, on which every administrative change is.
    pub audit_keys: AuditKeys,
    /// Who may manage.
    pub managers: Arc<dyn Managers>,
    /// The way out.
    pub net: Client,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Settings.
    pub config: Config,
    pub(crate) keyring: Keyring,
    pub(crate) heights: Heights,
    pub(crate) chains: Chains,
    pub(crate) index: Index,
}

impl State {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        let Parts { store, audit_keys, keyring, managers, net, clock, entropy, config } = parts;
        Self(Arc::new(Inner {
            heights: Heights::default(),
            chains: Chains::new(&net, &config.networks),
            index: Index::default(),
            store,
            audit_keys,
            keyring,
            managers,
            net,
            clock,
            entropy,
            config,
        }))
    }

    /// The present moment.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// The configured networks.
    pub fn networks(&self) -> &Networks {
        &self.config.networks
    }
}

impl std::ops::Deref for State {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
