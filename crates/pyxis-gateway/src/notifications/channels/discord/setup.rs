//! Setup at startup: the command that links an account, and the channel of the first workspace.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use pyxis_core::chat::ChatPlatform;
use serde_json::{Value, json};

use super::Bot;
use super::api::segment;
use super::interaction::{CODE, LINK};
use crate::notifications::channels::first_room;
use crate::notifications::channels::platform::{Delivery, DeliveryError};
use crate::runtime::state::State;
use crate::runtime::work::Stop;

/// Wait after a failure. Discord blocks addresses with many refused calls.
const RETRY: Duration = Duration::from_mins(1);

/// Retries the setup until it is done or `stop` turns true. Discord posts interactions, so nothing is polled.
pub(super) async fn run(state: State, bot: Arc<Bot>, mut stop: Stop) {
    let channel = bot.config.channel.as_deref();
    if let Err(error) =
        first_room::set(&state.store, &state.audited, ChatPlatform::DISCORD, "discord_channel", channel).await
    {
        tracing::warn!(%error, "cannot set the first workspace's Discord channel");
    }
    let registering = async {
        while let Err(error) = register(&bot, &state.net_private).await {
            tracing::warn!(%error, "cannot register the command /link on Discord; will retry");
            let wait = if let DeliveryError::Later(wait) = error { wait } else { RETRY };
            tokio::time::sleep(wait).await;
        }
    };
    tokio::select! {
        () = registering => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// Registers the command. One of the same name is replaced, and others stay.
async fn register(bot: &Bot, net_private: &pyxis_net::Client) -> Delivery<()> {
    let path = format!("applications/{}/commands", segment(&bot.config.application_id));
    bot.call::<Value>(net_private, Method::POST, &path, Some(&command())).await.map(drop)
}

fn command() -> Value {
    json!({
        "name": LINK,
        "type": 1,
        "description": "Link your account to Pyxis",
        "options": [{
            "type": 3,
            "name": CODE,
            "description": "Code from Notifications in the dashboard",
            "required": true,
        }],
        // On a server and in direct messages with the bot.
        "integration_types": [0],
        "contexts": [0, 1],
    })
}
