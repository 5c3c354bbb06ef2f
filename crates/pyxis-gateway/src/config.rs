//! Configuration set by the operator.

use std::path::PathBuf;
use std::time::Duration;

use http::Extensions;
use pyxis_core::chat::{ChatPlatform, Rooms};
use pyxis_http::client_ip::IpNet;
use pyxis_store::approvals::RoomLimits;

/// Settings of the proxy.
#[derive(Clone, Debug)]
pub struct Config {
    /// Public origin, without a trailing slash.
    pub base_url: String,
    /// Approval window, unless the workspace or policy sets one.
    pub approval_timeout: Duration,
    /// Maximum wait for the first byte of an upstream response.
    pub forward_timeout: Duration,
    /// Time that an MCP call waits for a person's decision.
    pub mcp_wait: Duration,
    /// Time for which `/p/…` holds a request that needs approval, unless the request sets one.
    pub entrance_wait: Duration,
    /// Maximum silence within a streamed response.
    pub idle_timeout: Duration,
    /// Maximum silence on a WebSocket, in both directions.
    pub websocket_idle: Duration,
    /// Maximum lifetime of a WebSocket.
    pub websocket_time: Duration,
    /// Maximum open WebSockets of this process.
    pub websockets_max: usize,
    /// Maximum open WebSockets of one agent in this process.
    pub agent_websockets_max: u32,
    /// Maximum size of a body stored for an approval, in bytes.
    pub pending_body_max: usize,
    /// Maximum memory for request bodies that are held whole, in bytes.
    pub held_bodies_max: usize,
    /// Maximum size of a response stored for polling, in bytes.
    pub response_max: usize,
    /// Limits on pending requests and kept bytes.
    pub room: RoomLimits,
    /// Time for which a response is read for polling. Whatever has arrived by then is stored.
    pub response_time: Duration,
    /// Retention of bodies and responses after the decision.
    pub retention: Duration,
    /// True if this process is the only one on its database. After a start, no other process can then still be sending.
    pub sole_node: bool,
    /// File outside the database with the newest signed head of the audit trail.
    pub anchor: Option<PathBuf>,
    /// Connected chat platforms.
    pub chats: ChatSettings,
    /// Contact for push services. Default: the base URL.
    pub push_contact: Option<String>,
    /// Proxies whose `X-Forwarded-For` counts.
    pub trusted_proxies: Vec<IpNet>,
    /// Origins besides the base URL's whose pages may call the MCP server, as browsers write them.
    pub mcp_origins: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_url: "http://localhost:8700".to_owned(),
            approval_timeout: Duration::from_hours(1),
            forward_timeout: Duration::from_secs(30),
            mcp_wait: Duration::from_secs(45),
            entrance_wait: Duration::from_mins(1),
            idle_timeout: Duration::from_mins(5),
            websocket_idle: Duration::from_mins(5),
            websocket_time: Duration::from_hours(24),
            websockets_max: 1000,
            agent_websockets_max: 100,
            pending_body_max: 10 * 1024 * 1024,
            held_bodies_max: 256 * 1024 * 1024,
            response_max: 10 * 1024 * 1024,
            room: RoomLimits { workspace_pending: 1000, agent_bytes: 1 << 30, workspace_bytes: 4 << 30 },
            response_time: Duration::from_mins(10),
            retention: Duration::from_hours(24),
            sole_node: true,
            anchor: None,
            chats: ChatSettings::default(),
            push_contact: None,
            trusted_proxies: Vec::new(),
            mcp_origins: Vec::new(),
        }
    }
}

/// Settings of connected chat platforms. Each is stored under its own type, which only the platform's folder knows.
#[derive(Clone, Debug, Default)]
pub struct ChatSettings {
    settings: Extensions,
    rooms: Rooms,
    /// Single messages of a room, person or browser within a minute; 0 for any number.
    digest_after: u32,
}

impl ChatSettings {
    /// Adds the settings of a platform.
    #[must_use]
    pub fn with_platform<T: Clone + Send + Sync + 'static>(mut self, settings: T) -> Self {
        self.insert(settings);
        self
    }

    /// Adds the settings of a platform.
    pub fn insert<T: Clone + Send + Sync + 'static>(&mut self, settings: T) {
        drop(self.settings.insert(settings));
    }

    /// The settings of a platform, if it is connected.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.settings.get()
    }

    /// True if no platform is connected.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// Sets the number of single messages of a room, person or browser within a minute; 0 for any number. The others are
    /// announced together.
    pub fn set_digest_after(&mut self, messages: u32) {
        self.digest_after = messages;
    }

    /// Number of single messages of a room, person or browser within a minute; 0 for any number.
    pub fn digest_after(&self) -> u32 {
        self.digest_after
    }

    /// Sets the operator's room of a platform.
    pub fn set_room(&mut self, platform: ChatPlatform, room: Option<String>) {
        self.rooms.set(platform, room);
    }

    /// The operator's room of a platform, for workspaces and policies that name none.
    pub fn room(&self, platform: ChatPlatform) -> Option<&str> {
        self.rooms.get(platform)
    }
}
