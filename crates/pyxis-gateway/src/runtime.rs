//! Shared process state: caches, counters, wakeups and shutdown.

pub(crate) mod anchor;
pub(crate) mod chat_health;
pub(crate) mod chat_limits;
pub(crate) mod client_documents;
pub(crate) mod exchange_metrics;
pub(crate) mod heartbeats;
pub(crate) mod held_bodies;
pub(crate) mod in_flight;
pub(crate) mod last_used;
pub(crate) mod login_throttle;
pub(crate) mod mcp_cache;
pub(crate) mod metrics_recorder;
pub(crate) mod mtls_clients;
pub(crate) mod open_sockets;
pub(crate) mod resolve;
pub(crate) mod sealing;
pub(crate) mod secret_cache;
pub(crate) mod secret_value;
pub(crate) mod state;
pub(crate) mod stored;
pub(crate) mod survival;
pub(crate) mod token_cache;
pub(crate) mod wait;
pub(crate) mod work;
