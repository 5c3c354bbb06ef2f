//! Settings of ntfy.

use pyxis_core::BoxError;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::secret::SecretString;

use crate::config::ChatSettings;
use crate::notifications::channels::settings::{SettingKey, SettingsSource, origin};

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "ntfy_topic",
        "",
        "Topic of workspaces and policies that name none: 1 to 64 letters, digits, `_` and `-`. Empty: no ntfy.",
    ),
    SettingKey::new("ntfy_url", "https://ntfy.sh", "Origin of the ntfy server."),
    SettingKey::new(
        "ntfy_token",
        "",
        "Access token of the ntfy server, if topics need one; or name a file with `PX_NTFY_TOKEN_FILE`.",
    ),
];

/// The rule that a topic's name must follow.
pub(super) const TOPIC_RULE: &str = "a topic has 1 to 64 letters, digits, _ and -";

/// Settings of ntfy. The default topic is the platform's default room.
#[derive(Clone, Debug)]
pub struct NtfyConfig {
    /// Origin of the server, without a trailing slash.
    pub server: String,
    /// Access token.
    pub token: Option<SecretString>,
}

pub(super) fn read(source: &dyn SettingsSource, chats: &mut ChatSettings) -> Result<(), BoxError> {
    let server = origin(source, "ntfy_url")?;
    let token = source.secret("ntfy_token")?;
    let readable = |token: &SecretString| token.expose().bytes().all(|byte| byte.is_ascii_graphic());
    if token.as_ref().is_some_and(|token| !readable(token)) {
        return Err("PX_NTFY_TOKEN: an access token has no blanks and no other special characters".into());
    }
    let topic = source.text("ntfy_topic")?;
    let topic = topic.trim();
    if topic.is_empty() {
        return Ok(());
    }
    if !is_topic(topic) {
        return Err(format!("PX_NTFY_TOPIC is {topic:?}: {TOPIC_RULE}").into());
    }
    chats.insert(NtfyConfig { server, token });
    chats.set_room(ChatPlatform::NTFY, Some(topic.to_owned()));
    Ok(())
}

pub(super) fn is_topic(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_one_segment_of_a_path() {
        for topic in ["a", "Approvals_9-x", &"a".repeat(64)] {
            assert!(is_topic(topic), "{topic}");
        }
        for topic in ["", "a/b", "a b", "..", "é", "a?x", &"a".repeat(65)] {
            assert!(!is_topic(topic), "{topic}");
        }
    }
}
