//! State shared by all parts of the proxy.

use std::sync::{Arc, OnceLock};

use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::entropy::Entropy;
use pyxis_core::id::NodeId;
use pyxis_store::Store;
use pyxis_store::audit::{Appender, AuditKeys, AuditedStore};
use pyxis_store::cipher::Keyring;
use pyxis_store::outbox::Outbox;
use tokio::sync::Mutex;

use crate::config::Config;
use crate::runtime::anchor::Anchor;
use crate::runtime::chat_health::ChatExaminations;
use crate::runtime::chat_limits::ChatLimits;
use crate::runtime::client_documents::ClientDocuments;
use crate::runtime::heartbeats::Heartbeats;
use crate::runtime::held_bodies::HeldBodies;
use crate::runtime::in_flight::InFlight;
use crate::runtime::last_used::LastUsedBuffer;
use crate::runtime::login_throttle::UnknownEmailThrottle;
use crate::runtime::mcp_cache::McpCache;
use crate::runtime::metrics_recorder::MetricsRecorder;
use crate::runtime::mtls_clients::MtlsClients;
use crate::runtime::open_sockets::OpenSockets;
use crate::runtime::resolve::ConfigCache;
use crate::runtime::token_cache::TokenCache;
use crate::runtime::wait::Waiters;
use crate::runtime::work::Work;

/// Dependencies of the proxy.
pub struct GatewayDependencies {
    /// Database access.
    pub store: Store,
    /// Seals and opens secrets at rest.
    pub keyring: Keyring,
    /// Writes the audit trail.
    pub audit: Appender,
    /// Keys of the audit trail, for records that commit with a state change.
    pub audit_keys: AuditKeys,
    /// HTTP client for all outbound requests.
    pub net: pyxis_net::Client,
    /// Source of time.
    pub clock: Arc<dyn Clock>,
    /// Source of randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Id of this process.
    pub node: NodeId,
    /// Operator settings.
    pub config: Config,
}

/// Shared handle on everything the proxy needs. Cheap to clone.
#[derive(Clone)]
pub struct State(Arc<GatewayContext>);

/// Target of a [`State`].
pub struct GatewayContext {
    /// Database access.
    pub store: Store,
    /// Seals and opens secrets at rest.
    pub keyring: Keyring,
    /// Writes the audit trail.
    pub audit: Appender,
    /// Keys of the audit trail, for records that commit with a state change.
    pub audit_keys: AuditKeys,
    /// For changes by managers.
    pub audited: AuditedStore,
    /// For webhook events that commit with a state change.
    pub(crate) outbox: Outbox,
    /// HTTP client for all outbound requests.
    pub net: pyxis_net::Client,
    /// HTTP client for the operator's own sidecars.
    pub net_private: pyxis_net::Client,
    /// Source of time.
    pub clock: Arc<dyn Clock>,
    /// Source of randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Id of this process.
    pub node: NodeId,
    /// Operator settings.
    pub config: Config,
    pub(crate) config_cache: ConfigCache,
    pub(crate) waiters: Waiters,
    pub(crate) work: Work,
    pub(crate) heartbeats: Heartbeats,
    pub(crate) last_used: LastUsedBuffer,
    pub(crate) token_cache: TokenCache,
    pub(crate) mtls_clients: MtlsClients,
    pub(crate) client_documents: ClientDocuments,
    pub(crate) mcp_cache: McpCache,
    pub(crate) login_throttle: UnknownEmailThrottle,
    pub(crate) anchor: Anchor,
    pub(crate) in_flight: InFlight,
    pub(crate) chat_examinations: ChatExaminations,
    pub(crate) chat_limits: ChatLimits,
    pub(crate) sockets: OpenSockets,
    pub(crate) held_bodies: HeldBodies,
    /// Held by the one request that hashes audit records for a receipt.
    pub(crate) receipt_slot: Mutex<()>,
    meters: OnceLock<MetricsRecorder>,
}

impl State {
    /// Assembles the state. Nothing runs before [`crate::workers::start`].
    pub fn new(parts: GatewayDependencies) -> Self {
        let GatewayDependencies { store, keyring, audit, audit_keys, net, clock, entropy, node, config } =
            parts;
        Self(Arc::new(GatewayContext {
            audited: AuditedStore::new(store.clone(), audit_keys.clone(), Arc::clone(&clock)),
            outbox: Outbox::new(keyring.clone(), Arc::clone(&entropy)),
            store,
            keyring,
            audit,
            audit_keys,
            net_private: net.private(),
            sockets: OpenSockets::new(config.websockets_max, config.agent_websockets_max),
            held_bodies: HeldBodies::new(config.held_bodies_max),
            net,
            clock,
            entropy,
            node,
            config,
            config_cache: ConfigCache::default(),
            waiters: Waiters::default(),
            work: Work::default(),
            heartbeats: Heartbeats::default(),
            last_used: LastUsedBuffer::default(),
            token_cache: TokenCache::default(),
            mtls_clients: MtlsClients::default(),
            client_documents: ClientDocuments::default(),
            mcp_cache: McpCache::default(),
            login_throttle: UnknownEmailThrottle::default(),
            anchor: Anchor::default(),
            in_flight: InFlight::default(),
            chat_examinations: ChatExaminations::default(),
            chat_limits: ChatLimits::default(),
            receipt_slot: Mutex::new(()),
            meters: OnceLock::new(),
        }))
    }

    /// Current time.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Number of WebSockets that are open or opening.
    pub fn open_websockets(&self) -> u32 {
        self.sockets.open()
    }

    /// Metrics, registered at first use, when a server has installed its recorder.
    pub(crate) fn metrics(&self) -> &MetricsRecorder {
        self.meters.get_or_init(MetricsRecorder::register)
    }
}

impl std::ops::Deref for State {
    type Target = GatewayContext;

    fn deref(&self) -> &GatewayContext {
        &self.0
    }
}
