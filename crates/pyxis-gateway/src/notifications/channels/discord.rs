//! `discord`: the REST API, and interactions that Discord posts and signs.
//!
//! Discord posts buttons, windows and the command `/link` to `POST /discord/interactions`. The response to each is what
//! the person sees. Untrusted text is escaped, so that nothing in it is markup, and no message pings anyone.

mod actions;
mod api;
mod content;
mod endpoint;
mod examination;
mod interaction;
mod settings;
mod setup;

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use futures_util::future::BoxFuture;
use http::Method;
use pyxis_core::chat::ChatPlatform;
use pyxis_store::chat_messages::ChatMessageRow;
use serde_json::{Value, json};

use super::link_card::LinkCard;
use super::message_content::MessageContent;
use super::platform::{ChatBot, Delivery, DeliveryError, PlatformDescriptor, PlatformPage};
use crate::config::Config;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;
use crate::runtime::work::Stop;

pub(crate) use endpoint::{__path_receive, receive};
pub use settings::DiscordConfig;

/// Path of the endpoint.
const PATH: &str = "/discord/interactions";

pub(super) const DESCRIPTOR: PlatformDescriptor = PlatformDescriptor {
    platform: ChatPlatform::DISCORD,
    settings: settings::KEYS,
    connected_by: &["discord_bot_token", "discord_application_id", "discord_public_key"],
    read_settings: settings::read,
    bot: |state| Some(Arc::new(Bot::from_settings(&state.config)?)),
    posts_to: Some(PATH),
    routes,
    page: PlatformPage {
        room_example: "1200000000000000001",
        without_room: "direct messages to everyone who linked an account",
        room_hint: Some("The id of a channel that the bot can see and write to."),
        link_command: "/link code:",
        shows_color: true,
        shows_logo: true,
        brand_hint: "Discord shows the name, the color at the side, and the logo.",
    },
};

struct Bot {
    config: DiscordConfig,
    /// Origin of this installation.
    base_url: String,
}

impl Bot {
    /// The bot of the settings, if there is one.
    fn from_settings(config: &Config) -> Option<Self> {
        let found = config.chats.get::<DiscordConfig>().cloned();
        found.map(|found| Self { config: found, base_url: config.base_url.clone() })
    }

    /// Channel id of a room. For a person, opens the direct messages with them.
    async fn channel(&self, net_private: &pyxis_net::Client, room: &str) -> Delivery<String> {
        let Some(person) = person_of(room) else { return Ok(room.to_owned()) };
        let body = json!({ "recipient_id": person });
        let opened: api::Channel =
            self.call(net_private, Method::POST, "users/@me/channels", Some(&body)).await?;
        Ok(opened.id)
    }

    /// Posts a message to a room. Returns its id as it is stored.
    async fn post_body(
        &self,
        net_private: &pyxis_net::Client,
        room: &str,
        key: &str,
        mut body: Value,
    ) -> Delivery<String> {
        let channel = self.channel(net_private, room).await?;
        // If the answer to an earlier attempt was lost, Discord returns the message of that attempt.
        body["nonce"] = content::post_nonce(key).into();
        body["enforce_nonce"] = true.into();
        let path = format!("channels/{}/messages", api::segment(&channel));
        let posted: api::DiscordMessage = self.call(net_private, Method::POST, &path, Some(&body)).await?;
        // The channel with a person has an id of its own.
        Ok(message_ref(&channel, &posted.id))
    }

    /// Changes a message.
    async fn update(&self, net_private: &pyxis_net::Client, message_ref: &str, body: Value) -> Delivery<()> {
        let (channel, id) = message_ref
            .split_once('/')
            .ok_or_else(|| DeliveryError::Refused("the message has no channel".to_owned()))?;
        let path = format!("channels/{}/messages/{}", api::segment(channel), api::segment(id));
        self.call::<Value>(net_private, Method::PATCH, &path, Some(&body)).await.map(drop)
    }
}

/// Id of the person that a room names. Ids of people and channels look alike, so those of people start with `@`.
fn person_of(room: &str) -> Option<&str> {
    room.strip_prefix('@')
}

/// Id of an account, which is also its room.
fn account_id(person: &str) -> String {
    format!("@{person}")
}

/// Id of a message as it is stored.
fn message_ref(channel: &str, id: &str) -> String {
    format!("{channel}/{id}")
}

/// The route exists only if Discord's requests can be checked.
fn routes(state: &State) -> Router<State> {
    match Bot::from_settings(&state.config) {
        Some(_) => Router::new().route(PATH, post(endpoint::receive)),
        None => Router::new(),
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
            self.post_body(&state.net_private, &message.chat, &message.id.to_string(), content::message(card))
                .await
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
            let body = content::link_message(card);
            if let Some(id) = earlier {
                return self.update(&state.net_private, id, body).await.map(|()| id.to_owned());
            }
            self.post_body(&state.net_private, &message.chat, &card.key(&message.id.to_string()), body).await
        })
    }

    fn edit<'a>(
        &'a self,
        state: &'a State,
        _message: &'a ChatMessageRow,
        message_ref: &'a str,
        card: &'a MessageContent,
    ) -> BoxFuture<'a, Delivery<()>> {
        Box::pin(self.update(&state.net_private, message_ref, content::message(card)))
    }

    fn read_updates(self: Arc<Self>, state: State, stop: Stop) -> BoxFuture<'static, ()> {
        Box::pin(setup::run(state, self, stop))
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
