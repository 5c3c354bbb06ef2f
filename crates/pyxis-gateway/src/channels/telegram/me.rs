//! Whether the bot can sign in, and reach a chat.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::Bot;
use crate::channels::platform::DeliveryError;
use crate::runtime::state::State;

/// Longest time to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is wrong with the bot, in words; `None`: nothing.
pub(super) async fn sign_in(bot: &Bot, state: &State) -> Option<String> {
    match timeout(PATIENCE, bot.call::<Value>(state, "getMe", &json!({}))).await {
        Ok(Ok(_)) => None,
        Ok(Err(trouble)) => Some(trouble.to_string()),
        Err(_) => Some("the Bot API does not answer".to_owned()),
    }
}

/// What is wrong with a chat, in words; `None`: nothing, or the Bot API does not say.
pub(super) async fn examine(bot: &Bot, state: &State, chat: &str) -> Option<String> {
    match timeout(PATIENCE, bot.call::<Value>(state, "getChat", &json!({ "chat_id": chat }))).await {
        Ok(Err(DeliveryError::Refused(why))) => {
            Some(format!("the bot cannot write there: add it to the group, or name another chat ({why})"))
        }
        Ok(Err(trouble @ DeliveryError::Moved(_))) => Some(trouble.to_string()),
        Ok(Ok(_) | Err(DeliveryError::Failed(_) | DeliveryError::Later(_))) | Err(_) => None,
    }
}
