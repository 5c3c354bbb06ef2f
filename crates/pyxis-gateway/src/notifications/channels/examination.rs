//! Examination of the configured chats, so that one that the bot was removed from is reported before a message is
//! refused there. Every node examines them once a minute, and when a platform says that something changed.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use pyxis_core::chat::ChatPlatform;
use pyxis_store::{Store, chat_messages};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::moves;
use super::platform::ChatBot;
use crate::config::Config;
use crate::error::Result;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;
use crate::runtime::survival::{caught, restarted};
use crate::runtime::work::Stop;

/// Time between two rounds.
const EVERY: Duration = Duration::from_mins(1);
/// Least time between two rounds, however often the platforms report changes.
const MIN_INTERVAL: Duration = Duration::from_secs(3);
/// Maximum number of a platform's chats examined in one round. The others are examined in the next ones.
const CHATS: usize = 200;
/// Maximum time for the chats of one platform in one round.
const ROUND: Duration = Duration::from_secs(25);
/// Chats examined at once.
const AT_ONCE: usize = 4;

/// Starts the examinations, if a platform is configured.
pub(super) fn start(state: &State, stop: &Stop, loops: &mut JoinSet<()>) {
    if super::bots(state).next().is_none() {
        return;
    }
    let (state, stop) = (state.clone(), stop.clone());
    loops.spawn(restarted("chats", stop.clone(), move || run(state.clone(), stop.clone())));
}

async fn run(state: State, mut stop: Stop) {
    loop {
        let round = async {
            if let Err(error) = caught("chats", Box::pin(tick(&state))).await {
                tracing::warn!(%error, "chats could not be examined; they will be examined again");
            }
            tokio::time::sleep(MIN_INTERVAL).await;
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = state.work.examinations().notified() => {}
            }
        };
        tokio::select! {
            () = round => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// Examines the configured chats once. Settings follow chats that moved, and messages that a chat refused are due again
/// once it is usable.
pub async fn tick(state: &State) -> Result<()> {
    for (platform, bot) in super::bots(state) {
        let chats = state.chat_examinations.next(
            platform,
            configured_chats(&state.store, &state.config, platform).await?,
            CHATS,
        );
        if chats.is_empty() {
            continue;
        }
        // A platform that does not answer says nothing about its chats.
        if let Some(error) = bot.sign_in(state).await {
            tracing::debug!(platform = platform.as_str(), error, "chats cannot be examined");
            continue;
        }
        for (chat, health) in examine(state, &*bot, chats, ROUND).await {
            record_health(state, platform, &*bot, &chat, health).await?;
        }
    }
    Ok(())
}

async fn record_health(
    state: &State,
    platform: ChatPlatform,
    bot: &dyn ChatBot,
    chat: &str,
    health: ChatHealth,
) -> Result<()> {
    let health = match health {
        ChatHealth::Moved(to) => match bot.follow(state, chat, &to).await? {
            None => return Ok(()),
            Some(health) => health,
        },
        health => health,
    };
    let is_usable_again = state.chat_examinations.record(platform, chat, &health, state.now());
    if is_usable_again && chat_messages::revive(&state.store, platform, chat, state.now()).await? > 0 {
        state.work.wake_chats(platform);
    }
    Ok(())
}

/// All chats of a platform that a workspace, a policy or the operator names.
pub(crate) async fn configured_chats(
    store: &Store,
    config: &Config,
    platform: ChatPlatform,
) -> Result<BTreeSet<String>> {
    Ok(moves::configured(store, config, platform).await?.into_iter().map(|(_, chat)| chat).collect())
}

/// Examines chats for at most `limit`, and changes nothing. Chats that there was no time for are left out.
pub(crate) async fn examine(
    state: &State,
    bot: &dyn ChatBot,
    chats: Vec<String>,
    limit: Duration,
) -> Vec<(String, ChatHealth)> {
    let mut found = Vec::new();
    let examining = stream::iter(chats)
        .map(|chat| async move {
            let health = bot.examine(state, &chat).await;
            (chat, health)
        })
        .buffer_unordered(AT_ONCE)
        .for_each(|result| {
            found.push(result);
            std::future::ready(())
        });
    drop(timeout(limit, examining).await);
    found
}
