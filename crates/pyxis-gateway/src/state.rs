//! What every part of the proxy shares.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::entropy::Entropy;
use pyxis_core::id::NodeId;
use pyxis_store::Store;
use pyxis_store::audit::{Appender, AuditKeys};
use pyxis_store::cipher::Keyring;

use crate::channels::matrix::MatrixConfig;
use crate::channels::telegram::TelegramConfig;
use crate::identities::Identities;
use crate::meters::Meters;
use crate::resolve::Cache;
use crate::tokens::Tokens;
use crate::touch::Touched;
use crate::wait::Waiters;
use crate::workers::Work;

/// Settings of the proxy.
#[derive(Clone, Debug)]
pub struct Config {
    /// Public origin, without a trailing slash.
    pub base_url: String,
    /// How long an approval waits for a decision, where neither workspace nor policy says.
    pub approval_timeout: Duration,
    /// Longest wait for the first byte of an upstream answer.
    pub forward_timeout: Duration,
    /// How long `/p/…` holds a request that asks a person, unless the request says otherwise.
    pub entrance_wait: Duration,
    /// Longest silence within a streamed answer.
    pub idle_timeout: Duration,
    /// Largest body that is kept for an approval, in bytes.
    pub pending_body_max: usize,
    /// Largest answer that is kept for polling, in bytes.
    pub response_max: usize,
    /// How long bodies and answers are kept after the decision.
    pub retention: Duration,
    /// Whether this process is the only one on its database, so that after a start no other can
    /// still be sending.
    pub sole_node: bool,
    /// File outside the database that keeps the newest signed head of the audit trail.
    pub anchor: Option<std::path::PathBuf>,
    /// The bot of the first chat platform.
    pub telegram: Option<TelegramConfig>,
    /// The bot of the second.
    pub matrix: Option<MatrixConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_url: "http://localhost:8700".to_owned(),
            approval_timeout: Duration::from_hours(1),
            forward_timeout: Duration::from_secs(30),
            entrance_wait: Duration::from_mins(1),
            idle_timeout: Duration::from_mins(5),
            pending_body_max: 10 * 1024 * 1024,
            response_max: 10 * 1024 * 1024,
            retention: Duration::from_hours(24),
            sole_node: true,
            anchor: None,
            telegram: None,
            matrix: None,
        }
    }
}

/// The parts that the proxy is made of.
pub struct Parts {
    /// The database.
    pub store: Store,
    /// Seals and opens what is secret at rest.
    pub keyring: Keyring,
    /// Writes the audit trail.
    pub audit: Appender,
    /// Keys of the audit trail, for records that commit with a state change.
    pub audit_keys: AuditKeys,
    /// The only way out.
    pub net: pyxis_net::Client,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// This process.
    pub node: NodeId,
    /// Settings.
    pub config: Config,
}

/// A cheap handle on everything the proxy needs.
#[derive(Clone)]
pub struct State(Arc<Inner>);

/// What [`State`] points to.
pub struct Inner {
    /// The database.
    pub store: Store,
    /// Seals and opens what is secret at rest.
    pub keyring: Keyring,
    /// Writes the audit trail.
    pub audit: Appender,
    /// Keys of the audit trail, for records that commit with a state change.
    pub audit_keys: AuditKeys,
    /// The only way out.
    pub net: pyxis_net::Client,
    /// The way to the operator's own sidecars.
    pub net_private: pyxis_net::Client,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// This process.
    pub node: NodeId,
    /// Settings.
    pub config: Config,
    pub(crate) cache: Cache,
    pub(crate) waiters: Waiters,
    pub(crate) work: Work,
    pub(crate) touched: Touched,
    pub(crate) tokens: Tokens,
    pub(crate) identities: Identities,
    meters: OnceLock<Meters>,
}

impl State {
    /// Puts the parts together. Nothing runs until [`crate::workers::start`].
    pub fn new(parts: Parts) -> Self {
        let Parts { store, keyring, audit, audit_keys, net, clock, entropy, node, config } = parts;
        Self(Arc::new(Inner {
            store,
            keyring,
            audit,
            audit_keys,
            net_private: net.private(),
            net,
            clock,
            entropy,
            node,
            config,
            cache: Cache::default(),
            waiters: Waiters::default(),
            work: Work::default(),
            touched: Touched::default(),
            tokens: Tokens::default(),
            identities: Identities::default(),
            meters: OnceLock::new(),
        }))
    }

    /// The present moment.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// The metrics, registered at the first use: by then a server has installed its recorder.
    pub(crate) fn meters(&self) -> &Meters {
        self.meters.get_or_init(Meters::register)
    }
}

impl std::ops::Deref for State {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
