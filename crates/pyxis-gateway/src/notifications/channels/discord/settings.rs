//! Settings of the Discord application.

use pyxis_core::BoxError;
use pyxis_core::hex;
use pyxis_core::secret::SecretString;

use crate::config::ChatSettings;
use crate::notifications::channels::settings::{SettingKey, SettingsSource, origin};

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "discord_bot_token",
        "",
        "Token of the Discord bot; or name a file with `PX_DISCORD_BOT_TOKEN_FILE`. Empty: no Discord.",
    ),
    SettingKey::new("discord_application_id", "", "Id of the Discord application."),
    SettingKey::new(
        "discord_public_key",
        "",
        "Public key of the Discord application, 64 hex digits. Discord posts to `/discord/interactions` and signs with it.",
    ),
    SettingKey::new(
        "discord_channel",
        "",
        "Id of the channel that the first workspace uses until its managers choose one under *Notifications*.",
    ),
    SettingKey::new("discord_api_base", "https://discord.com", "Origin of Discord's REST API."),
];

/// Settings of the Discord application.
#[derive(Clone, Debug)]
pub struct DiscordConfig {
    pub bot_token: SecretString,
    pub application_id: String,
    /// Ed25519 key with which Discord signs.
    pub public_key: [u8; 32],
    /// Channel of the first workspace, if it has none.
    pub channel: Option<String>,
    /// Origin of the REST API, without a trailing slash.
    pub api_base: String,
}

pub(super) fn read(source: &dyn SettingsSource, chats: &mut ChatSettings) -> Result<(), BoxError> {
    let api_base = origin(source, "discord_api_base")?;
    let bot_token = source.secret("discord_bot_token")?;
    let application_id = id(source, "discord_application_id", "the id of the application")?;
    let channel = id(source, "discord_channel", "the id of a channel")?;
    let public_key = public_key(source)?;
    let Some(bot_token) = bot_token else {
        return Ok(());
    };
    let (Some(application_id), Some(public_key)) = (application_id, public_key) else {
        return Err("PX_DISCORD_BOT_TOKEN needs PX_DISCORD_APPLICATION_ID and PX_DISCORD_PUBLIC_KEY: copy \
                    both from General Information of the application"
            .into());
    };
    chats.insert(DiscordConfig { bot_token, application_id, public_key, channel, api_base });
    Ok(())
}

/// An id, if the setting has one.
fn id(source: &dyn SettingsSource, key: &'static str, noun: &str) -> Result<Option<String>, BoxError> {
    let text = source.text(key)?.trim().to_owned();
    if text.is_empty() {
        return Ok(None);
    }
    if is_id(&text) {
        return Ok(Some(text));
    }
    let variable = SettingKey::variable(key);
    Err(format!("{variable} is {text:?}: it must be {noun}, such as 1200000000000000001").into())
}

fn public_key(source: &dyn SettingsSource) -> Result<Option<[u8; 32]>, BoxError> {
    let text = source.text("discord_public_key")?;
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let key = hex::decode(text).and_then(|bytes| bytes.try_into().ok());
    let wrong =
        "PX_DISCORD_PUBLIC_KEY must be 64 hex digits: copy it from General Information of the application";
    Ok(Some(key.ok_or(wrong)?))
}

/// True for a Discord id: 15 to 20 digits.
pub(super) fn is_id(text: &str) -> bool {
    (15..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables that are set.
    struct Variables<'a>(&'a [(&'static str, &'a str)]);

    impl SettingsSource for Variables<'_> {
        fn text(&self, key: &'static str) -> Result<String, BoxError> {
            let default = KEYS.iter().find(|known| known.name == key).map(|known| known.default);
            let set = self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
            Ok(set.or(default).unwrap_or_default().to_owned())
        }

        fn secret(&self, key: &'static str) -> Result<Option<SecretString>, BoxError> {
            let set = self.0.iter().find(|(name, _)| *name == key);
            Ok(set.map(|(_, value)| SecretString::new((*value).to_owned())))
        }
    }

    fn load(variables: &[(&'static str, &str)]) -> Result<Option<DiscordConfig>, BoxError> {
        let mut chats = ChatSettings::default();
        read(&Variables(variables), &mut chats)?;
        Ok(chats.get::<DiscordConfig>().cloned())
    }

    const TOKEN: (&str, &str) = ("discord_bot_token", "very-secret");
    const APPLICATION: (&str, &str) = ("discord_application_id", "1100000000000000001");

    #[test]
    fn a_bot_needs_an_application_and_its_key() {
        let digits = "0f".repeat(32);
        let key = ("discord_public_key", digits.as_str());
        assert!(load(&[APPLICATION, key]).unwrap().is_none());
        let found = load(&[TOKEN, APPLICATION, key]).unwrap().unwrap();
        assert_eq!((found.public_key, found.channel.as_deref()), ([15; 32], None));
        assert_eq!(found.api_base, "https://discord.com");
        assert!(!format!("{found:?}").contains("very-secret"));
        for lacking in [&[TOKEN][..], &[TOKEN, APPLICATION], &[TOKEN, key]] {
            let error = load(lacking).map(drop).unwrap_err().to_string();
            assert!(error.contains("PX_DISCORD_PUBLIC_KEY") && !error.contains("very-secret"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_right_is_refused_by_its_name() {
        for (key, value) in [
            ("discord_application_id", "pyxis"),
            ("discord_public_key", "0f0f"),
            ("discord_public_key", "not hex"),
            ("discord_channel", "#ops"),
            ("discord_channel", "@1200000000000000001"),
            ("discord_api_base", "discord.com"),
        ] {
            let error = load(&[(key, value)]).map(drop).unwrap_err().to_string();
            assert!(error.contains(&SettingKey::variable(key)), "{key}: {error}");
        }
    }
}
