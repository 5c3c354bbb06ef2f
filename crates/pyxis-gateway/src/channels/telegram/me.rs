//! Whether the bot can sign in.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::Bot;
use crate::state::State;

/// Longest time to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is wrong with the bot, in words; `None`: nothing, or this server has none.
pub async fn sign_in(state: &State) -> Option<String> {
    let bot = Bot::of(state)?;
    match timeout(PATIENCE, bot.call::<Value>(state, "getMe", &json!({}))).await {
        Ok(Ok(_)) => None,
        Ok(Err(trouble)) => Some(trouble.to_string()),
        Err(_) => Some("the Bot API does not answer".to_owned()),
    }
}
