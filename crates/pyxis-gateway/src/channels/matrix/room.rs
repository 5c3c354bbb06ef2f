//! Whether the bot can work in a room, before anybody waits for a message there.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::{Bot, api};
use crate::channels::outbox::Trouble;
use crate::state::State;

/// What is said of a room that is encrypted.
pub const ENCRYPTED: &str = "the room is encrypted, where the bot reads nothing and is read by nobody; \
                             encryption cannot be taken back, so make another room without it and invite the bot";
/// Longest time that somebody who saves a setting waits.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Resolved {
    room_id: String,
}

/// What is wrong with a room, in words; `None`: nothing, or this server has no bot, or the homeserver does
/// not say. With `enter` the bot tries to join it first.
pub async fn examine(state: &State, room: &str, enter: bool) -> Option<String> {
    let bot = Bot::of(state)?;
    let looking = async {
        let id = if enter { bot.enter(state, room).await? } else { bot.resolve(state, room).await? };
        bot.is_encrypted(state, &id).await
    };
    match timeout(PATIENCE, looking).await {
        Ok(Ok(true)) => Some(ENCRYPTED.to_owned()),
        Ok(Err(Trouble::Refused(why))) => {
            Some(format!("the bot cannot work in the room: invite it there first ({why})"))
        }
        Ok(Ok(false) | Err(Trouble::Failed(_) | Trouble::Later(_))) | Err(_) => None,
    }
}

/// What is wrong with the bot itself, in words.
pub async fn sign_in(state: &State) -> Option<String> {
    let bot = Bot::of(state)?;
    let asked = bot.get::<api::WhoAmI>(state, "account/whoami", Duration::ZERO);
    match timeout(PATIENCE, asked).await {
        Ok(Ok(_)) => None,
        Ok(Err(trouble)) => Some(trouble.to_string()),
        Err(_) => Some("the homeserver does not answer".to_owned()),
    }
}

impl Bot {
    /// Whether a room that the bot is in is encrypted.
    pub(super) async fn is_encrypted(&self, state: &State, room: &str) -> Result<bool, Trouble> {
        let path = format!("rooms/{}/state/m.room.encryption", api::segment(room));
        Ok(self.find::<Value>(state, &path).await?.is_some())
    }

    /// The id of a room, which may be called by an alias.
    async fn resolve(&self, state: &State, room: &str) -> Result<String, Trouble> {
        if !room.starts_with('#') {
            return Ok(room.to_owned());
        }
        let path = format!("directory/room/{}", api::segment(room));
        let found: Option<Resolved> = self.find(state, &path).await?;
        found.map(|found| found.room_id).ok_or_else(|| Trouble::Refused("no room has this alias".to_owned()))
    }
}
