//! `card`: a signed JSON card to an endpoint of the operator, for a receiver that shows it to people.
//!
//! Endpoints are named in the settings, since their URLs are secrets. A card has a link to the page, where people
//! decide. When a request or a task changes or ends, the card is posted again with the same `id`.

mod settings;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pyxis_core::brand::SECURED_BY;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::Clock;
use pyxis_core::webhook::WebhookEvent;
use pyxis_store::chat_messages::ChatMessageRow;
use pyxis_store::message_subject::{MessageState, SubjectKind};
use serde::Serialize;

use super::link_card::LinkCard;
use super::message_content::MessageContent;
use super::platform::{ChatBot, Delivery, DeliveryError, PlatformDescriptor, PlatformPage, no_routes};
use super::web_call::{exchange, posted};
use crate::config::Config;
use crate::notifications::webhooks::signed_event::SignedEvent;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;

pub use settings::CardConfig;

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

/// Event of a card about a task that was withdrawn, stopped, or not decided in time.
const TASK_UPDATED: &str = "task.updated";

/// Event of a card about several requests or tasks.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
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

    async fn send(
        &self,
        net_private: &pyxis_net::Client,
        clock: &dyn Clock,
        chat: &str,
        delivery: &str,
        card: &Card<'_>,
    ) -> Delivery<()> {
        let uri = self.config.endpoints.uri(chat)?;
        let secret = self.config.secret(chat);
        let secret = secret.ok_or_else(|| DeliveryError::Refused(self.config.endpoints.unknown(chat)))?;
        let body = serde_json::to_vec(card).map_err(|error| DeliveryError::Refused(error.to_string()))?;
        let signed = SignedEvent { event: card.event, delivery };
        let request = signed.request(clock.now(), &uri, std::slice::from_ref(secret), body.into());
        posted(&exchange(net_private, request).await?, clock.now())
    }

    async fn send_content(
        &self,
        net_private: &pyxis_net::Client,
        clock: &dyn Clock,
        message: &ChatMessageRow,
        event: &'static str,
        card: &MessageContent,
    ) -> Delivery<()> {
        let id = message.id.to_string();
        // A receiver counts each delivery once, and a card that says something else is another one.
        let delivery = format!("{id}-{}", card.version());
        let (subject, is_task) = (card.subject.to_string(), card.subject.kind() == SubjectKind::Task);
        let (txn_id, task_id) = if is_task { (None, Some(subject)) } else { (Some(subject), None) };
        let expires_at = Some(card.expires_at.to_rfc3339());
        let content = Card { txn_id, task_id, expires_at, ..Card::new(event, &id, card.state, &card.link) };
        self.send(net_private, clock, &message.chat, &delivery, &content).await
    }
}

impl<'a> Card<'a> {
    fn new(event: &'static str, id: &'a str, state: MessageState, shown: &'a LinkCard) -> Self {
        Self {
            event,
            id,
            txn_id: None,
            task_id: None,
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

/// Event of a card that was not posted before.
const fn first_event(kind: SubjectKind) -> &'static str {
    match kind {
        SubjectKind::Request => WebhookEvent::Requested.as_str(),
        SubjectKind::Task => WebhookEvent::TaskProposed.as_str(),
    }
}

/// Event of a card that was posted before.
const fn next_event(kind: SubjectKind, state: MessageState) -> &'static str {
    match (kind, state) {
        (SubjectKind::Request, MessageState::Pending) => UPDATED,
        (SubjectKind::Request, MessageState::Approved | MessageState::Denied) => {
            WebhookEvent::Decided.as_str()
        }
        (SubjectKind::Request, MessageState::Expired | MessageState::Withdrawn | MessageState::Stopped) => {
            WebhookEvent::Expired.as_str()
        }
        (SubjectKind::Task, MessageState::Approved | MessageState::Denied) => {
            WebhookEvent::TaskDecided.as_str()
        }
        (
            SubjectKind::Task,
            MessageState::Pending | MessageState::Expired | MessageState::Withdrawn | MessageState::Stopped,
        ) => TASK_UPDATED,
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
            self.send_content(
                &state.net_private,
                &*state.clock,
                message,
                first_event(card.subject.kind()),
                card,
            )
            .await?;
            Ok(message.id.to_string())
        })
    }

    fn edit<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        _message_ref: &'a str,
        card: &'a MessageContent,
    ) -> BoxFuture<'a, Delivery<()>> {
        Box::pin(self.send_content(
            &state.net_private,
            &*state.clock,
            message,
            next_event(card.subject.kind(), card.state),
            card,
        ))
    }

    fn post_link<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        earlier: Option<&'a str>,
        card: &'a LinkCard,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(async move {
            let id = earlier.map_or_else(|| message.id.to_string(), str::to_owned);
            let digest = Card::new(DIGEST, &id, MessageState::Pending, card);
            self.send(&state.net_private, &*state.clock, &message.chat, &card.key(&id), &digest).await?;
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
