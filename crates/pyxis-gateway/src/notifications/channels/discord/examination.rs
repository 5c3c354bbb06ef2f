//! Examination of the application and of channels. Nothing is posted or changed.

use std::time::Duration;

use http::Method;
use pyxis_core::hex;
use tokio::time::timeout;

use super::api::{Application, Channel, segment};
use super::settings::is_id;
use super::{Bot, PATH, person_of};
use crate::notifications::channels::platform::DeliveryError;
use crate::runtime::chat_health::ChatHealth;

/// Longest time to wait for a response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Kinds of channels that have no messages of their own: a category, a directory, a forum and a media channel.
const WITHOUT_MESSAGES: [u8; 4] = [4, 14, 15, 16];

const NOT_AN_ID: &str = "this is not the id of a channel: it has only digits. In Discord, turn on developer \
                         mode and choose Copy Channel ID";
const NO_MESSAGES: &str = "the channel has no messages of its own: name a text channel";

/// Problem of the bot as a sentence, if there is one.
pub(super) async fn sign_in(bot: &Bot, net_private: &pyxis_net::Client) -> Option<String> {
    let looking = bot.call::<Application>(net_private, Method::GET, "applications/@me", None);
    match timeout(TIMEOUT, looking).await {
        Ok(Ok(found)) => problem(bot, &found),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("Discord does not respond".to_owned()),
    }
}

/// Difference between the application and the settings.
fn problem(bot: &Bot, found: &Application) -> Option<String> {
    if found.id != bot.config.application_id {
        return Some(format!(
            "the token belongs to another application: set PX_DISCORD_APPLICATION_ID to {}",
            found.id
        ));
    }
    if hex::decode(&found.verify_key).as_deref() != Some(&bot.config.public_key[..]) {
        return Some("PX_DISCORD_PUBLIC_KEY is not the public key of the application".to_owned());
    }
    if found.interactions_endpoint_url.as_deref().unwrap_or_default().is_empty() {
        let url = format!("{}{PATH}", bot.base_url);
        return Some(format!(
            "buttons do nothing yet: enter {url} as Interactions Endpoint URL of the application"
        ));
    }
    None
}

/// Examines a channel.
pub(super) async fn examine(bot: &Bot, net_private: &pyxis_net::Client, room: &str) -> ChatHealth {
    // Nothing can be read about direct messages without opening them.
    if person_of(room).is_some_and(is_id) {
        return ChatHealth::Usable;
    }
    if !is_id(room) {
        return ChatHealth::Unusable(NOT_AN_ID.to_owned());
    }
    let path = format!("channels/{}", segment(room));
    match timeout(TIMEOUT, bot.call::<Channel>(net_private, Method::GET, &path, None)).await {
        Ok(Ok(found)) if WITHOUT_MESSAGES.contains(&found.kind) => {
            ChatHealth::Unusable(NO_MESSAGES.to_owned())
        }
        Ok(Ok(_)) => ChatHealth::Usable,
        Ok(Err(DeliveryError::Refused(why))) => ChatHealth::Unusable(why),
        Ok(Err(DeliveryError::Moved(to))) => ChatHealth::Moved(to),
        Ok(Err(DeliveryError::Failed(_) | DeliveryError::Later(_))) | Err(_) => ChatHealth::Unknown,
    }
}
