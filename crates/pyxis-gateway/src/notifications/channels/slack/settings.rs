//! Settings of the Slack app.

use pyxis_core::BoxError;
use pyxis_core::secret::SecretString;

use crate::config::ChatSettings;
use crate::notifications::channels::settings::{SettingKey, SettingsSource, origin};

/// Slack's own origin.
const SLACK: &str = "https://slack.com";

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "slack_bot_token",
        "",
        "Bot token of the Slack app (`xoxb-`); or name a file with `PX_SLACK_BOT_TOKEN_FILE`. Empty: no Slack.",
    ),
    SettingKey::new(
        "slack_app_token",
        "",
        "App-level token of the Slack app (`xapp-`) with the scope `connections:write`, for Socket Mode. Pyxis then needs no public address.",
    ),
    SettingKey::new(
        "slack_signing_secret",
        "",
        "Signing secret of the Slack app. With it, Slack posts to `/slack/events` and must sign its requests. Not needed in Socket Mode.",
    ),
    SettingKey::new(
        "slack_channel",
        "",
        "Id of the channel that the first workspace uses until its managers choose one under *Notifications*.",
    ),
    SettingKey::new("slack_api_base", SLACK, "Origin of Slack's Web API."),
];

/// Settings of the Slack app.
#[derive(Clone, Debug)]
pub struct SlackConfig {
    pub bot_token: SecretString,
    /// App-level token. If it is set, a WebSocket brings what people do.
    pub app_token: Option<SecretString>,
    /// Signing secret. If it is set, Slack may post what people do.
    pub signing_secret: Option<SecretString>,
    /// Channel of the first workspace, if it has none.
    pub channel: Option<String>,
    /// Origin of the Web API, without a trailing slash.
    pub api_base: String,
}

impl SlackConfig {
    /// True if this is Slack itself, which is on the public internet.
    pub(super) fn is_public(&self) -> bool {
        self.api_base == SLACK
    }
}

pub(super) fn read(source: &dyn SettingsSource, chats: &mut ChatSettings) -> Result<(), BoxError> {
    let api_base = origin(source, "slack_api_base")?;
    let app_token = source.secret("slack_app_token")?;
    let signing_secret = source.secret("slack_signing_secret")?;
    let bot_token = source.secret("slack_bot_token")?;
    let channel = source.text("slack_channel")?;
    let channel = Some(channel.trim().to_owned()).filter(|channel| !channel.is_empty());
    if let Some(channel) = channel.as_deref().filter(|channel| !is_channel_id(channel)) {
        return Err(format!(
            "PX_SLACK_CHANNEL is {channel:?}: it must be a channel's id, such as C0123456789"
        )
        .into());
    }
    check_prefix("PX_SLACK_APP_TOKEN", app_token.as_ref(), "xapp-")?;
    check_prefix("PX_SLACK_BOT_TOKEN", bot_token.as_ref(), "xoxb-")?;
    let Some(bot_token) = bot_token else {
        return Ok(());
    };
    if app_token.is_none() && signing_secret.is_none() {
        return Err(
            "PX_SLACK_BOT_TOKEN needs PX_SLACK_APP_TOKEN (Socket Mode) or PX_SLACK_SIGNING_SECRET".into()
        );
    }
    chats.insert(SlackConfig { bot_token, app_token, signing_secret, channel, api_base });
    Ok(())
}

/// True for the id of a channel, public or private.
pub(super) fn is_channel_id(text: &str) -> bool {
    text.starts_with(['C', 'G'])
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Tokens of different kinds are easily confused, and each shows its kind.
fn check_prefix(variable: &str, token: Option<&SecretString>, prefix: &str) -> Result<(), BoxError> {
    match token {
        Some(token) if !token.expose().starts_with(prefix) => {
            Err(format!("{variable} must start with {prefix}: copy the other token of the Slack app").into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables that are set.
    struct Variables<'a>(&'a [(&'static str, &'a str)]);

    impl Variables<'_> {
        fn value(&self, key: &str) -> Option<String> {
            self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned())
        }
    }

    impl SettingsSource for Variables<'_> {
        fn text(&self, key: &'static str) -> Result<String, BoxError> {
            let default = KEYS.iter().find(|known| known.name == key).map(|known| known.default.to_owned());
            Ok(self.value(key).or(default).unwrap_or_default())
        }

        fn secret(&self, key: &'static str) -> Result<Option<SecretString>, BoxError> {
            Ok(self.value(key).map(SecretString::new))
        }
    }

    fn load(variables: &[(&'static str, &str)]) -> Result<Option<SlackConfig>, BoxError> {
        let mut chats = ChatSettings::default();
        read(&Variables(variables), &mut chats)?;
        Ok(chats.get::<SlackConfig>().cloned())
    }

    #[test]
    fn an_app_needs_a_bot_and_a_way_to_hear_what_people_do() {
        let bot = ("slack_bot_token", "xoxb-very-secret");
        assert!(load(&[("slack_app_token", "xapp-1")]).unwrap().is_none());
        let socket =
            load(&[bot, ("slack_app_token", "xapp-1"), ("slack_channel", " C0OPS ")]).unwrap().unwrap();
        assert_eq!((socket.channel.as_deref(), socket.api_base.as_str()), (Some("C0OPS"), SLACK));
        assert!(socket.is_public() && socket.signing_secret.is_none());
        assert!(!format!("{socket:?}").contains("very-secret"));
        let signed = load(&[bot, ("slack_signing_secret", "s")]).unwrap().unwrap();
        assert!(signed.app_token.is_none() && signed.channel.is_none());
    }

    #[test]
    fn what_cannot_be_right_is_refused_by_its_name_and_without_its_secret() {
        for (key, value) in [
            ("slack_bot_token", "xoxb-very-secret"),
            ("slack_bot_token", "xapp-very-secret"),
            ("slack_app_token", "xoxb-very-secret"),
            ("slack_channel", "#ops"),
            ("slack_api_base", "slack.com"),
        ] {
            let error = load(&[(key, value)]).map(drop).unwrap_err().to_string();
            assert!(error.contains(&SettingKey::variable(key)), "{key}: {error}");
            assert!(!error.contains("very-secret"), "{error}");
        }
    }
}
