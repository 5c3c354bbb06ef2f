//! Settings of the chat channels.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use pyxis_gateway::admin::push::contact;
use pyxis_gateway::{MatrixConfig, TelegramConfig};

use super::Source;
use super::env::Env;

/// Longest poll that Telegram allows, in seconds.
const LONGEST_POLL: u64 = 50;

/// The bots.
#[derive(Clone, Debug)]
pub struct Chats {
    /// Telegram.
    pub telegram: Option<TelegramConfig>,
    /// Matrix.
    pub matrix: Option<MatrixConfig>,
    /// Contact for push services.
    pub push_contact: Option<String>,
}

impl Chats {
    /// Everything is read, so that an invalid value refuses to start even if it is not used.
    pub(super) fn read(source: &Source<'_, impl Env>) -> Result<Self> {
        Ok(Self {
            telegram: telegram(source)?,
            matrix: matrix(source)?,
            push_contact: push_contact(&source.text("push_contact")?)?,
        })
    }
}

fn push_contact(text: &str) -> Result<Option<String>> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    if let Err(wrong) = contact::check(text) {
        bail!("PX_PUSH_CONTACT: {text:?}: {wrong}");
    }
    Ok(Some(text.to_owned()))
}

fn telegram(source: &Source<'_, impl Env>) -> Result<Option<TelegramConfig>> {
    let api_base = origin(&source.text("telegram_api_base")?).context("PX_TELEGRAM_API_BASE")?;
    let webhook_secret = source.secret("telegram_webhook_secret")?;
    if webhook_secret.as_ref().is_some_and(|secret| !is_webhook_secret(secret.expose())) {
        bail!("PX_TELEGRAM_WEBHOOK_SECRET: 16 to 256 letters, digits, _ or -");
    }
    let poll: u64 = source.parsed("telegram_poll_secs")?;
    if !(1..=LONGEST_POLL).contains(&poll) {
        bail!("PX_TELEGRAM_POLL_SECS: from 1 to {LONGEST_POLL}");
    }
    let token = source.secret("telegram_bot_token")?;
    let poll = Duration::from_secs(poll);
    Ok(token.map(|token| TelegramConfig { token, api_base, webhook_secret, poll }))
}

fn is_webhook_secret(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (16..=256).contains(&text.len()) && text.bytes().all(known)
}

fn matrix(source: &Source<'_, impl Env>) -> Result<Option<MatrixConfig>> {
    let homeserver = source.text("matrix_homeserver")?;
    let token = source.secret("matrix_access_token")?;
    if homeserver.trim().is_empty() {
        return Ok(None);
    }
    let homeserver = origin(&homeserver).context("PX_MATRIX_HOMESERVER")?;
    let token = token.context("PX_MATRIX_HOMESERVER needs PX_MATRIX_ACCESS_TOKEN")?;
    Ok(Some(MatrixConfig { homeserver, token }))
}

/// An http or https origin, without a trailing slash.
fn origin(text: &str) -> Result<String> {
    let text = text.trim().trim_end_matches('/');
    let uri: Option<http::Uri> = text.parse().ok();
    let scheme = uri.as_ref().and_then(http::Uri::scheme_str);
    if matches!(scheme, Some("http" | "https")) && uri.as_ref().is_some_and(|uri| uri.host().is_some()) {
        return Ok(text.to_owned());
    }
    bail!("an http or https address: {text}")
}
