//! Settings of the chat channels and of push notifications.

use anyhow::{Result, bail};
use pyxis_core::BoxError;
use pyxis_core::secret::SecretString;
use pyxis_gateway::ChatSettings;
use pyxis_gateway::admin::push::contact;
use pyxis_gateway::channels::read_settings;
use pyxis_gateway::channels::settings::SettingsSource;

use super::SettingSources;
use super::env::Env;

/// Largest number of single messages.
const DIGEST_AFTER_MAX: u32 = 1000;

/// Settings of chats and push notifications.
#[derive(Clone, Debug)]
pub struct Chats {
    /// Connected chat platforms.
    pub platforms: ChatSettings,
    /// Contact for push services.
    pub push_contact: Option<String>,
}

impl Chats {
    /// Everything is read, so that an invalid value refuses to start even if it is not used.
    pub(super) fn read(source: &SettingSources<'_, impl Env>) -> Result<Self> {
        let mut platforms = read_settings(source).map_err(anyhow::Error::from_boxed)?;
        platforms.set_digest_after(digest_after(&source.text("chat_digest_after")?)?);
        Ok(Self { platforms, push_contact: push_contact(&source.text("push_contact")?)? })
    }
}

impl<E: Env> SettingsSource for SettingSources<'_, E> {
    fn text(&self, key: &'static str) -> Result<String, BoxError> {
        Ok(SettingSources::text(self, key)?)
    }

    fn secret(&self, key: &'static str) -> Result<Option<SecretString>, BoxError> {
        Ok(SettingSources::secret(self, key)?)
    }
}

fn digest_after(text: &str) -> Result<u32> {
    let text = text.trim();
    match text.parse() {
        Ok(messages) if messages <= DIGEST_AFTER_MAX => Ok(messages),
        _ => bail!("PX_CHAT_DIGEST_AFTER is {text:?}: write a whole number, 0 to {DIGEST_AFTER_MAX}"),
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
