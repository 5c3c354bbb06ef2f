//! `slack`: the Web API, and Socket Mode or signed requests.
//!
//! In Socket Mode one node at a time keeps a WebSocket open to Slack, so Pyxis needs no public address. With a signing
//! secret Slack posts the same to `POST /slack/events`. Texts are plain: nothing in them is ever read as markup.

mod actions;
mod api;
mod blocks;
mod examination;
mod http_mode;
mod reports;
mod settings;
mod socket;
mod socket_mode;

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use futures_util::future::BoxFuture;
use pyxis_core::chat::ChatPlatform;
use pyxis_store::chat_messages::ChatMessageRow;
use serde_json::Value;

use super::link_card::LinkCard;
use super::message_content::MessageContent;
use super::platform::{ChatBot, Delivery, DeliveryError, PlatformDescriptor, PlatformPage};
use crate::config::Config;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;
use crate::runtime::work::Stop;

pub(crate) use http_mode::{__path_receive, receive};
pub use settings::SlackConfig;

pub(super) const DESCRIPTOR: PlatformDescriptor = PlatformDescriptor {
    platform: ChatPlatform::SLACK,
    settings: settings::KEYS,
    connected_by: &["slack_bot_token", "slack_app_token"],
    read_settings: settings::read,
    bot: |state| Some(Arc::new(Bot::from_settings(&state.config)?)),
    posts_to: Some("/slack/events"),
    routes,
    page: PlatformPage {
        room_example: "C0123456789",
        without_room: "direct messages to everyone who linked an account",
        room_hint: Some("The id of a channel that the bot was invited to."),
        link_command: "link ",
        shows_color: false,
        shows_logo: false,
        brand_hint: "Slack shows the name, but no color and no logo.",
    },
};

struct Bot {
    config: SlackConfig,
}

impl Bot {
    /// The bot of the settings, if there is one.
    fn from_settings(config: &Config) -> Option<Self> {
        config.chats.get::<SlackConfig>().cloned().map(|config| Self { config })
    }

    /// Posts a message to a room. Returns its id as it is stored.
    async fn post_body(
        &self,
        net_private: &pyxis_net::Client,
        room: &str,
        mut body: Value,
    ) -> Delivery<String> {
        body["channel"] = recipient(room).into();
        let posted: api::PostedMessage = self.call(net_private, "chat.postMessage", &body).await?;
        // A person's channel has another id than the person.
        Ok(message_ref(&posted.channel, &posted.ts))
    }

    /// Changes a message.
    async fn update(
        &self,
        net_private: &pyxis_net::Client,
        message_ref: &str,
        mut body: Value,
    ) -> Delivery<()> {
        let (channel, ts) = message_ref
            .split_once('/')
            .ok_or_else(|| DeliveryError::Refused("the message has no time".to_owned()))?;
        body["channel"] = channel.into();
        body["ts"] = ts.into();
        self.call::<Value>(net_private, "chat.update", &body).await.map(drop)
    }
}

/// A button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Press {
    Approve,
    ApproveWithGrant,
    Deny,
    /// A link to the page, which Slack reports too.
    Open,
}

impl Press {
    const ALL: [Self; 4] = [Self::Approve, Self::ApproveWithGrant, Self::Deny, Self::Open];

    /// Id of the action.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::ApproveWithGrant => "approve_with_grant",
            Self::Deny => "deny",
            Self::Open => "open",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|press| press.as_str() == name)
    }
}

/// The route exists only if Slack's requests can be checked.
fn routes(state: &State) -> Router<State> {
    let is_used = Bot::from_settings(&state.config).is_some_and(|bot| bot.config.signing_secret.is_some());
    if is_used { Router::new().route("/slack/events", post(http_mode::receive)) } else { Router::new() }
}

/// Id of a message as it is stored: a time is unique within its channel.
fn message_ref(channel: &str, ts: &str) -> String {
    format!("{channel}/{ts}")
}

/// The channel or person of a room. An account's id begins with its team.
fn recipient(room: &str) -> &str {
    room.rsplit_once('-').map_or(room, |(_, person)| person)
}

impl ChatBot for Bot {
    fn post<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        card: &'a MessageContent,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(self.post_body(&state.net_private, &message.chat, blocks::content(card)))
    }

    fn post_link<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        earlier: Option<&'a str>,
        card: &'a LinkCard,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(async move {
            match earlier {
                Some(id) => {
                    self.update(&state.net_private, id, blocks::link(card)).await.map(|()| id.to_owned())
                }
                None => self.post_body(&state.net_private, &message.chat, blocks::link(card)).await,
            }
        })
    }

    fn edit<'a>(
        &'a self,
        state: &'a State,
        _message: &'a ChatMessageRow,
        message_ref: &'a str,
        card: &'a MessageContent,
    ) -> BoxFuture<'a, Delivery<()>> {
        Box::pin(self.update(&state.net_private, message_ref, blocks::content(card)))
    }

    fn read_updates(self: Arc<Self>, state: State, stop: Stop) -> BoxFuture<'static, ()> {
        Box::pin(socket_mode::run(state, self, stop))
    }

    fn sign_in<'a>(&'a self, state: &'a State) -> BoxFuture<'a, Option<String>> {
        Box::pin(examination::sign_in(self, &state.net_private))
    }

    fn examine<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(examination::examine(self, &state.net_private, room))
    }

    fn admit<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(examination::examine(self, &state.net_private, room))
    }
}
