//! Whether the bot can work in a room, before anybody waits for a message there.

use std::collections::HashMap;
use std::time::Duration;

use pyxis_core::chat::ChatPlatform;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::{Bot, api};
use crate::error::Error;
use crate::notifications::channels::moves;
use crate::notifications::channels::platform::DeliveryError;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;

/// What is said of a room that is encrypted.
pub(super) const ENCRYPTED: &str = "the room is encrypted, so the bot cannot read messages or be read there; \
                             encryption cannot be turned off, so create an unencrypted room and invite the bot";
/// Description of a room where the bot's power level is too low.
const MUTED: &str = "the bot may not post in the room: give it the power level for sending messages";
/// Longest time that somebody who saves a setting waits.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Most upgrades that are followed at once.
const MOVES: usize = 8;

#[derive(Deserialize)]
struct Resolved {
    room_id: String,
}

/// Examines a room. With `enter` the bot tries to join it first.
pub(super) async fn examine(
    bot: &Bot,
    net_private: &pyxis_net::Client,
    room: &str,
    enter: bool,
) -> ChatHealth {
    let looking = async {
        let id = if enter {
            bot.join_room(net_private, room).await?
        } else {
            bot.resolve(net_private, room).await?
        };
        if !enter && !bot.is_in(net_private, &id).await? {
            return Err(DeliveryError::Refused("it is not in the room".to_owned()));
        }
        if let Some(to) = bot.replacement(net_private, &id).await? {
            return Err(DeliveryError::Moved(to.room));
        }
        if !bot.may_post(net_private, &id).await? {
            return Ok(Some(MUTED));
        }
        Ok(bot.is_encrypted(net_private, &id).await?.then_some(ENCRYPTED))
    };
    match timeout(TIMEOUT, looking).await {
        Ok(Ok(None)) => ChatHealth::Usable,
        Ok(Ok(Some(why))) => ChatHealth::Unusable(why.to_owned()),
        Ok(Err(error)) => health(error),
        Err(_) => ChatHealth::Unknown,
    }
}

fn health(error: DeliveryError) -> ChatHealth {
    match error {
        DeliveryError::Refused(why) => {
            ChatHealth::Unusable(format!("the bot cannot use the room: invite it there first ({why})"))
        }
        DeliveryError::Moved(to) => ChatHealth::Moved(to),
        DeliveryError::Failed(_) | DeliveryError::Later(_) => ChatHealth::Unknown,
    }
}

/// Changes the settings that name an upgraded room. `None` once they do; otherwise the reason that they do not yet.
pub(super) async fn follow_upgrade(
    bot: &Bot,
    state: &State,
    room: &str,
) -> Result<Option<ChatHealth>, Error> {
    let id = match bot.resolve(&state.net_private, room).await {
        Ok(id) => id,
        Err(error) => return Ok(Some(health(error))),
    };
    Ok(match bot.follow(state, &id).await? {
        // It names the new room, and says what to do.
        Some(DeliveryError::Refused(why)) => Some(ChatHealth::Unusable(why)),
        error => error.map(health),
    })
}

/// What is wrong with the bot itself, in words.
pub(super) async fn sign_in(bot: &Bot, net_private: &pyxis_net::Client) -> Option<String> {
    let asked = bot.get::<api::WhoAmI>(net_private, "account/whoami", Duration::ZERO);
    match timeout(TIMEOUT, asked).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("the homeserver does not respond".to_owned()),
    }
}

/// The room that takes the place of one that was upgraded.
pub(super) struct Replacement {
    room: String,
    /// The server of the person who upgraded it, which knows the new room.
    server: Option<String>,
}

#[derive(Deserialize)]
struct Tombstone {
    replacement_room: Option<String>,
}

#[derive(Deserialize)]
struct Rooms {
    joined_rooms: Vec<String>,
}

/// Power levels, as numbers or, in early versions of rooms, as text.
#[derive(Deserialize)]
struct PowerLevels {
    #[serde(default)]
    events: HashMap<String, Value>,
    #[serde(default)]
    events_default: Value,
    #[serde(default)]
    users: HashMap<String, Value>,
    #[serde(default)]
    users_default: Value,
}

impl PowerLevels {
    /// True unless messages need a higher level than this user has.
    fn allow(&self, user: &str) -> bool {
        let level = |value: &Value| match value {
            Value::String(text) => text.trim().parse().unwrap_or(0),
            value => value.as_i64().unwrap_or(0),
        };
        let own = level(self.users.get(user).unwrap_or(&self.users_default));
        own >= level(self.events.get("m.room.message").unwrap_or(&self.events_default))
    }
}

impl Bot {
    /// The room that the room's own state says has taken its place. Only who may change the state of a room can say so:
    /// a message that looks alike is no state.
    async fn replacement(
        &self,
        net_private: &pyxis_net::Client,
        room: &str,
    ) -> Result<Option<Replacement>, DeliveryError> {
        let path = format!("rooms/{}/state/m.room.tombstone", api::segment(room));
        let found: Option<Tombstone> = self.find(net_private, &path).await?;
        let named =
            found.and_then(|found| found.replacement_room).filter(|to| to.starts_with('!') && to != room);
        let server = room.split_once(':').map(|(_, server)| server.to_owned());
        Ok(named.map(|room| Replacement { room, server }))
    }

