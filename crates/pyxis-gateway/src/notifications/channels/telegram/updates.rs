//! What people do: buttons, and messages that link an account.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State as Extract;
use http::{HeaderMap, StatusCode};
use pyxis_core::chat::ChatPlatform;
use pyxis_http::openapi::responses::{Internal, NotFound, SignInNeeded, Unavailable};
use pyxis_store::chat_messages;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Bot;
use super::api::{BotUpdate, Callback, Incoming};
use crate::approvals::announce::chats::nonce_hash;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::notifications::channels::identity::{self, Account, Action};
use crate::notifications::channels::platform::DeliveryError;
use crate::notifications::channels::{inbound, moves, reader};
use crate::problems::{PostTooLarge, PostTooSlow};
use crate::runtime::state::State;
use crate::runtime::survival::caught;
use crate::runtime::work::Stop;

/// The lease of the one node that polls.
const LEASE: &str = "telegram updates";
/// Time by which the lease and the limit of the call outlast a poll.
const MARGIN: Duration = Duration::from_secs(15);
/// Minimum time between two polls without updates.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Update types to receive.
const UPDATE_TYPES: [&str; 3] = ["message", "callback_query", "my_chat_member"];
/// Reply to a private message that is not a link code.
const HELP: &str = "Create a code in the Pyxis dashboard under Notifications, then send: /link CODE";
/// The header that carries the webhook secret.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";

/// Reads updates until told to stop; in webhook mode, only says where to post them.
pub(super) async fn run(state: State, bot: Arc<Bot>, stop: Stop) {
    let reading = async {
        while let Err(error) = introduce(&state.config, &state.net_private, &bot).await {
            tracing::warn!(?error, "cannot set up the Telegram bot yet; will retry");
            // Polling shows soon enough whether it works all the same.
            if bot.config.webhook_secret.is_none() {
                break;
            }
            reader::back_off(&error).await;
        }
        if bot.config.webhook_secret.is_some() {
            return;
        }
        loop {
            match caught("telegram", Box::pin(round(&state, &bot))).await {
                Ok(None) => {}
                Ok(Some(error)) => {
                    tracing::warn!(?error, "cannot read Telegram updates; will retry");
                    reader::back_off(&error).await;
                    drop(introduce(&state.config, &state.net_private, &bot).await);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot handle a Telegram update; will retry");
                    tokio::time::sleep(reader::WAIT).await;
                }
            }
        }
    };
    Box::pin(reader::poll_loop(&state.store, state.node, LEASE, stop, reading)).await;
}

/// Says how updates should come; the Bot API refuses polling while a webhook is set.
async fn introduce(
    config: &Config,
    net_private: &pyxis_net::Client,
    bot: &Bot,
) -> std::result::Result<(), DeliveryError> {
    let (method, body) = match &bot.config.webhook_secret {
        None => ("deleteWebhook", json!({})),
        Some(secret) => (
            "setWebhook",
            json!({
                "url": format!("{}/telegram/webhook", config.base_url),
                "secret_token": secret.expose().as_str(),
                "allowed_updates": UPDATE_TYPES,
            }),
        ),
    };
    bot.call::<Value>(net_private, method, &body).await.map(drop)
}

/// One poll, if this node is the one that polls.
async fn round(state: &State, bot: &Bot) -> Result<Option<DeliveryError>> {
    let poll = bot.config.poll;
    if !reader::is_ours(&state.store, state.node, state.now(), LEASE, poll + MARGIN + MARGIN).await? {
        return Ok(None);
    }
    let cursor = chat_messages::cursor(&state.store, ChatPlatform::TELEGRAM).await?;
    let offset: i64 = cursor.and_then(|text| text.parse().ok()).unwrap_or(0);
    let body = json!({ "offset": offset, "timeout": poll.as_secs(), "allowed_updates": UPDATE_TYPES });
    let asked = Instant::now();
    let updates: Vec<BotUpdate> =
        match bot.call_for(&state.net_private, "getUpdates", &body, poll + MARGIN).await {
            Ok(updates) => updates,
            Err(error) => return Ok(Some(error)),
        };
    if updates.is_empty() && asked.elapsed() < MIN_POLL_INTERVAL {
        // A server that does not hold the poll is not asked all the time.
        tokio::time::sleep(MIN_POLL_INTERVAL).await;
    }
    for update in updates {
        let next = update.id + 1;
        handle(state, bot, update).await?;
        // Only what was handled is acknowledged; buttons that are pressed twice decide once.
        chat_messages::set_cursor(&state.store, ChatPlatform::TELEGRAM, &next.to_string()).await?;
    }
    Ok(None)
}

