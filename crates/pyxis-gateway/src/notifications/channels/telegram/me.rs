//! Whether the bot can sign in, and reach a chat.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::Bot;
use crate::notifications::channels::platform::DeliveryError;
use crate::runtime::chat_health::ChatHealth;

/// Longest time to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What is wrong with the bot, in words; `None`: nothing.
pub(super) async fn sign_in(bot: &Bot, net_private: &pyxis_net::Client) -> Option<String> {
    match timeout(TIMEOUT, bot.call::<Value>(net_private, "getMe", &json!({}))).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("the Bot API does not respond".to_owned()),
    }
}

pub(super) async fn examine(bot: &Bot, net_private: &pyxis_net::Client, chat: &str) -> ChatHealth {
    match timeout(TIMEOUT, bot.call::<Value>(net_private, "getChat", &json!({ "chat_id": chat }))).await {
        Ok(Ok(_)) => ChatHealth::Usable,
        Ok(Err(DeliveryError::Refused(why))) => ChatHealth::Unusable(format!(
            "the bot cannot write to the chat: add it to the group, or set another chat ({why})"
        )),
        Ok(Err(DeliveryError::Moved(to))) => ChatHealth::Moved(to),
        Ok(Err(DeliveryError::Failed(_) | DeliveryError::Later(_))) | Err(_) => ChatHealth::Unknown,
    }
}