    /// The last of the rooms that took the place of one another, which the bot has joined when this returns.
    pub(super) async fn successor(
        &self,
        net_private: &pyxis_net::Client,
        room: &str,
    ) -> Result<Option<String>, DeliveryError> {
        let mut seen = vec![room.to_owned()];
        while let Some(to) = self.replacement(net_private, &seen[seen.len() - 1]).await? {
            if seen.contains(&to.room) || seen.len() > MOVES {
                break;
            }
            let via = to.server.map(|server| {
                let server = api::segment(&server);
                format!("?server_name={server}&via={server}")
            });
            let path = format!("join/{}{}", api::segment(&to.room), via.unwrap_or_default());
            if let Err(error) = self.post::<api::JoinedRoom>(net_private, &path, &serde_json::json!({})).await
            {
                return Err(match error {
                    DeliveryError::Refused(why) => DeliveryError::Refused(format!(
                        "the room was upgraded to {}, which the bot cannot join: invite it there ({why})",
                        to.room
                    )),
                    other => other,
                });
            }
            seen.push(to.room);
        }
        Ok(seen.pop().filter(|last| last != room))
    }

    /// True unless the homeserver says that the bot is not in the room.
    async fn is_in(&self, net_private: &pyxis_net::Client, room: &str) -> Result<bool, DeliveryError> {
        let found: Option<Rooms> = self.find(net_private, "joined_rooms").await?;
        Ok(found.is_none_or(|found| found.joined_rooms.iter().any(|joined| joined == room)))
    }

    /// False where the room's power levels forbid the bot to post. A creator may always post, and may have no level.
    async fn may_post(&self, net_private: &pyxis_net::Client, room: &str) -> Result<bool, DeliveryError> {
        let path = |kind: &str| format!("rooms/{}/state/{kind}", api::segment(room));
        let levels: Option<PowerLevels> = self.find(net_private, &path("m.room.power_levels")).await?;
        let Some(levels) = levels else { return Ok(true) };
        let me = self.get::<api::WhoAmI>(net_private, "account/whoami", Duration::ZERO).await?.user_id;
        if levels.allow(&me) {
            return Ok(true);
        }
        let create: Option<Value> = self.find(net_private, &path("m.room.create?format=event")).await?;
        Ok(create.is_some_and(|create| create["sender"] == me))
    }

    /// Changes the settings that name a room, by its id or by an alias, where that was upgraded.
    pub(super) async fn follow(&self, state: &State, room: &str) -> Result<Option<DeliveryError>, Error> {
        let to = match self.successor(&state.net_private, room).await {
            Ok(Some(to)) => to,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error)),
        };
        for (_, name) in moves::configured(&state.store, &state.config, ChatPlatform::MATRIX).await? {
            let is_it =
                name == room || matches!(self.resolve(&state.net_private, &name).await, Ok(id) if id == room);
            if is_it {
                moves::rename_chat(state, ChatPlatform::MATRIX, &name, &to).await?;
            }
        }
        moves::rename_chat(state, ChatPlatform::MATRIX, room, &to).await?;
        Ok(None)
    }

    /// True if a room that the bot is in is encrypted.
    pub(super) async fn is_encrypted(
        &self,
        net_private: &pyxis_net::Client,
        room: &str,
    ) -> Result<bool, DeliveryError> {
        let path = format!("rooms/{}/state/m.room.encryption", api::segment(room));
        Ok(self.find::<Value>(net_private, &path).await?.is_some())
    }

    /// The id of a room, which may be called by an alias.
    pub(super) async fn resolve(
        &self,
        net_private: &pyxis_net::Client,
        room: &str,
    ) -> Result<String, DeliveryError> {
        if !room.starts_with('#') {
            return Ok(room.to_owned());
        }
        let path = format!("directory/room/{}", api::segment(room));
        let found: Option<Resolved> = self.find(net_private, &path).await?;
        found
            .map(|found| found.room_id)
            .ok_or_else(|| DeliveryError::Refused("no room has this alias".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bot_posts_where_its_level_suffices_for_messages() {
        let allowed =
            |levels: Value| serde_json::from_value::<PowerLevels>(levels).unwrap().allow("@px:px.test");
        assert!(allowed(json!({})));
        assert!(allowed(json!({"events_default": 50, "users": {"@px:px.test": 50}})));
        assert!(allowed(json!({"events_default": 50, "events": {"m.room.message": 0}})));
        assert!(allowed(json!({"events_default": "10", "users_default": "10"})));
        assert!(!allowed(json!({"events_default": 50})));
        assert!(!allowed(json!({"events_default": 50, "users": {"@ada:px.test": 100}})));
        assert!(!allowed(json!({"events": {"m.room.message": 50}, "users_default": 10})));
        assert!(!allowed(json!({"users": {"@px:px.test": -1}})));
    }
}
