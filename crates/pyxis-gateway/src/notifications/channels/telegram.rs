//! `chat_primary`: the Telegram Bot API.
//!
//! Updates come by long polling, on one node at a time, or, once a webhook secret is set, by requests to
//! `POST /telegram/webhook`. Messages are plain text: nothing in them is ever read as markup.

mod api;
mod me;
mod settings;
mod updates;

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use futures_util::future::BoxFuture;
use pyxis_core::chat::ChatPlatform;
use pyxis_store::chat_messages::ChatMessageRow;
use serde_json::{Value, json};

use super::link_card::LinkCard;
use super::message_content::{DecideIn, MessageContent};
use super::moves;
use super::platform::{ChatBot, Delivery, DeliveryError, PlatformDescriptor, PlatformPage};
use crate::config::Config;
use crate::error::Result;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;
use crate::runtime::work::Stop;

pub use settings::TelegramConfig;
pub(crate) use updates::{__path_webhook, webhook};

pub(super) const DESCRIPTOR: PlatformDescriptor = PlatformDescriptor {
    platform: ChatPlatform::TELEGRAM,
    settings: settings::KEYS,
    connected_by: &["telegram_bot_token"],
    read_settings: settings::read,
    bot: |state| Some(Arc::new(Bot::from_settings(&state.config)?)),
    posts_to: Some("/telegram/webhook"),
    routes,
    page: PlatformPage {
        room_example: "-1001234567890",
        without_room: "private messages to everyone who linked an account",
        room_hint: None,
        link_command: "/link ",
        shows_color: false,
        shows_logo: true,
        brand_hint: "Telegram shows the name and logo, but no color.",
    },
};

struct Bot {
    config: TelegramConfig,
}

impl Bot {
    /// The bot of the settings, if there is one.
    fn from_settings(config: &Config) -> Option<Self> {
        config.chats.get::<TelegramConfig>().cloned().map(|config| Self { config })
    }

    /// Posts a message. Returns its id.
    async fn post_body(&self, net_private: &pyxis_net::Client, body: &Value) -> Delivery<String> {
        let posted: api::Message = self.call(net_private, "sendMessage", body).await?;
        Ok(posted.message_id.to_string())
    }

    /// Changes a message.
    async fn update(&self, net_private: &pyxis_net::Client, body: &Value) -> Delivery<()> {
        match self.call::<Value>(net_private, "editMessageText", body).await {
            // It shows that already: the answer to an earlier attempt was lost.
            Err(DeliveryError::Refused(why)) if why.contains("message is not modified") => Ok(()),
            other => other.map(drop),
        }
    }
}

/// The webhook route exists only if it is used.
fn routes(state: &State) -> Router<State> {
    let by_webhook = Bot::from_settings(&state.config).is_some_and(|bot| bot.config.webhook_secret.is_some());
    if by_webhook { Router::new().route("/telegram/webhook", post(updates::webhook)) } else { Router::new() }
}

impl ChatBot for Bot {
    fn post<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        card: &'a MessageContent,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(async move {
            let body = body(&message.chat, None, card);
            self.post_body(&state.net_private, &body).await
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
            let body = link_body(&message.chat, earlier, card);
            match earlier {
                Some(id) => self.update(&state.net_private, &body).await.map(|()| id.to_owned()),
                None => self.post_body(&state.net_private, &body).await,
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
            let body = body(&message.chat, Some(message_ref), card);
            self.update(&state.net_private, &body).await
        })
    }

    fn read_updates(self: Arc<Self>, state: State, stop: Stop) -> BoxFuture<'static, ()> {
        Box::pin(updates::run(state, self, stop))
    }

    fn sign_in<'a>(&'a self, state: &'a State) -> BoxFuture<'a, Option<String>> {
        Box::pin(me::sign_in(self, &state.net_private))
    }

    fn examine<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(me::examine(self, &state.net_private, room))
    }

    fn follow<'a>(
        &'a self,
        state: &'a State,
        room: &'a str,
        to: &'a str,
    ) -> BoxFuture<'a, Result<Option<ChatHealth>>> {
        Box::pin(async move {
            moves::rename_chat(state, ChatPlatform::TELEGRAM, room, to).await?;
            Ok(None)
        })
    }
}

fn body(chat: &str, message_ref: Option<&str>, card: &MessageContent) -> Value {
    assembled((chat, message_ref), &card.text(), &preview(card.logo()), &keyboard(card))
}

/// A message that only carries a link.
fn link_body(chat: &str, message_ref: Option<&str>, card: &LinkCard) -> Value {
    assembled((chat, message_ref), &card.plain_text(), &preview(None), &[])
}

fn assembled(
    (chat, message_ref): (&str, Option<&str>),
    text: &str,
    preview: &Value,
    keyboard: &[Vec<Value>],
) -> Value {
    let mut body = json!({
        "chat_id": chat,
        "text": text,
        "link_preview_options": preview,
        "reply_markup": { "inline_keyboard": keyboard },
    });
    if let Some(id) = message_ref.and_then(|id| id.parse::<i64>().ok()) {
        body["message_id"] = id.into();
    }
    body
}

/// Telegram fetches the logo itself and shows it small above the text. Nothing else is ever fetched.
fn preview(logo: Option<&str>) -> Value {
    match logo {
        Some(url) => json!({ "url": url, "prefer_small_media": true, "show_above_text": true }),
        None => json!({ "is_disabled": true }),
    }
}

/// Buttons carry the message's nonce, never the transaction.
fn keyboard(card: &MessageContent) -> Vec<Vec<Value>> {
    if !card.is_pending() {
        return Vec::new();
    }
    let button = |text: &str, action: &str| json!({ "text": text, "callback_data": format!("{action}:{}", card.nonce) });
    let deny = button("Deny", "d");
    let elsewhere = match card.place {
        DecideIn::Chat => None,
        DecideIn::Page => Some(("Read and approve", Some(deny.clone()))),
        DecideIn::Ceremony => Some(("Approve with passkey", Some(deny.clone()))),
        DecideIn::TaskPage => Some(("Read and decide", None)),
    };
    if let Some((text, deny)) = elsewhere {
        // Telegram takes no links to this machine in buttons; the text has it in any case.
        let open = card.url().starts_with("https://");
        let link = open.then(|| json!({ "text": text, "url": card.url() }));
        let row: Vec<Value> = link.into_iter().chain(deny).collect();
        return if row.is_empty() { Vec::new() } else { vec![row] };
    }
    let mut rows = vec![vec![button("Approve", "a"), deny]];
    if card.grantable {
        rows.push(vec![button("Approve for 30 min", "g")]);
    }
    rows
}
