//! `chat_secondary`: the Matrix client-server API (v1.11).
//!
//! Messages are text, whose first line has the color of the brand, where that has one. People react: ✅
//! approves, ❌ denies, ⏳ approves with a grant. The bot puts the possible reactions under its message, so
//! that a tap is enough. Rooms must not be encrypted: an access token alone reads nothing there.

mod api;
mod room;
mod settings;
mod updates;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pyxis_core::chat::ChatPlatform;
use pyxis_store::chat_messages::ChatMessageRow;
use serde_json::{Value, json};

use super::link_card::LinkCard;
use super::message_content::{DecideIn, MessageContent};
use super::platform::{ChatBot, Delivery, DeliveryError, PlatformDescriptor, PlatformPage, no_routes};
use crate::config::Config;
use crate::error::Result;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;
use crate::runtime::work::Stop;

pub use settings::MatrixConfig;

pub(super) const DESCRIPTOR: PlatformDescriptor = PlatformDescriptor {
    platform: ChatPlatform::MATRIX,
    settings: settings::KEYS,
    connected_by: &["matrix_homeserver", "matrix_access_token"],
    read_settings: settings::read,
    bot: |state| Some(Arc::new(Bot::from_settings(&state.config)?)),
    posts_to: None,
    routes: no_routes,
    page: PlatformPage {
        room_example: "!id:example.org",
        without_room: "no messages; encrypted rooms are not supported",
        room_hint: Some("An unencrypted room that the bot has joined."),
        link_command: "!link ",
        shows_color: true,
        shows_logo: false,
        brand_hint: "Matrix shows the name and color, but no logo. Some clients show the text only.",
    },
};

/// Approves.
const YES: &str = "✅";
/// Denies.
const NO: &str = "❌";
/// Approves with a grant.
const WHILE: &str = "⏳";

struct Bot {
    config: MatrixConfig,
}

impl Bot {
    /// The bot of the settings, if there is one.
    fn from_settings(config: &Config) -> Option<Self> {
        config.chats.get::<MatrixConfig>().cloned().map(|config| Self { config })
    }

    /// The id of a room, which the bot has joined when this returns.
    async fn join_room(&self, net_private: &pyxis_net::Client, room: &str) -> Result<String, DeliveryError> {
        let path = format!("join/{}", api::segment(room));
        match self.post::<api::JoinedRoom>(net_private, &path, &json!({})).await {
            Ok(joined) => Ok(joined.room_id),
            // Whether it is in the room already, the message will show.
            Err(DeliveryError::Refused(_)) if room.starts_with('!') => Ok(room.to_owned()),
            Err(error) => Err(error),
        }
    }

    /// Sends an event; the same `key` sends it once only.
    async fn send(
        &self,
        net_private: &pyxis_net::Client,
        room: &str,
        kind: &str,
        key: &str,
        content: &Value,
    ) -> Result<String, DeliveryError> {
        let path = format!("rooms/{}/send/{kind}/{}", api::segment(room), api::segment(key));
        let sent: api::SentEvent = self.put(net_private, &path, content).await?;
        Ok(sent.event_id)
    }

    /// Posts a message to a room that the bot can use. Returns its id.
    async fn post_content(
        &self,
        net_private: &pyxis_net::Client,
        room: &str,
        key: &str,
        content: &Value,
    ) -> Result<String, DeliveryError> {
        let room = self.join_room(net_private, room).await?;
        if let Some(to) = self.successor(net_private, &room).await? {
            return Err(DeliveryError::Moved(to));
        }
        if self.is_encrypted(net_private, &room).await? {
            return Err(DeliveryError::Refused(room::ENCRYPTED.to_owned()));
        }
        self.send(net_private, &room, "m.room.message", key, content).await
    }
}

