//! State shared by every part of verification.

use std::sync::Arc;

use http::HeaderMap;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::entropy::Entropy;
use pyxis_core::proof::NetworkName;
use pyxis_evm::Chain;
use pyxis_http::admin::{ManagerAuth, ManagerFuture};
use pyxis_net::Client;
use pyxis_store::Store;
use pyxis_store::audit::{AuditKeys, AuditedStore};
use pyxis_store::cipher::Keyring;

use crate::chains::Chains;
use crate::clocks::Clocks;
use crate::config::Config;
use crate::index::Index;
use crate::network::Networks;
use crate::score_source::ScoreSource;

/// Dependencies of verification.
pub struct VerificationDependencies {
    pub store: Store,
    /// Keys of the audit trail, which records every administrative change.
    pub audit_keys: AuditKeys,
    /// Attestation keys are derived from it.
    pub keyring: Keyring,
    /// Authenticates managers.
    pub managers: Arc<dyn ManagerAuth>,
    /// Client for outgoing requests.
    pub net: Client,
    /// Scores for voting strategies.
    pub scores: Arc<dyn ScoreSource>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub config: Config,
}

/// A cheap handle on everything that verification needs.
#[derive(Clone)]
pub struct State(Arc<VerificationContext>);

/// Shared state behind [`State`].
pub struct VerificationContext {
    pub store: Store,
    /// For changes by managers.
    pub audited: AuditedStore,
    /// Authenticates managers.
    pub managers: Arc<dyn ManagerAuth>,
    /// Client for outgoing requests.
    pub net: Client,
    /// Scores for voting strategies.
    pub scores: Arc<dyn ScoreSource>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub config: Config,
    /// The external attestation index.
    pub index: Index,
    pub(crate) keyring: Keyring,
    pub(crate) clocks: Clocks,
    pub(crate) chains: Chains,
}

impl State {
    pub fn new(parts: VerificationDependencies) -> Self {
        let VerificationDependencies {
            store,
            audit_keys,
            keyring,
            managers,
            net,
            scores,
            clock,
            entropy,
            config,
        } = parts;
        Self(Arc::new(VerificationContext {
            clocks: Clocks::default(),
            chains: Chains::new(&net, &config.networks),
            index: Index::new(&net, &clock, &config.attestation),
            audited: AuditedStore::new(store.clone(), audit_keys, Arc::clone(&clock)),
            store,
            keyring,
            managers,
            net,
            scores,
            clock,
            entropy,
            config,
        }))
    }

    /// The current time.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// The EVM networks with nodes: name, chain id and nodes, which the caller may share.
    pub fn chains(&self) -> impl Iterator<Item = (NetworkName, u64, Arc<Chain>)> {
        self.networks().iter().filter_map(|network| {
            Some((network.name.clone(), network.chain_id?, Arc::clone(self.chains.get(&network.name)?)))
        })
    }

    /// The configured networks.
    pub fn networks(&self) -> &Networks {
        &self.config.networks
    }
}

/// The proxy keeps the accounts; it is asked about every request.
impl ManagerAuth for State {
    fn manager<'a>(&'a self, headers: &'a HeaderMap) -> ManagerFuture<'a> {
        self.managers.manager(headers)
    }
}

impl std::ops::Deref for State {
    type Target = VerificationContext;

    fn deref(&self) -> &VerificationContext {
        &self.0
    }
}
