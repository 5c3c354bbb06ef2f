//! Settings of the Telegram bot.

use std::time::Duration;

use pyxis_core::BoxError;
use pyxis_core::secret::SecretString;

use crate::config::ChatSettings;
use crate::notifications::channels::settings::{SettingKey, SettingsSource, number, origin};

/// Longest poll that Telegram allows, in seconds.
const LONGEST_POLL: u64 = 50;

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "telegram_bot_token",
        "",
        "Token of the Telegram bot, the first chat channel; or name a file with `PX_TELEGRAM_BOT_TOKEN_FILE`. Empty: no Telegram.",
    ),
    SettingKey::new("telegram_api_base", "https://api.telegram.org", "Origin of the Bot API server."),
    SettingKey::new(
        "telegram_webhook_secret",
        "",
        "With it, Telegram posts updates to `/telegram/webhook` and must send this secret: 16 to 256 letters, digits, `_` or `-`. Empty: Pyxis polls for updates.",
    ),
    SettingKey::new("telegram_poll_secs", "30", "Seconds that one poll for Telegram updates waits."),
];

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

pub(super) fn read(source: &dyn SettingsSource, chats: &mut ChatSettings) -> Result<(), BoxError> {
    let api_base = origin(source, "telegram_api_base")?;
    let webhook_secret = source.secret("telegram_webhook_secret")?;
    if webhook_secret.as_ref().is_some_and(|secret| !is_webhook_secret(secret.expose())) {
        return Err("PX_TELEGRAM_WEBHOOK_SECRET: 16 to 256 letters, digits, _ or -".into());
    }
    let poll = number(source, "telegram_poll_secs")?;
    if !(1..=LONGEST_POLL).contains(&poll) {
        return Err(format!("PX_TELEGRAM_POLL_SECS: from 1 to {LONGEST_POLL}").into());
    }
    let poll = Duration::from_secs(poll);
    if let Some(token) = source.secret("telegram_bot_token")? {
        chats.insert(TelegramConfig { token, api_base, webhook_secret, poll });
    }
    Ok(())
}

fn is_webhook_secret(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (16..=256).contains(&text.len()) && text.bytes().all(known)
}
