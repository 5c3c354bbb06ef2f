//! State shared by every part of scoring.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::entropy::Entropy;
use pyxis_core::id::ScorerId;
use pyxis_core::secret::SecretBytes;
use pyxis_http::admin::{ManagerAuth, ManagerFuture};
use pyxis_store::Store;
use pyxis_store::audit::{AuditKeys, AuditedStore};
use pyxis_store::cipher::Keyring;
use pyxis_store::outbox::Outbox;
use tokio::sync::Notify;

use crate::contract_wallets::ContractWallets;
use crate::limits::Limiter;
use crate::models::{ActivitySource, Models};
use crate::networks::EvmNetworks;
use crate::scoring_db::ScoringDb;
use crate::signed::{ScoreSigner, SignerConfig};

#[derive(Clone, Debug)]
pub struct Config {
    /// Time after which a request is aborted (`docs/reference/behavior/scoring.md#time-limit`).
    pub request_timeout: Duration,
    /// True if the earlier version's paths are served.
    pub earlier_paths: bool,
    /// Scorers that are open to votes, of any workspace.
    pub vote_scorers: Vec<ScorerId>,
    /// Limits of score jobs.
    pub jobs: JobConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_mins(1),
            earlier_paths: true,
            vote_scorers: Vec::new(),
            jobs: JobConfig::default(),
        }
    }
}

/// Limits of jobs.
#[derive(Clone, Debug)]
pub struct JobConfig {
    /// Directory for uploads while they are read; `None` for that of the system. Files in it have no name.
    pub spool: Option<PathBuf>,
    /// Largest upload, in bytes.
    pub upload_max: u64,
    /// Most rows of a job.
    pub rows_max: u64,
    /// Most jobs of a workspace that are kept.
    pub kept_max: u64,
    /// Time for which an ended job is kept.
    pub retention: Duration,
    /// Jobs that this node runs at once.
    pub at_once: usize,
}

impl Default for JobConfig {
    fn default() -> Self {
        Self {
            spool: None,
            upload_max: 256 << 20,
            rows_max: 5_000_000,
            kept_max: 100,
            retention: Duration::from_hours(30 * 24),
            at_once: 1,
        }
    }
}

/// Dependencies of scoring.
pub struct ScoringDependencies {
    pub store: Store,
    /// Outbox for score-change events.
    pub outbox: Outbox,
    /// Keys of the audit trail, which records every administrative change.
    pub audit_keys: AuditKeys,
    /// Keys of the installation, from which those that sign scores and Stamps are derived.
    pub keyring: Keyring,
    /// Settings of signed scores.
    pub signer: SignerConfig,
    /// Authenticates managers.
    pub managers: Arc<dyn ManagerAuth>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// Signs page tokens; the same on every node.
    pub token_key: SecretBytes,
    /// Source of wallet activity; `None` uses imported activity.
    pub activity: Option<Arc<dyn ActivitySource>>,
    /// Networks whose nodes conditions of own Stamps are read from.
    pub networks: EvmNetworks,
    /// Nodes that check signatures of contract wallets, if there are any.
    pub contract_wallets: Option<Arc<dyn ContractWallets>>,
    pub config: Config,
}

/// A cheap handle on everything that scoring needs.
#[derive(Clone)]
pub struct State(Arc<ScoringContext>);

/// Shared state behind [`State`].
pub struct ScoringContext {
    pub store: Store,
    /// The same store with the outbox; whatever changes scores writes to both.
    pub db: ScoringDb,
    /// For changes by managers.
    pub audited: AuditedStore,
    /// Authenticates managers.
    pub managers: Arc<dyn ManagerAuth>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub config: Config,
    /// Wakes the workers of this process when a job is queued.
    pub(crate) job_queued: Notify,
    /// Signs scores.
    pub signer: ScoreSigner,
    /// The models and counts of their served scores.
    pub models: Models,
    /// Networks whose nodes conditions of own Stamps are read from.
    pub networks: EvmNetworks,
    /// Source of wallet activity, unless it is the imported activity.
    activity: Option<Arc<dyn ActivitySource>>,
    /// Keys that sign the workspaces' own Stamps are derived from it.
    pub(crate) keyring: Keyring,
    contract_wallets: Option<Arc<dyn ContractWallets>>,
    pub(crate) limiter: Limiter,
    pub(crate) token_key: SecretBytes,
}

impl State {
    pub fn new(parts: ScoringDependencies) -> Self {
        let ScoringDependencies {
            store, outbox, audit_keys, keyring, signer, managers, clock, entropy, ..
        } = parts;
        let ScoringDependencies { token_key, activity, networks, contract_wallets, config, .. } = parts;
        Self(Arc::new(ScoringContext {
            limiter: Limiter::new(store.clone()),
            models: Models::new(store.clone()),
            signer: ScoreSigner::new(store.clone(), keyring.clone(), signer),
            keyring,
            db: ScoringDb::new(store.clone(), outbox, &config.vote_scorers),
            activity,
            networks,
            contract_wallets,
            audited: AuditedStore::new(store.clone(), audit_keys, Arc::clone(&clock)),
            store,
            managers,
            clock,
            entropy,
            config,
            token_key,
            job_queued: Notify::new(),
        }))
    }

    /// Source of wallet activity, unless it is the imported activity.
    pub fn activity(&self) -> Option<&dyn ActivitySource> {
        self.activity.as_deref()
    }

    /// Nodes that check signatures of contract wallets, if there are any.
    pub(crate) fn contract_wallets(&self) -> Option<&dyn ContractWallets> {
        self.contract_wallets.as_deref()
    }

    /// Returns once exactly the admitted requests are counted.
    pub async fn flush(&self) {
        self.limiter.flush().await;
        self.models.flush().await;
    }

    /// The current time.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }
}

/// The proxy keeps the accounts; it is asked about every request.
impl ManagerAuth for State {
    fn manager<'a>(&'a self, headers: &'a HeaderMap) -> ManagerFuture<'a> {
        self.managers.manager(headers)
    }
}

impl std::ops::Deref for State {
    type Target = ScoringContext;

    fn deref(&self) -> &ScoringContext {
        &self.0
    }
}
