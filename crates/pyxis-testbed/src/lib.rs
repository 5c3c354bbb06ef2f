//! Nodes of an installation: the services that share its database in one process, as the program wires them. Never part
//! of the program.
#![expect(clippy::missing_panics_doc, reason = "a node panics where the test that starts it is wrong")]

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use pyxis_core::actor::Actor;
use pyxis_core::clock::Clock;
use pyxis_core::id::NodeId;
use pyxis_core::secret::SecretBytes;
use pyxis_gateway as gateway;
use pyxis_http::admin::{ManagerAuth, ManagerFuture};
use pyxis_net::{Client, ClientConfig};
use pyxis_scoring as scoring;
use pyxis_store::audit::Appender;
use pyxis_store::outbox::Outbox;
use pyxis_testkit::installation::Installation;
use pyxis_verify as verify;
use pyxis_verify::score_source::NoScores;

/// Node that serves the proxy, scoring and verification.
pub struct Node {
    pub gateway: gateway::State,
    pub scoring: scoring::State,
    pub verification: verify::State,
    /// Routes of agents and of the administration API.
    pub proxy: Router,
    /// Dropped last.
    pub installation: Installation,
}

impl Node {
    /// Starts on an installation, with a client that reaches what `net` lets it reach.
    pub fn start(installation: Installation, net: &ClientConfig, config: gateway::Config) -> Self {
        let gateway = gateway::State::new(gateway::GatewayDependencies {
            store: installation.store.clone(),
            keyring: installation.keyring.clone(),
            audit: Appender::start(installation.store.clone(), installation.audit_keys.clone()),
            audit_keys: installation.audit_keys.clone(),
            net: Client::new(net).expect("a client"),
            clock: installation.clock.clone(),
            entropy: installation.entropy.clone(),
            node: NodeId::new(installation.clock.now(), &*installation.entropy),
            config,
        });
        let managers: Arc<dyn ManagerAuth> = Arc::new(gateway.clone());
        let verification = verification_parts(&installation, Arc::clone(&managers), gateway.net.clone());
        Self {
            scoring: scoring::State::new(scoring_parts(&installation, managers)),
            verification: verify::State::new(verification),
            proxy: gateway::router(gateway.clone()),
            gateway,
            installation,
        }
    }
}

impl Deref for Node {
    type Target = Installation;

    fn deref(&self) -> &Installation {
        &self.installation
    }
}

/// Parts of scoring on an installation, with the usual settings.
pub fn scoring_parts(
    installation: &Installation,
    managers: Arc<dyn ManagerAuth>,
) -> scoring::ScoringDependencies {
    scoring::ScoringDependencies {
        store: installation.store.clone(),
        outbox: Outbox::new(installation.keyring.clone(), installation.entropy.clone()),
        audit_keys: installation.audit_keys.clone(),
        keyring: installation.keyring.clone(),
        signer: scoring::signed::SignerConfig::default(),
        managers,
        clock: installation.clock.clone(),
        entropy: installation.entropy.clone(),
        token_key: SecretBytes::new(vec![7; 32]),
        activity: None,
        networks: scoring::EvmNetworks::default(),
        contract_wallets: None,
        config: scoring::Config::default(),
    }
}

/// Parts of verification on an installation, with the usual settings.
pub fn verification_parts(
    installation: &Installation,
    managers: Arc<dyn ManagerAuth>,
    net: Client,
) -> verify::VerificationDependencies {
    verify::VerificationDependencies {
        store: installation.store.clone(),
        audit_keys: installation.audit_keys.clone(),
        keyring: installation.keyring.clone(),
        managers,
        net,
        scores: Arc::new(NoScores),
        clock: installation.clock.clone(),
        entropy: installation.entropy.clone(),
        config: verify::Config::default(),
    }
}

/// Refuses every manager.
pub struct NoManagers;

impl ManagerAuth for NoManagers {
    fn manager<'a>(&'a self, _headers: &'a HeaderMap) -> ManagerFuture<'a> {
        Box::pin(async { Err::<Actor, Response>(StatusCode::UNAUTHORIZED.into_response()) })
    }
}
