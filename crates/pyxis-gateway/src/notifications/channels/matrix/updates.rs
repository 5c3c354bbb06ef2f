//! What people do: reactions, and messages that link an account.

use std::sync::Arc;
use std::time::Duration;

use pyxis_core::chat::ChatPlatform;
use pyxis_store::Store;
use pyxis_store::chat_messages::{self, ChatMessageRow};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::api::{self, Earlier, RoomEvent, Sync, Timeline, WhoAmI};
use super::{Bot, NO, WHILE, YES};
use crate::error::Result;
use crate::notifications::channels::identity::{self, Account, Action};
use crate::notifications::channels::platform::DeliveryError;
use crate::notifications::channels::{moves, reader};
use crate::runtime::state::State;
use crate::runtime::survival::caught;
use crate::runtime::work::Stop;

/// The lease of the one node that reads.
const LEASE: &str = "matrix updates";
/// How long one look waits for news.
const POLL: Duration = Duration::from_secs(30);
/// Time by which the lease outlasts a sync.
const MARGIN: Duration = Duration::from_secs(30);
/// Minimum time between two syncs without content.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// What we want to hear of.
const KINDS: [&str; 6] =
    ["m.reaction", "m.room.message", TOMBSTONE, "m.room.power_levels", "m.room.encryption", "m.room.member"];
/// State of a room that was upgraded.
const TOMBSTONE: &str = "m.room.tombstone";
/// Events of a room that one look brings; more are asked for page by page.
const PAGE: u32 = 100;
/// Most of those pages: as much as happens in a room while this side or the homeserver is down for long.
const PAGES: usize = 50;
/// Looks for the message of a reaction, and the wait between them.
const LOOKS: usize = 4;
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Reads until told to stop.
pub(super) async fn run(state: State, bot: Arc<Bot>, stop: Stop) {
    let reading = async {
        let me = loop {
            match bot.get::<WhoAmI>(&state.net_private, "account/whoami", Duration::ZERO).await {
                Ok(me) => break me.user_id,
                Err(error) => {
                    tracing::warn!(?error, "cannot sign in the Matrix bot yet; will retry");
                    reader::back_off(&error).await;
                }
            }
        };
        loop {
            match caught("matrix", Box::pin(round(&state, &bot, &me))).await {
                Ok(None) => {}
                Ok(Some(error)) => {
                    tracing::warn!(?error, "cannot read events from the homeserver; will retry");
                    reader::back_off(&error).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot handle an event of a Matrix room; will retry");
                    tokio::time::sleep(reader::WAIT).await;
                }
            }
        }
    };
    Box::pin(reader::poll_loop(&state.store, state.node, LEASE, stop, reading)).await;
}

/// One look, if this node is the one that reads.
async fn round(state: &State, bot: &Bot, me: &str) -> Result<Option<DeliveryError>> {
    if !reader::is_ours(&state.store, state.node, state.now(), LEASE, POLL + MARGIN).await? {
        return Ok(None);
    }
    let since = chat_messages::cursor(&state.store, ChatPlatform::MATRIX).await?;
    let wait = if since.is_some() { POLL } else { Duration::ZERO };
    let path = match &since {
        Some(since) => format!(
            "sync?timeout={}&since={}&filter={}",
            POLL.as_millis(),
            api::segment(since),
            api::segment(&filter(PAGE).to_string())
        ),
        // The first sync only fetches the position: earlier messages decide nothing.
        None => format!("sync?timeout=0&filter={}", api::segment(&filter(0).to_string())),
    };
    let asked = Instant::now();
    let sync: Sync = match bot.get(&state.net_private, &path, wait).await {
        Ok(sync) => sync,
        Err(error) => return Ok(Some(error)),
    };
    if sync.rooms.join.is_empty() && asked.elapsed() < MIN_POLL_INTERVAL {
        // A server that does not hold the look is not asked all the time.
        tokio::time::sleep(MIN_POLL_INTERVAL).await;
    }
    for room in sync.rooms.invite.keys() {
        match bot.join_room(&state.net_private, room).await {
            Ok(room) => invited(state, bot, &room).await?,
            Err(error) => {
                tracing::warn!(?error, "the Matrix bot cannot join a room that it was invited to");
            }
        }
    }
    // A homeserver names a room that the bot was put out of only together with the membership event.
    if !sync.rooms.leave.is_empty() {
        state.work.examinations().notify_one();
    }
    if let Some(since) = &since {
        // All of it is read before anything is handled: what cannot be read yet is taken again, as a whole.
        let mut heard = Vec::new();
        for (room, news) in &sync.rooms.join {
            match missed(&state.net_private, bot, room, since, &news.timeline).await {
                Ok(missed) => heard.push((room, missed, &news.timeline.events)),
                Err(error) => return Ok(Some(error)),
            }
        }
        for (room, missed, events) in heard {
            for event in missed.iter().rev().chain(events).filter(|event| event.sender != me) {
                handle(state, bot, room, event).await?;
            }
        }
    }
    chat_messages::set_cursor(&state.store, ChatPlatform::MATRIX, &sync.next_batch).await?;
    Ok(None)
}

