//! `card`: a signed JSON card to an endpoint of the operator, for a receiver that shows it to people.
//!
//! Endpoints are named in the settings, since their URLs are secrets. A card has a link to the page, where people
//! decide. When a request changes or ends, the card is posted again with the same `id`.

mod settings;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::brand::SECURED_BY;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::webhook::WebhookEvent;
use pyxis_store::chat_messages::ChatMessageRow;
use serde::Serialize;

use super::approval_message::ApprovalMessage;
use super::link_card::LinkCard;
use super::platform::{ChatBot, Delivery, DeliveryError, PlatformDescriptor, PlatformPage, no_routes};
use super::web_call::{exchange, posted};
use crate::config::Config;
use crate::notifications::webhooks::signed_event::SignedEvent;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;

pub use settings::CardConfig;

/// The platform.
pub(super) const DESCRIPTOR: PlatformDescriptor = PlatformDescriptor {
    platform: ChatPlatform::CARD,
    settings: settings::KEYS,
    connected_by: &["card_webhooks", "card_signing_secrets"],
    read_settings: settings::read,
    bot: |state| Some(Arc::new(Bot::from_settings(&state.config)?)),
    posts_to: None,
    routes: no_routes,
    page: PlatformPage {
        room_example: "pager",
        without_room: "the server's default endpoint, or else no messages",
        room_hint: Some("Name of an endpoint in the server's settings. It is tried with the first message."),
        link_command: "",
        shows_color: false,
        shows_logo: false,
        brand_hint: "Webhook cards carry the name, but no color and no logo.",
    },
};

/// Event of a card whose request is still pending and changed.
const UPDATED: &str = "approval.updated";

/// Event of a card about several requests.
const DIGEST: &str = "approval.digest";

/// The poster.
struct Bot {
    config: CardConfig,
}

/// A card (`docs/reference/notifications.md#webhook-card`).
#[derive(Serialize)]
struct Card<'a> {
    event: &'static str,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    txn_id: Option<String>,
    state: &'static str,
    title: &'a str,
    text: &'a str,
    facts: Vec<Fact<'a>>,
    status: &'a [String],
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    footer: &'static str,
}

#[derive(Serialize)]
struct Fact<'a> {
    name: &'a str,
    value: &'a str,
}

impl Bot {
    /// The poster of the settings, if there is one.
    fn from_settings(config: &Config) -> Option<Self> {
        config.chats.get::<CardConfig>().cloned().map(|config| Self { config })
    }

    async fn send(&self, state: &State, chat: &str, delivery: &str, card: &Card<'_>) -> Delivery<()> {
        let uri = self.config.endpoints.uri(chat)?;
        let secret = self.config.secret(chat);
        let secret = secret.ok_or_else(|| DeliveryError::Refused(self.config.endpoints.unknown(chat)))?;
        let body = serde_json::to_vec(card).map_err(|error| DeliveryError::Refused(error.to_string()))?;
        let signed = SignedEvent { event: card.event, delivery };
        let request = signed.request(state.now(), &uri, std::slice::from_ref(secret), body.into());
        posted(&exchange(&state.net_private, request).await?, state.now())
    }

    async fn send_request(
        &self,
        state: &State,
        message: &ChatMessageRow,
        event: &'static str,
        card: &ApprovalMessage,
    ) -> Delivery<()> {
        let (id, shown) = (message.id.to_string(), LinkCard::new(card));
        // A receiver counts each delivery once, and a card that says something else is another one.
        let delivery = format!("{id}-{}", card.version());
        let request = Card {
            txn_id: Some(card.facts.txn.to_string()),
            expires_at: Some(card.facts.expires_at.to_rfc3339()),
            ..Card::new(event, &id, card.state, &shown)
        };
        self.send(state, &message.chat, &delivery, &request).await
    }
}

impl<'a> Card<'a> {
    fn new(event: &'static str, id: &'a str, state: ApprovalState, shown: &'a LinkCard) -> Self {
        Self {
            event,
            id,
            txn_id: None,
            state: state.as_str(),
            title: &shown.title,
            text: &shown.text,
            facts: shown.facts.iter().map(|(name, value)| Fact { name, value }).collect(),
            status: &shown.status,
            url: &shown.url,
            expires_at: None,
            footer: SECURED_BY,
        }
    }
}

/// Event of a card that was posted before.
const fn event_of(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => UPDATED,
        ApprovalState::Approved | ApprovalState::Denied => WebhookEvent::Decided.as_str(),
        ApprovalState::Expired => WebhookEvent::Expired.as_str(),
    }
}

impl ChatBot for Bot {
    fn post<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        card: &'a ApprovalMessage,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(async move {
            self.send_request(state, message, WebhookEvent::Requested.as_str(), card).await?;
            Ok(message.id.to_string())
        })
    }

    fn edit<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        _message_ref: &'a str,
        card: &'a ApprovalMessage,
    ) -> BoxFuture<'a, Delivery<()>> {
        Box::pin(self.send_request(state, message, event_of(card.state), card))
    }

    fn has_digests(&self) -> bool {
        true
    }

    fn post_link<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        card: &'a LinkCard,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(async move {
            let id = message.id.to_string();
            let digest = Card::new(DIGEST, &id, ApprovalState::Pending, card);
            self.send(state, &message.chat, &format!("{id}-digest"), &digest).await?;
            Ok(id)
        })
    }

    fn sign_in<'a>(&'a self, _state: &'a State) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn examine<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(self.config.endpoints.examine(&state.net_private, room))
    }

    fn admit<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        self.examine(state, room)
    }
}
