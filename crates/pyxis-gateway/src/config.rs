//! What an operator sets.

use std::path::PathBuf;
use std::time::Duration;

use pyxis_core::secret::SecretString;

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
    /// How long an answer is read to be kept for polling: what has come by then is kept.
    pub response_time: Duration,
    /// How long bodies and answers are kept after the decision.
    pub retention: Duration,
    /// True if this process is the only one on its database, so that after a start no other can
    /// still be sending.
    pub sole_node: bool,
    /// File outside the database that keeps the newest signed head of the audit trail.
    pub anchor: Option<PathBuf>,
    /// The bot of the first chat platform.
    pub telegram: Option<TelegramConfig>,
    /// The bot of the second.
    pub matrix: Option<MatrixConfig>,
    /// Contact for push services; without one, the base URL.
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
    /// The bot's token.
    pub token: SecretString,
    /// Origin of the Bot API server, without a trailing slash.
    pub api_base: String,
    /// With it, updates are posted to us and must carry it; without it, they are polled for.
    pub webhook_secret: Option<SecretString>,
    /// How long one poll waits for an update.
    pub poll: Duration,
}

/// Settings of the Matrix bot.
#[derive(Clone, Debug)]
pub struct MatrixConfig {
    /// Origin of the homeserver, without a trailing slash.
    pub homeserver: String,
    /// The bot's access token.
    pub token: SecretString,
}