/// Receive an update of the Telegram bot.
///
/// Served only if `PX_TELEGRAM_WEBHOOK_SECRET` is set; otherwise updates are polled.
#[utoipa::path(
    post,
    path = "/telegram/webhook",
    tag = "Approvals",
    operation_id = "takeTelegramUpdate",
    params(
        ("X-Telegram-Bot-Api-Secret-Token" = String, Header, description = "The secret from the settings."),
    ),
    request_body = BotUpdate,
    responses(
        (status = 200, description = "Accepted."),
        (status = 401, response = SignInNeeded),
        (status = 404, response = NotFound),
        (status = 408, response = PostTooSlow),
        (status = 413, response = PostTooLarge),
        (status = 500, response = Internal),
        (status = 503, response = Unavailable),
    ),
)]
pub(crate) async fn webhook(
    Extract(state): Extract<State>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode> {
    let bot = Bot::from_settings(&state.config).ok_or(Error::not_found("webhook"))?;
    let secret = bot.config.webhook_secret.as_ref().ok_or(Error::not_found("webhook"))?;
    let sent = headers.get(SECRET_HEADER).ok_or(Error::Unauthenticated)?;
    if !secret.matches(sent.as_bytes()) {
        return Err(Error::Unauthenticated);
    }
    let body = inbound::read_body(body).await?;
    handle(&state, &bot, inbound::read_json(&body)?).await?;
    Ok(StatusCode::OK)
}

async fn handle(state: &State, bot: &Bot, update: BotUpdate) -> Result<()> {
    if let Some(callback) = update.callback_query {
        let text = press(state, &callback).await?;
        let body =
            json!({ "callback_query_id": callback.id, "text": truncate_alert(&text), "show_alert": true });
        send_reply(&state.net_private, bot, "answerCallbackQuery", &body).await;
    } else if let Some(membership) = update.my_chat_member {
        let is_in = matches!(membership.new_chat_member.status.as_str(), "member" | "administrator");
        let (chat, now) = (membership.chat.id.to_string(), state.now());
        state.work.examinations().notify_one();
        if is_in && chat_messages::revive(&state.store, ChatPlatform::TELEGRAM, &chat, now).await? > 0 {
            state.work.wake_chats(ChatPlatform::TELEGRAM);
        }
    } else if let Some((from, to)) = update.message.as_ref().and_then(group_migration) {
        moves::rename_chat(state, ChatPlatform::TELEGRAM, &from, &to).await?;
    } else if let Some(message) = update.message
        && let Some(text) = written(state, &message).await?
    {
        send_reply(
            &state.net_private,
            bot,
            "sendMessage",
            &json!({ "chat_id": message.chat.id, "text": text }),
        )
        .await;
    }
    Ok(())
}

/// The group and the supergroup that it became, where a message says so.
fn group_migration(message: &Incoming) -> Option<(String, String)> {
    let here = message.chat.id;
    let pair = match (message.migrate_from_chat_id, message.migrate_to_chat_id) {
        (Some(from), _) => (from, here),
        (None, Some(to)) => (here, to),
        (None, None) => return None,
    };
    Some((pair.0.to_string(), pair.1.to_string()))
}

/// An answer to a person. What they did is done, so this is tried once.
async fn send_reply(net_private: &pyxis_net::Client, bot: &Bot, method: &str, body: &Value) {
    if let Err(error) = bot.call::<Value>(net_private, method, body).await {
        tracing::debug!(?error, method, "cannot reply to a person on Telegram");
    }
}

/// Takes the word of a button; what to answer.
async fn press(state: &State, callback: &Callback) -> Result<String> {
    let gone = || "This button no longer works.".to_owned();
    let Some((action, nonce)) = callback.data.as_deref().and_then(|data| data.split_once(':')) else {
        return Ok(gone());
    };
    let action = match action {
        "a" => Action::Approve,
        "g" => Action::ApproveWithGrant,
        "d" => Action::Deny,
        _ => return Ok(gone()),
    };
    let found =
        chat_messages::find_by_nonce(&state.store, ChatPlatform::TELEGRAM, &nonce_hash(nonce)).await?;
    let Some(message) = found else { return Ok(gone()) };
    // An id counts within its chat only.
    let pressed = callback.message.as_ref().filter(|pressed| pressed.chat.id.to_string() == message.chat);
    inbound::remember_posted(
        &state.store,
        state.now(),
        &message,
        pressed.map(|pressed| pressed.message_id.to_string()),
    )
    .await;
    let (id, label) = (callback.from.id.to_string(), callback.from.label());
    let account = Account { platform: ChatPlatform::TELEGRAM, id: &id, label: &label };
    Ok(identity::act(state, &message, &account, action).await?.text)
}

/// A private message `/link CODE`, or the start by a link that carries the code; what to answer.
async fn written(state: &State, message: &Incoming) -> Result<Option<String>> {
    let (Some(from), Some(text)) = (&message.from, &message.text) else { return Ok(None) };
    if message.chat.kind != "private" {
        return Ok(None);
    }
    let mut words = text.split_whitespace();
    let (Some("/link" | "/start"), Some(code)) = (words.next(), words.next()) else {
        return Ok(Some(HELP.to_owned()));
    };
    let (id, label) = (from.id.to_string(), from.label());
    let account = Account { platform: ChatPlatform::TELEGRAM, id: &id, label: &label };
    identity::link(state, &account, code).await.map(Some)
}

/// An alert has at most 200 characters.
fn truncate_alert(text: &str) -> String {
    text.chars().take(200).collect()
}
