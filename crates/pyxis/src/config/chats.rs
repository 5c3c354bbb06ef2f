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
        Ok(Self {
            platforms: read_settings(source).map_err(anyhow::Error::from_boxed)?,
            push_contact: push_contact(&source.text("push_contact")?)?,
        })
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
