//! `chat_primary`: the Telegram Bot API.
//!
//! Updates come by long polling, on one node at a time, or, once a webhook secret is set, by requests to
//! `POST /telegram/webhook`. Messages are plain text: nothing in them is ever read as markup.

mod api;
pub mod me;
mod updates;

use std::sync::Arc;

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::chat::ChatPlatform;
use pyxis_store::chat_messages::ChatMessageRow;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::approval_message::{ApprovalMessage, DecideIn};
use super::outbox::{self, ChatPlatformClient, DeliveryError};
use crate::config::TelegramConfig;
use crate::runtime::state::State;
use crate::runtime::survival::restarted;
use crate::runtime::work::Stop;

pub(crate) use updates::webhook;

/// The bot.
pub(crate) struct Bot {
    config: TelegramConfig,
}

impl Bot {
    /// The bot of the settings, if there is one.
    pub(crate) fn of(state: &State) -> Option<Self> {
        state.config.telegram.clone().map(|config| Self { config })
    }
}

/// Starts posting, and reading or asking for updates.
pub(super) fn start(state: &State, bot: Bot, stop: &Stop, loops: &mut JoinSet<()>) {
    let bot = Arc::new(bot);
    let posting = (state.clone(), Arc::clone(&bot), stop.clone());
    loops.spawn(restarted("telegram", stop.clone(), move || {
        let (state, bot, stop) = posting.clone();
        outbox::run(state, bot, stop)
    }));
    let reading = (state.clone(), bot, stop.clone());
    loops.spawn(restarted("telegram", stop.clone(), move || {
        let (state, bot, stop) = reading.clone();
        updates::run(state, bot, stop)
    }));
}

impl ChatPlatformClient for Bot {
    const PLATFORM: ChatPlatform = ChatPlatform::TELEGRAM;

    async fn post(
        &self,
        state: &State,
        message: &ChatMessageRow,
        card: &ApprovalMessage,
    ) -> Result<String, DeliveryError> {
        let posted: api::Message = self.call(state, "sendMessage", &body(&message.chat, None, card)).await?;
        Ok(posted.message_id.to_string())
    }

    async fn edit(
        &self,
        state: &State,
        message: &ChatMessageRow,
        message_ref: &str,
        card: &ApprovalMessage,
    ) -> Result<(), DeliveryError> {
        let body = body(&message.chat, Some(message_ref), card);
        match self.call::<Value>(state, "editMessageText", &body).await {
            // It shows that already: the answer to an earlier attempt was lost.
            Err(DeliveryError::Refused(why)) if why.contains("message is not modified") => Ok(()),
            other => other.map(drop),
        }
    }
}

fn body(chat: &str, message_ref: Option<&str>, card: &ApprovalMessage) -> Value {
    let mut body = json!({
        "chat_id": chat,
        "text": card.text(),
        "link_preview_options": preview(card),
        "reply_markup": { "inline_keyboard": keyboard(card) },
    });
    if let Some(id) = message_ref.and_then(|id| id.parse::<i64>().ok()) {
        body["message_id"] = id.into();
    }
    body
}

/// Telegram fetches the logo itself and shows it small above the text. Nothing else is ever fetched.
fn preview(card: &ApprovalMessage) -> Value {
    match &card.logo {
        Some(url) => json!({ "url": url, "prefer_small_media": true, "show_above_text": true }),
        None => json!({ "is_disabled": true }),
    }
}

/// Buttons carry the message's nonce, never the transaction.
fn keyboard(card: &ApprovalMessage) -> Vec<Vec<Value>> {
    if card.state != ApprovalState::Pending {
        return Vec::new();
    }
    let button = |text: &str, action: &str| json!({ "text": text, "callback_data": format!("{action}:{}", card.nonce) });
    let deny = button("Deny", "d");
    let elsewhere = match card.place {
        DecideIn::Chat => None,
        DecideIn::Page => Some("Read and approve"),
        DecideIn::Ceremony => Some("Approve with passkey"),
    };
    if let Some(text) = elsewhere {
        // Telegram takes no links to this machine in buttons; the text has it in any case.
        let open = card.url.starts_with("https://");
        let link = open.then(|| json!({ "text": text, "url": card.url }));
        return vec![link.into_iter().chain([deny]).collect()];
    }
    let mut rows = vec![vec![button("Approve", "a"), deny]];
    if card.grantable {
        rows.push(vec![button("Approve for 30 min", "g")]);
    }
    rows
}
