//! Interface of a chat platform's folder.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::future::BoxFuture;
use pyxis_core::BoxError;
use pyxis_core::chat::ChatPlatform;
use pyxis_store::chat_messages::ChatMessageRow;

use super::link_card::LinkCard;
use super::message_content::MessageContent;
use super::settings::{SettingKey, SettingsSource};
use crate::config::ChatSettings;
use crate::error::Result;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;
use crate::runtime::work::Stop;

/// Everything that the rest of Pyxis asks of a platform's folder.
#[derive(Debug)]
pub struct PlatformDescriptor {
    pub platform: ChatPlatform,
    /// Settings, in the order of the documents.
    pub settings: &'static [SettingKey],
    /// Settings that connect the platform: the first of them, and those that it needs.
    pub connected_by: &'static [&'static str],
    /// Reads and checks the settings. Invalid ones refuse to start even if the platform is not connected.
    pub(crate) read_settings: fn(&dyn SettingsSource, &mut ChatSettings) -> Result<(), BoxError>,
    /// The bot of the settings, if there is one.
    pub(crate) bot: fn(&State) -> Option<Arc<dyn ChatBot>>,
    /// Path to which the platform posts interactions, if it does.
    pub posts_to: Option<&'static str>,
    /// Routes that the platform calls.
    pub(crate) routes: fn(&State) -> Router<State>,
    pub page: PlatformPage,
}

/// Words about a platform on the pages of the dashboard.
#[derive(Debug)]
pub struct PlatformPage {
    pub room_example: &'static str,
    /// Effect of leaving the workspace's default room blank.
    pub without_room: &'static str,
    /// Condition of a room, below the field of a policy.
    pub room_hint: Option<&'static str>,
    /// Text before a link code in a message to the bot, with the blank between them.
    pub link_command: &'static str,
    /// True if messages show the accent color of the brand.
    pub shows_color: bool,
    /// True if messages show the logo of the brand, provided that this installation is public.
    pub shows_logo: bool,
    /// Sentences about what of the brand messages show.
    pub brand_hint: &'static str,
}

/// Reasons that a call of a platform failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryError {
    /// The platform says when to come again.
    Later(Duration),
    /// It may work another time.
    Failed(String),
    /// It will not work: the platform refuses this very thing.
    Refused(String),
    /// The chat became another one, in which the bot is.
    Moved(String),
}

impl std::fmt::Display for DeliveryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Later(wait) => write!(f, "the bot is rate limited for {} seconds", wait.as_secs()),
            Self::Failed(why) | Self::Refused(why) => f.write_str(why),
            Self::Moved(to) => write!(f, "the chat moved to {to}"),
        }
    }
}

/// Outcome of a call of a platform.
pub(crate) type Delivery<T> = std::result::Result<T, DeliveryError>;

/// A connected bot.
pub(crate) trait ChatBot: Send + Sync {
    /// Posts a message. Returns its id on the platform. Without a format of its own, it only carries a link.
    fn post<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        card: &'a MessageContent,
    ) -> BoxFuture<'a, Delivery<String>> {
        Box::pin(async move { self.post_link(state, message, None, &card.link).await })
    }

    /// Posts a message that only carries a link, or changes the `earlier` one into it. Returns its id on the platform.
    /// One that announces several requests is given the oldest of them. `earlier` is `None` where the platform cannot
    /// change messages.
    fn post_link<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        earlier: Option<&'a str>,
        card: &'a LinkCard,
    ) -> BoxFuture<'a, Delivery<String>>;

    /// Changes a posted message. Never called where the platform cannot.
    fn edit<'a>(
        &'a self,
        _state: &'a State,
        _message: &'a ChatMessageRow,
        _message_ref: &'a str,
        _card: &'a MessageContent,
    ) -> BoxFuture<'a, Delivery<()>> {
        let refused = DeliveryError::Refused("messages here cannot be changed".to_owned());
        Box::pin(std::future::ready(Err(refused)))
    }

    /// Adds possible reactions to a message that was posted and recorded.
    fn add_reactions<'a>(
        &'a self,
        _state: &'a State,
        _message: &'a ChatMessageRow,
        _message_ref: &'a str,
        _card: &'a MessageContent,
    ) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Reads what people do until told to stop. Platforms without decisions have nothing to read.
    fn read_updates(self: Arc<Self>, _state: State, _stop: Stop) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Problem of the bot itself.
    fn sign_in<'a>(&'a self, state: &'a State) -> BoxFuture<'a, Option<String>>;

    /// Examines a room, and changes nothing.
    fn examine<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth>;

    /// Examines a room that is to become a setting. The bot may join it.
    fn admit<'a>(&'a self, _state: &'a State, _room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(std::future::ready(ChatHealth::Unknown))
    }

    /// Changes the settings that name a room which became `to`. Returns the reason if that is not possible yet.
    fn follow<'a>(
        &'a self,
        _state: &'a State,
        _room: &'a str,
        _to: &'a str,
    ) -> BoxFuture<'a, Result<Option<ChatHealth>>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// The routes of a platform that calls none.
pub(crate) fn no_routes(_: &State) -> Router<State> {
    Router::new()
}
