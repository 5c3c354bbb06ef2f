//! What every part of verification shares.

use std::sync::Arc;

use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::entropy::Entropy;
use pyxis_http::ManagerAuth;
use pyxis_net::Client;
use pyxis_store::Store;
use pyxis_store::audit::AuditKeys;
use pyxis_store::cipher::Keyring;

use crate::chains::Chains;
use crate::clocks::Clocks;
use crate::config::Config;
use crate::index::Index;
use crate::network::Networks;

/// The parts that verification is made of.
pub struct Parts {
    /// The database.
    pub store: Store,
    /// Keys of the audit trail, on which every administrative change is.
    pub audit_keys: AuditKeys,
    /// Keys of attestations are derived from it.
    pub keyring: Keyring,
    /// Who may manage.
    pub managers: Arc<dyn ManagerAuth>,
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
    pub managers: Arc<dyn ManagerAuth>,
    /// The way out.
    pub net: Client,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Settings.
    pub config: Config,
    /// The external attestation index.
    pub index: Index,
    pub(crate) keyring: Keyring,
    pub(crate) clocks: Clocks,
    pub(crate) chains: Chains,
}

impl State {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        let Parts { store, audit_keys, keyring, managers, net, clock, entropy, config } = parts;
        Self(Arc::new(Inner {
            clocks: Clocks::default(),
            chains: Chains::new(&net, &config.networks),
            index: Index::new(&net, &clock, &config.attestation),
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