/// The bot is in a room, perhaps again: what was refused there is posted, and a room that was upgraded to this one is
/// followed.
async fn invited(state: &State, bot: &Bot, room: &str) -> Result<()> {
    state.work.examinations().notify_one();
    let mut revived = chat_messages::revive(&state.store, ChatPlatform::MATRIX, room, state.now()).await?;
    for (_, name) in moves::configured(&state.store, &state.config, ChatPlatform::MATRIX).await? {
        if let Ok(id) = bot.resolve(&state.net_private, &name).await {
            // Messages of a room that is named by its alias carry the alias.
            if id == room && name != room {
                revived +=
                    chat_messages::revive(&state.store, ChatPlatform::MATRIX, &name, state.now()).await?;
            }
            drop(bot.follow(state, &id).await?);
        }
    }
    if revived > 0 {
        state.work.wake_chats(ChatPlatform::MATRIX);
    }
    Ok(())
}

/// What happened in a room since the last look and was too much for this one, newest first.
async fn missed(
    net_private: &pyxis_net::Client,
    bot: &Bot,
    room: &str,
    since: &str,
    timeline: &Timeline,
) -> std::result::Result<Vec<RoomEvent>, DeliveryError> {
    let mut missed = Vec::new();
    let mut from = timeline.prev_batch.clone().filter(|_| timeline.limited);
    for _ in 0..PAGES {
        let Some(at) = from else { return Ok(missed) };
        let path = format!(
            "rooms/{}/messages?dir=b&from={}&to={}&limit={PAGE}&filter={}",
            api::segment(room),
            api::segment(&at),
            api::segment(since),
            api::segment(&json!({ "types": KINDS }).to_string())
        );
        let page: Earlier = match bot.get(net_private, &path, Duration::ZERO).await {
            Ok(page) => page,
            // The room is ours no longer, or the place is gone: what cannot be read is not waited for.
            Err(DeliveryError::Refused(why)) => {
                tracing::warn!(room, why, "cannot read earlier events of a Matrix room");
                return Ok(missed);
            }
            Err(error) => return Err(error),
        };
        // A page may be empty and not the last: what it held was filtered out.
        missed.extend(page.chunk);
        from = page.end.filter(|end| *end != at);
    }
    tracing::warn!(room, "a Matrix room has more new events than are read at once; the earliest are skipped");
    Ok(missed)
}

fn filter(limit: u32) -> Value {
    let none = json!({ "types": [] });
    json!({
        "presence": none,
        "account_data": none,
        "room": {
            "timeline": { "types": KINDS, "limit": limit },
            "state": none,
            "ephemeral": none,
            "account_data": none,
        },
    })
}

async fn handle(state: &State, bot: &Bot, room: &str, event: &RoomEvent) -> Result<()> {
    let account = Account { platform: ChatPlatform::MATRIX, id: &event.sender, label: &event.sender };
    let said = match event.kind.as_str() {
        "m.reaction" => reacted(state, room, event, &account).await?,
        "m.room.message" => written(state, event, &account).await?,
        TOMBSTONE if event.state_key.as_deref() == Some("") => {
            if let Some(error) = bot.follow(state, room).await? {
                tracing::warn!(room, ?error, "cannot follow an upgraded Matrix room yet; will retry");
            }
            None
        }
        "m.room.power_levels" | "m.room.encryption" => {
            state.work.examinations().notify_one();
            None
        }
        _ => None,
    };
    if let Some(text) = said {
        let content = json!({
            "msgtype": "m.notice",
            "body": text,
            "m.relates_to": { "m.in_reply_to": { "event_id": event.id } },
        });
        let key = format!("reply-{}", event.id);
        if let Err(error) = bot.send(&state.net_private, room, "m.room.message", &key, &content).await {
            tracing::debug!(?error, "cannot reply to a person on Matrix");
        }
    }
    Ok(())
}

/// Takes the word of a reaction. What took effect shows in the message itself; else, what to answer.
async fn reacted(
    state: &State,
    room: &str,
    event: &RoomEvent,
    account: &Account<'_>,
) -> Result<Option<String>> {
    let relation = &event.content["m.relates_to"];
    let (Some(to), Some(key)) = (relation["event_id"].as_str(), relation["key"].as_str()) else {
        return Ok(None);
    };
    if relation["rel_type"] != "m.annotation" {
        return Ok(None);
    }
    // Clients add a variation selector to some.
    let action = match key.trim_end_matches('\u{fe0f}') {
        YES => Action::Approve,
        WHILE => Action::ApproveWithGrant,
        NO => Action::Deny,
        _ => return Ok(None),
    };
    let found = find(&state.store, to).await?;
    // An alias names a room that only the homeserver knows the id of.
    let found = found.filter(|message| message.chat == room || message.chat.starts_with('#'));
    let Some(message) = found else { return Ok(None) };
    let said = identity::act(state, &message, account, action).await?;
    Ok((!said.done).then_some(said.text))
}

/// The message that a reaction is about. Somebody can be quicker than the note of what was posted.
async fn find(store: &Store, event: &str) -> Result<Option<ChatMessageRow>> {
    for _ in 0..LOOKS {
        let found = chat_messages::find_by_ref(store, ChatPlatform::MATRIX, event).await?;
        if found.is_some() {
            return Ok(found);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Ok(None)
}

/// `!link CODE`; what to answer.
async fn written(state: &State, event: &RoomEvent, account: &Account<'_>) -> Result<Option<String>> {
    let mut words = event.content["body"].as_str().unwrap_or_default().split_whitespace();
    match (words.next(), words.next()) {
        (Some("!link"), Some(code)) => identity::link(state, account, code).await.map(Some),
        _ => Ok(None),
    }
}
