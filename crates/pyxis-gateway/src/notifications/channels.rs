//! Chats, in which approvals are announced and decided with buttons or reactions.
//!
//! Messages are rows, stored with the change that they announce ([`crate::approvals::announce`]). For each platform
//! an outbox posts and edits them, and a reader receives people's actions. Nothing else waits for either.
//!
//! A platform is a folder here and a line in [`PLATFORMS`], with its names in [`pyxis_core::chat`]. Everything else works
//! with all that are registered (`docs/guides/add-a-chat-platform.md`).

mod approval_message;
pub mod card;
mod digest;
pub mod discord;
pub mod email;
mod endpoints;
pub mod examination;
mod first_room;
mod flat;
mod identity;
mod inbound;
mod link_card;
pub mod matrix;
mod message_content;
pub(crate) mod moves;
pub mod ntfy;
mod outbox;
mod payload;
pub mod platform;
mod reader;
mod sections;
pub mod settings;
pub mod slack;
mod task_message;
pub mod teams;
pub mod telegram;
pub(crate) mod unreachable;
mod web_call;

use std::sync::Arc;

use axum::Router;
use pyxis_core::BoxError;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::hex;
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;

use self::platform::{ChatBot, PlatformDescriptor};
use self::settings::SettingsSource;
use crate::config::ChatSettings;
use crate::error::Result;
use crate::runtime::state::State;
use crate::runtime::survival::restarted;
use crate::runtime::work::Stop;
use utoipa_axum::router::UtoipaMethodRouter;
use utoipa_axum::routes;

pub use self::endpoints::Endpoints;

/// The platforms that Pyxis speaks, in the order of [`ChatPlatform::ALL`].
pub static PLATFORMS: &[PlatformDescriptor] = &[
    telegram::DESCRIPTOR,
    matrix::DESCRIPTOR,
    slack::DESCRIPTOR,
    discord::DESCRIPTOR,
    email::DESCRIPTOR,
    ntfy::DESCRIPTOR,
    teams::DESCRIPTOR,
    card::DESCRIPTOR,
];

/// Reads the settings of every platform.
pub fn read_settings(source: &dyn SettingsSource) -> Result<ChatSettings, BoxError> {
    let mut chats = ChatSettings::default();
    for described in PLATFORMS {
        (described.read_settings)(source, &mut chats)?;
    }
    Ok(chats)
}

/// The bots of the connected platforms.
pub(crate) fn bots(state: &State) -> impl Iterator<Item = (ChatPlatform, Arc<dyn ChatBot>)> {
    PLATFORMS.iter().filter_map(|described| Some((described.platform, (described.bot)(state)?)))
}

/// The bot of a platform, if it is connected.
pub(crate) fn bot(state: &State, platform: ChatPlatform) -> Option<Arc<dyn ChatBot>> {
    bots(state).find(|(connected, _)| *connected == platform).map(|(_, bot)| bot)
}

/// Descriptions of the routes that connected platforms call.
pub(crate) fn describe_routes() -> impl Iterator<Item = UtoipaMethodRouter<State>> {
    [routes!(telegram::webhook), routes!(slack::receive), routes!(discord::receive)].into_iter()
}

/// Routes that connected platforms call.
pub(crate) fn routes(state: &State) -> Router<State> {
    PLATFORMS.iter().fold(Router::new(), |router, described| router.merge((described.routes)(state)))
}

/// Starts the connected platforms: one loop that posts, and one that reads where people decide there.
pub(crate) fn start(state: &State, stop: &Stop, loops: &mut JoinSet<()>) {
    for (platform, bot) in bots(state) {
        let posting = (state.clone(), Arc::clone(&bot), stop.clone());
        loops.spawn(restarted(platform.as_str(), stop.clone(), move || {
            let (state, bot, stop) = posting.clone();
            outbox::run(state, platform, bot, stop)
        }));
        if platform.spec().decides {
            let reading = (state.clone(), bot, stop.clone());
            loops.spawn(restarted(platform.as_str(), stop.clone(), move || {
                let (state, bot, stop) = reading.clone();
                bot.read_updates(state, stop)
            }));
        }
    }
    examination::start(state, stop, loops);
}

/// Posts and edits everything due now on the connected platforms.
pub async fn deliver_due(state: &State) -> Result<()> {
    for (platform, bot) in bots(state) {
        outbox::deliver_due(state, platform, &*bot).await?;
    }
    Ok(())
}

/// Hash under which a link code is stored. Codes are typed by hand, so case and blanks are ignored.
pub(crate) fn code_hash(code: &str) -> String {
    hex::encode(&Sha256::digest(code.trim().to_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_that_can_be_stored_has_a_folder() {
        let described: Vec<_> = PLATFORMS.iter().map(|described| described.platform).collect();
        assert_eq!(described, ChatPlatform::ALL);
    }

    #[test]
    fn a_platform_is_connected_by_settings_of_its_own() {
        for described in PLATFORMS {
            assert!(!described.connected_by.is_empty(), "{:?}", described.platform);
            for name in described.connected_by {
                assert!(described.settings.iter().any(|key| key.name == *name), "{name}");
            }
        }
    }
}
