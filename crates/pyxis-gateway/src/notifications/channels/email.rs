//! `email`: messages through an SMTP server.
//!
//! A message has a link to the approval page, where people sign in and decide. Opening the link decides nothing, so
//! programs that follow links in mail are harmless. Each address has its own message.

mod address;
mod dialog;
mod mail;
mod reply;
mod server;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pyxis_core::chat::ChatPlatform;
use pyxis_store::chat_messages::ChatMessageRow;
use tokio::time::timeout;

use self::mail::Letter;
use super::link_card::LinkCard;
use super::message_content::MessageContent;
use super::platform::{ChatBot, Delivery, DeliveryError, PlatformDescriptor, PlatformPage, no_routes};
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;

pub use settings::{EmailConfig, Login, Security};

pub(super) const DESCRIPTOR: PlatformDescriptor = PlatformDescriptor {
    platform: ChatPlatform::EMAIL,
    settings: settings::KEYS,
    connected_by: &["smtp_url", "smtp_from"],
    read_settings: settings::read,
    bot: |state| Some(Arc::new(Bot { config: state.config.chats.get::<EmailConfig>().cloned()? })),
    posts_to: None,
    routes: no_routes,
    page: PlatformPage {
        room_example: "ops@example.com,security@example.com",
        without_room: "the addresses that the operator set, or no messages",
        room_hint: Some("One address, or up to 10 with commas between them."),
        link_command: "/link",
        shows_color: true,
        shows_logo: false,
        brand_hint: "E-mail shows the name and color, but no logo. Some programs show the text only.",
    },
};

/// Time for a whole delivery; shorter than a claim of the outbox.
const DELIVERY: Duration = Duration::from_secs(45);
/// Time for an examination of the server. Some servers greet late, to deter senders of spam.
const EXAMINATION: Duration = Duration::from_secs(15);

/// The sender of messages.
struct Bot {
    config: EmailConfig,
}

impl Bot {
    /// Sends a letter to an address. Returns its `Message-ID`, which depends on `id`.
    async fn send(&self, state: &State, letter: Letter<'_>, id: &str) -> Delivery<String> {
        let mail = letter
            .written(&self.config.from, id, state.now())
            .map_err(|error| DeliveryError::Refused(error.to_string()))?;
        let hello = server::hello_name(&state.config.base_url);
        let sending = server::send(&self.config, &state.net_private, &hello, letter.to, &mail.content);
        match timeout(DELIVERY, sending).await {
            Ok(sent) => sent.map(|()| mail.id).map_err(DeliveryError::from),
            Err(_) => Err(DeliveryError::Failed("the mail server did not respond in time".to_owned())),
        }
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
            let to = address::parse(&message.chat).map_err(DeliveryError::Refused)?;
            let text = card.text();
            let letter = Letter { to: &to, text: &text, url: card.url(), accent: card.accent() };
            self.send(state, letter, &message.id.to_string()).await
        })
    }

    fn post_link<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        _earlier: Option<&'a str>,
        card: &'a LinkCard,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(async move {
            let to = address::parse(&message.chat).map_err(DeliveryError::Refused)?;
            let text = card.plain_text();
            let letter = Letter { to: &to, text: &text, url: &card.url, accent: None };
            self.send(state, letter, &card.key(&message.id.to_string())).await
        })
    }

    fn sign_in<'a>(&'a self, state: &'a State) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let hello = server::hello_name(&state.config.base_url);
            match timeout(EXAMINATION, server::examine(&self.config, &state.net_private, &hello)).await {
                Ok(found) => found.err().map(|error| error.to_string()),
                Err(_) => Some("the mail server did not respond in time".to_owned()),
            }
        })
    }

    /// Mail servers do not say which addresses exist, so this checks the spelling only.
    fn examine<'a>(&'a self, _state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(std::future::ready(health(address::parse(room).map(drop))))
    }

    fn admit<'a>(&'a self, _state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(std::future::ready(health(address::parse_list(room).map(drop))))
    }
}

fn health(checked: Result<(), String>) -> ChatHealth {
    checked.map_or_else(ChatHealth::Unusable, |()| ChatHealth::Usable)
}
