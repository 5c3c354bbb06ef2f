//! `chat_secondary`: the Matrix client-server API (v1.11).
//!
//! Messages are text, whose first line has the color of the brand, where that has one. People react: ✅
//! approves, ❌ denies, ⏳ approves with a grant. The bot puts the possible reactions under its message, so
//! that a tap is enough. Rooms must not be encrypted: an access token alone reads nothing there.

mod api;
pub mod room;
mod updates;

use std::sync::Arc;

use pyxis_core::approval_mode::ApprovalState;
use pyxis_store::chat_messages::{ChatMessageRow, ChatPlatform};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::approval_message::{ApprovalMessage, DecideIn};
use super::outbox::{self, ChatPlatformClient, DeliveryError};
use crate::config::MatrixConfig;
use crate::runtime::state::State;
use crate::runtime::survival::restarted;
use crate::runtime::work::Stop;

/// Approves.
const YES: &str = "✅";
/// Denies.
const NO: &str = "❌";
/// Approves with a grant.
const WHILE: &str = "⏳";

/// The bot.
pub(crate) struct Bot {
    config: MatrixConfig,
}

impl Bot {
    /// The bot of the settings, if there is one.
    pub(crate) fn of(state: &State) -> Option<Self> {
        state.config.matrix.clone().map(|config| Self { config })
    }

    /// The id of a room, which the bot has joined when this returns.
    async fn enter(&self, state: &State, room: &str) -> Result<String, DeliveryError> {
        let path = format!("join/{}", api::segment(room));
        match self.post::<api::Joined>(state, &path, &json!({})).await {
            Ok(joined) => Ok(joined.room_id),
            // Whether it is in the room already, the message will show.
            Err(DeliveryError::Refused(_)) if room.starts_with('!') => Ok(room.to_owned()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Sends an event; the same `key` sends it once only.
    async fn send(
        &self,
        state: &State,
        room: &str,
        kind: &str,
        key: &str,
        content: &Value,
    ) -> Result<String, DeliveryError> {
        let path = format!("rooms/{}/send/{kind}/{}", api::segment(room), api::segment(key));
        let sent: api::Sent = self.put(state, &path, content).await?;
        Ok(sent.event_id)
    }
}

/// Starts posting and reading.
pub(super) fn start(state: &State, bot: Bot, stop: &Stop, loops: &mut JoinSet<()>) {
    let bot = Arc::new(bot);
    let posting = (state.clone(), Arc::clone(&bot), stop.clone());
    loops.spawn(restarted("matrix", stop.clone(), move || {
        let (state, bot, stop) = posting.clone();
        outbox::run(state, bot, stop)
    }));
    let reading = (state.clone(), bot, stop.clone());
    loops.spawn(restarted("matrix", stop.clone(), move || {
        let (state, bot, stop) = reading.clone();
        updates::run(state, bot, stop)
    }));
}

impl ChatPlatformClient for Bot {
    const PLATFORM: ChatPlatform = ChatPlatform::Matrix;

    async fn post(
        &self,
        state: &State,
        message: &ChatMessageRow,
        card: &ApprovalMessage,
    ) -> Result<String, DeliveryError> {
        let room = self.enter(state, &message.chat).await?;
        if let Some(to) = self.successor(state, &room).await? {
            return Err(DeliveryError::Moved(to));
        }
        if self.is_encrypted(state, &room).await? {
            return Err(DeliveryError::Refused(room::ENCRYPTED.to_owned()));
        }
        let content = content(card);
        self.send(state, &room, "m.room.message", &message.id.to_string(), &content).await
    }

    async fn add_reactions(
        &self,
        state: &State,
        message: &ChatMessageRow,
        message_ref: &str,
        card: &ApprovalMessage,
    ) {
        let Ok(room) = self.enter(state, &message.chat).await else { return };
        for reaction in reactions(card) {
            let relation = json!({ "rel_type": "m.annotation", "event_id": message_ref, "key": reaction });
            let content = json!({ "m.relates_to": relation });
            let key = format!("{}-{}", message.id, name_of(reaction));
            // The message counts without them: people can type reactions themselves.
            if let Err(trouble) = self.send(state, &room, "m.reaction", &key, &content).await {
                tracing::debug!(?trouble, "cannot add a reaction");
            }
        }
    }

    async fn edit(
        &self,
        state: &State,
        message: &ChatMessageRow,
        message_ref: &str,
        card: &ApprovalMessage,
    ) -> Result<(), DeliveryError> {
        let room = self.enter(state, &message.chat).await?;
        let mut content = text(&format!("* {}", card.text()));
        content["m.new_content"] = self::content(card);
        content["m.relates_to"] = json!({ "rel_type": "m.replace", "event_id": message_ref });
        let key = format!("{}-{}-{}", message.id, card.state.as_str(), card.version());
        self.send(state, &room, "m.room.message", &key, &content).await.map(drop)
    }
}

fn text(body: &str) -> Value {
    json!({ "msgtype": "m.text", "body": body })
}

/// A message as clients show it; those that know no markup show the text.
fn content(card: &ApprovalMessage) -> Value {
    let mut content = text(&card.text());
    if let Some(html) = card.html() {
        content["format"] = "org.matrix.custom.html".into();
        content["formatted_body"] = html.into();
    }
    content
}

/// What the bot offers.
fn reactions(card: &ApprovalMessage) -> Vec<&'static str> {
    match (card.state, card.place, card.grantable) {
        (ApprovalState::Pending, DecideIn::Page | DecideIn::Ceremony, _) => vec![NO],
        (ApprovalState::Pending, DecideIn::Chat, true) => vec![YES, NO, WHILE],
        (ApprovalState::Pending, DecideIn::Chat, false) => vec![YES, NO],
        (ApprovalState::Approved | ApprovalState::Denied | ApprovalState::Expired, ..) => Vec::new(),
    }
}

fn name_of(reaction: &str) -> &'static str {
    match reaction {
        YES => "yes",
        NO => "no",
        _ => "while",
    }
}
