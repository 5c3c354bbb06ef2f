//! Settings of webhook cards.

use std::collections::BTreeMap;

use pyxis_core::BoxError;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::secret::SecretString;

use crate::config::ChatSettings;
use crate::notifications::channels::endpoints::{Endpoints, default_of, read_secrets};
use crate::notifications::channels::settings::{SettingKey, SettingsSource};

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "card_webhooks",
        "",
        "Endpoints of webhook cards, one `NAME=URL` per line; or name a file with `PX_CARD_WEBHOOKS_FILE`. Policies \
         name them, and the URLs are secrets. Empty: no webhook cards.",
    ),
    SettingKey::new(
        "card_signing_secrets",
        "",
        "Secrets that sign the cards, one `NAME=SECRET` of 16 characters or more for each endpoint; or name a file \
         with `PX_CARD_SIGNING_SECRETS_FILE`.",
    ),
    SettingKey::new(
        "card_endpoint",
        "",
        "Name of the endpoint for workspaces and policies that name none. Empty: no messages for them.",
    ),
];

/// Shortest signing secret, in bytes.
const SECRET_MIN: usize = 16;

/// Settings of webhook cards.
#[derive(Clone, Debug)]
pub struct CardConfig {
    pub endpoints: Endpoints,
    /// Signing secret of each endpoint. No two receivers share one, so none can pass its card off as another's.
    pub secrets: BTreeMap<String, SecretString>,
}

impl CardConfig {
    pub(super) fn secret(&self, name: &str) -> Option<&SecretString> {
        self.secrets.get(name)
    }
}

pub(super) fn read(source: &dyn SettingsSource, chats: &mut ChatSettings) -> Result<(), BoxError> {
    let endpoints = Endpoints::read(source, "card_webhooks")?;
    let secrets = read_secrets(source, "card_signing_secrets")?;
    if let Some((name, _)) = secrets.iter().find(|(_, secret)| secret.expose().len() < SECRET_MIN) {
        return Err(format!("PX_CARD_SIGNING_SECRETS: `{name}`: use at least {SECRET_MIN} characters").into());
    }
    let default = default_of(source, "card_endpoint", &endpoints)?;
    if endpoints.is_empty() {
        return Ok(());
    }
    if let Some(name) = endpoints.names().find(|name| !secrets.contains_key(*name)) {
        let lacking = format!("PX_CARD_WEBHOOKS: `{name}` has no secret: add `{name}=SECRET` to");
        return Err(format!("{lacking} PX_CARD_SIGNING_SECRETS").into());
    }
    if let Some((name, _)) = secrets.iter().find(|(name, _)| !endpoints.names().any(|known| known == *name)) {
        return Err(format!("PX_CARD_SIGNING_SECRETS: {}", endpoints.unknown(name)).into());
    }
    if let Some(name) = default {
        chats.set_room(ChatPlatform::CARD, Some(name));
    }
    chats.insert(CardConfig { endpoints, secrets });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings by name.
    struct Map(&'static [(&'static str, &'static str)]);

    impl SettingsSource for Map {
        fn text(&self, key: &'static str) -> Result<String, BoxError> {
            let found = self.0.iter().find(|(name, _)| *name == key);
            Ok(found.map(|(_, value)| (*value).to_owned()).unwrap_or_default())
        }

        fn secret(&self, key: &'static str) -> Result<Option<SecretString>, BoxError> {
            let text = self.text(key)?;
            Ok((!text.is_empty()).then(|| SecretString::new(text)))
        }
    }

    const URL: (&str, &str) = ("card_webhooks", "pager=https://h.example/S3CRET");
    const SIGNED: (&str, &str) = ("card_signing_secrets", "pager=0123456789abcdef");

    #[test]
    fn every_endpoint_has_a_secret_of_its_own() {
        let mut chats = ChatSettings::default();
        read(&Map(&[URL, SIGNED, ("card_endpoint", "pager")]), &mut chats).unwrap();
        assert_eq!(chats.room(ChatPlatform::CARD), Some("pager"));
        let shown = format!("{chats:?} {:?}", chats.get::<CardConfig>());
        assert!(!shown.contains("S3CRET") && !shown.contains("0123456789abcdef"), "{shown}");
    }

    #[test]
    fn a_wrong_setting_says_what_to_do_and_no_secret() {
        for (settings, says) in [
            (&[URL][..], "`pager` has no secret: add `pager=SECRET` to PX_CARD_SIGNING_SECRETS"),
            (&[URL, ("card_signing_secrets", "pager=S3CRET")], "`pager`: use at least 16 characters"),
            (
                &[URL, ("card_signing_secrets", "pager=0123456789abcdef x=S3CRET-56789abcdef")],
                "known names: pager",
            ),
            (
                &[URL, SIGNED, ("card_endpoint", "pagr")],
                "PX_CARD_ENDPOINT: no endpoint has the name \"pagr\"",
            ),
            (&[("card_webhooks", "https://h.example/S3CRET")], "PX_CARD_WEBHOOKS: entry 1 is not NAME=URL"),
        ] {
            let error = read(&Map(settings), &mut ChatSettings::default()).unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains("S3CRET"), "{error}");
        }
    }
}
