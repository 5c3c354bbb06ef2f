//! Examination of the app and of channels. Nothing is posted or changed.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::api::ConversationInfo;
use super::settings::is_channel_id;
use super::{Bot, recipient};
use crate::notifications::channels::platform::DeliveryError;
use crate::runtime::chat_health::ChatHealth;

/// Longest time to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Description of what is not a channel's id.
const NOT_AN_ID: &str = "this is not the id of a channel: it begins with C or G and is at the end of the channel's \
                         details in Slack";
const NOT_A_MEMBER: &str = "the bot is not in the channel: invite it there with /invite";
const ARCHIVED: &str = "the channel is archived: unarchive it, or name another channel";

/// Problem of the bot, in words.
pub(super) async fn sign_in(bot: &Bot, net_private: &pyxis_net::Client) -> Option<String> {
    match timeout(TIMEOUT, bot.read::<Value>(net_private, "auth.test", &[])).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("Slack does not respond".to_owned()),
    }
}

/// Examines a channel.
pub(super) async fn examine(bot: &Bot, net_private: &pyxis_net::Client, room: &str) -> ChatHealth {
    let id = recipient(room);
    // A person or the chat with one. The bot may write there, and may not look.
    if id.starts_with(['U', 'W', 'D']) {
        return ChatHealth::Usable;
    }
    if !is_channel_id(id) {
        return ChatHealth::Unusable(NOT_AN_ID.to_owned());
    }
    let arguments = [("channel", id)];
    let looking = bot.read::<ConversationInfo>(net_private, "conversations.info", &arguments);
    match timeout(TIMEOUT, looking).await {
        Ok(Ok(found)) if found.channel.is_archived => ChatHealth::Unusable(ARCHIVED.to_owned()),
        Ok(Ok(found)) if !found.channel.is_member => ChatHealth::Unusable(NOT_A_MEMBER.to_owned()),
        Ok(Ok(_)) => ChatHealth::Usable,
        Ok(Err(DeliveryError::Refused(why))) => ChatHealth::Unusable(why),
        Ok(Err(DeliveryError::Moved(to))) => ChatHealth::Moved(to),
        Ok(Err(DeliveryError::Failed(_) | DeliveryError::Later(_))) | Err(_) => ChatHealth::Unknown,
    }
}
