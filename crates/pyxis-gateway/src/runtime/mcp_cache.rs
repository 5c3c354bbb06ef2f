//! MCP servers behind credentials, as this process knows them. [`crate::credentials::mcp_servers`] asks them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::CredentialId;
use pyxis_core::mcp_tool::ToolDefinition;

/// Servers before all are forgotten. Limits memory.
const MAX_SERVERS: usize = 256;
/// Lifetime of a list of tools.
const LISTED: Duration = Duration::from_mins(1);
/// Time for which a server that failed is not asked again.
const FAILED: Duration = Duration::from_secs(15);

/// Servers of this process, by credential.
#[derive(Default)]
pub(crate) struct McpCache(Mutex<HashMap<CredentialId, ServerSlot>>);

/// One server. The request that holds the lock asks it.
pub(crate) type ServerSlot = Arc<tokio::sync::Mutex<Option<CachedServer>>>;

/// A server as it answered last.
pub(crate) struct CachedServer {
    /// Version of the secret it was asked with.
    pub(crate) version: i64,
    /// URL that was asked.
    pub(crate) url: String,
    /// Time of the answer.
    pub(crate) at: UnixMillis,
    /// Its tools and session, or why there are none.
    pub(crate) answer: Result<Arc<ServerTools>, String>,
}

/// Tools of a server, and how to speak to it.
#[derive(Debug)]
pub(crate) struct ServerTools {
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) session: ServerSession,
}

/// Headers that every later message to a server carries.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerSession {
    /// Protocol version.
    pub(crate) version: String,
    /// `Mcp-Session-Id`, if the server has sessions.
    pub(crate) id: Option<HeaderValue>,
}

impl CachedServer {
    /// True if the answer came from this URL with this version of the secret.
    pub(crate) fn is_of(&self, version: i64, url: &str) -> bool {
        self.version == version && self.url == url
    }

    /// True if the answer need not be asked for again yet.
    pub(crate) fn is_fresh(&self, now: UnixMillis) -> bool {
        let lifetime = if self.answer.is_ok() { LISTED } else { FAILED };
        now < self.at.plus(lifetime)
    }
}

impl McpCache {
    /// Cache slot of one credential's server.
    pub(crate) fn slot(&self, id: CredentialId) -> ServerSlot {
        let mut servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if servers.len() >= MAX_SERVERS && !servers.contains_key(&id) {
            servers.clear();
        }
        Arc::clone(servers.entry(id).or_default())
    }
}