impl ChatBot for Bot {
    fn post<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        card: &'a MessageContent,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(async move {
            let content = content(card);
            self.post_content(&state.net_private, &message.chat, &message.id.to_string(), &content).await
        })
    }

    fn post_link<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        earlier: Option<&'a str>,
        card: &'a LinkCard,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(async move {
            let (shown, key) = (card.plain_text(), card.key(&message.id.to_string()));
            let Some(event) = earlier else {
                return self.post_content(&state.net_private, &message.chat, &key, &text(&shown)).await;
            };
            let content = replacement(event, &shown, text(&shown));
            let room = self.join_room(&state.net_private, &message.chat).await?;
            self.send(&state.net_private, &room, "m.room.message", &key, &content).await?;
            Ok(event.to_owned())
        })
    }

    fn add_reactions<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        message_ref: &'a str,
        card: &'a MessageContent,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(room) = self.join_room(&state.net_private, &message.chat).await else { return };
            for reaction in reactions(card) {
                let relation =
                    json!({ "rel_type": "m.annotation", "event_id": message_ref, "key": reaction });
                let content = json!({ "m.relates_to": relation });
                let key = format!("{}-{}", message.id, name_of(reaction));
                // The message counts without them: people can type reactions themselves.
                if let Err(error) = self.send(&state.net_private, &room, "m.reaction", &key, &content).await {
                    tracing::debug!(?error, "cannot add a reaction");
                }
            }
        })
    }

    fn edit<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        message_ref: &'a str,
        card: &'a MessageContent,
    ) -> BoxFuture<'a, Delivery<()>> {
        Box::pin(async move {
            let room = self.join_room(&state.net_private, &message.chat).await?;
            let content = replacement(message_ref, &card.text(), self::content(card));
            let key = format!("{}-{}-{}", message.id, card.state.as_str(), card.version());
            self.send(&state.net_private, &room, "m.room.message", &key, &content).await.map(drop)
        })
    }

    fn read_updates(self: Arc<Self>, state: State, stop: Stop) -> BoxFuture<'static, ()> {
        Box::pin(updates::run(state, self, stop))
    }

    fn sign_in<'a>(&'a self, state: &'a State) -> BoxFuture<'a, Option<String>> {
        Box::pin(room::sign_in(self, &state.net_private))
    }

    fn examine<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(room::examine(self, &state.net_private, room, false))
    }

    fn admit<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(room::examine(self, &state.net_private, room, true))
    }

    fn follow<'a>(
        &'a self,
        state: &'a State,
        room: &'a str,
        _to: &'a str,
    ) -> BoxFuture<'a, Result<Option<ChatHealth>>> {
        Box::pin(room::follow_upgrade(self, state, room))
    }
}

fn text(body: &str) -> Value {
    json!({ "msgtype": "m.text", "body": body })
}

/// A message as clients show it; those that know no markup show the text.
fn content(card: &MessageContent) -> Value {
    let mut content = text(&card.text());
    if let Some(html) = card.html() {
        content["format"] = "org.matrix.custom.html".into();
        content["formatted_body"] = html.into();
    }
    content
}

/// A message that takes the place of an earlier one; clients that know no edits show the text.
fn replacement(event: &str, shown: &str, content: Value) -> Value {
    let mut replacing = text(&format!("* {shown}"));
    replacing["m.new_content"] = content;
    replacing["m.relates_to"] = json!({ "rel_type": "m.replace", "event_id": event });
    replacing
}

/// What the bot offers.
fn reactions(card: &MessageContent) -> Vec<&'static str> {
    if !card.is_pending() {
        return Vec::new();
    }
    match (card.place, card.grantable) {
        (DecideIn::TaskPage, _) => Vec::new(),
        (DecideIn::Page | DecideIn::Ceremony, _) => vec![NO],
        (DecideIn::Chat, true) => vec![YES, NO, WHILE],
        (DecideIn::Chat, false) => vec![YES, NO],
    }
}

fn name_of(reaction: &str) -> &'static str {
    match reaction {
        YES => "yes",
        NO => "no",
        _ => "while",
    }
}
