//! Configuration set by the operator.

use std::path::PathBuf;
use std::time::Duration;

use pyxis_core::secret::SecretString;

/// Settings of the proxy.
#[derive(Clone, Debug)]
pub struct Config {
    /// Public origin, without a trailing slash.
    pub base_url: String,
    /// Approval window, unless the workspace or policy sets one.
    pub approval_timeout: Duration,
    /// Maximum wait for the first byte of an upstream response.
    pub forward_timeout: Duration,
    /// Time for which `/p/…` holds a request that needs approval, unless the request sets one.
    pub entrance_wait: Duration,
    /// Maximum silence within a streamed response.
    pub idle_timeout: Duration,
    /// Maximum size of a body stored for an approval, in bytes.
    pub pending_body_max: usize,
    /// Maximum size of a response stored for polling, in bytes.
    pub response_max: usize,
    /// Time for which a response is read for polling. Whatever has arrived by then is stored.
    pub response_time: Duration,
    /// Retention of bodies and responses after the decision.
    pub retention: Duration,
    /// True if this process is the only one on its database. After a start, no other process can then still be sending.
    pub sole_node: bool,
    /// File outside the database with the newest signed head of the audit log.
    pub anchor: Option<PathBuf>,
    /// Telegram bot, the first chat platform.
    pub telegram: Option<TelegramConfig>,
    /// Matrix bot, the second chat platform.
    pub matrix: Option<MatrixConfig>,
    /// Contact for push services. Default: the base URL.
    pub push_contact: Option<String>,
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
            response_time: Duration::from_mins(10),
            retention: Duration::from_hours(24),
            sole_node: true,
            anchor: None,
            telegram: None,
            matrix: None,
            push_contact: None,
        }
    }
}

/// Settings of the Telegram bot.
#[derive(Clone, Debug)]
pub struct TelegramConfig {
    /// Bot token.
    pub token: SecretString,
    /// Origin of the Bot API server, without a trailing slash.
    pub api_base: String,
    /// Secret of posted updates. If it is not set, updates are polled.
    pub webhook_secret: Option<SecretString>,
    /// Maximum duration of one poll.
    pub poll: Duration,
}

/// Settings of the Matrix bot.
#[derive(Clone, Debug)]
pub struct MatrixConfig {
    /// Origin of the homeserver, without a trailing slash.
    pub homeserver: String,
    /// Access token of the bot.
    pub token: SecretString,
}
