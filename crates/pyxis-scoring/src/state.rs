//! What every part of scoring shares.

use std::sync::Arc;
use std::time::Duration;

use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::entropy::Entropy;
use pyxis_core::secret::SecretBytes;
use pyxis_http::ManagerAuth;
use pyxis_store::Store;
use pyxis_store::audit::AuditKeys;
use pyxis_store::outbox::Outbox;

use crate::limits::{Limiter, SpentLog};
use crate::models::{Models, Source};
use crate::scoring_db::ScoringDb;

/// Settings of scoring.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How long a request may take before it is aborted (Spec 1, Errors).
    pub request_timeout: Duration,
    /// True if the paths of the earlier version answer.
    pub earlier_paths: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { request_timeout: Duration::from_mins(1), earlier_paths: true }
    }
}

/// The parts that scoring is made of.
pub struct Parts {
    /// The database.
    pub store: Store,
    /// Where changed scores are written down for endpoints.
    pub outbox: Outbox,
    /// Keys of the audit trail, on which every administrative change is.
    pub audit_keys: AuditKeys,
    /// Who may manage.
    pub managers: Arc<dyn ManagerAuth>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Signs page tokens; every node has the same.
    pub token_key: SecretBytes,
    /// Where the activity of wallets comes from; `None`: from what was imported.
    pub activity: Option<Arc<dyn Source>>,
    /// Settings.
    pub config: Config,
}

/// A cheap handle on everything that scoring needs.
#[derive(Clone)]
pub struct State(Arc<Inner>);

/// What [`State`] points to.
pub struct Inner {
    /// The database.
    pub store: Store,
    /// The same, with the outbox: what changes scores writes to both.
    pub books: ScoringDb,
    /// Keys of the audit trail, on which every administrative change is.
    pub audit_keys: AuditKeys,
    /// Who may manage.
    pub managers: Arc<dyn ManagerAuth>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Settings.
    pub config: Config,
    /// Models and what they served.
    pub models: Models,
    /// Where the activity of wallets comes from, if not from what was imported.
    activity: Option<Arc<dyn Source>>,
    pub(crate) limiter: Limiter,
    pub(crate) token_key: SecretBytes,
}

impl State {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        let Parts { store, outbox, audit_keys, managers, clock, entropy, token_key, activity, config } =
            parts;
        Self(Arc::new(Inner {
            limiter: Limiter::new(store.clone()),
            models: Models::new(store.clone()),
            books: ScoringDb::new(store.clone(), outbox),
            activity,
            store,
            audit_keys,
            managers,
            clock,
            entropy,
            config,
            token_key,
        }))
    }

    /// Where the activity of wallets comes from, if not from what was imported.
    pub fn activity(&self) -> Option<&dyn Source> {
        self.activity.as_deref()
    }

    /// Reserves requests of keys far from their limit from here on, and notes in `ledger` what it lets in.
    pub fn note_in(&self, ledger: SpentLog) {
        self.limiter.note_in(ledger);
    }

    /// Returns once exactly the requests that were let in are counted.
    pub async fn settled(&self) {
        self.limiter.settled().await;
        self.models.settled().await;
    }

    /// The present moment.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }
}

impl std::ops::Deref for State {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
