//! Posts and edits chat messages until what is shown is what is wanted.
//!
//! A platform that is down or slow only makes its own messages late, and a chat that is limited only its own. They wait
//! here, and the inbox has every request anyway.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::metric;
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::message_subject::{MessageState, MessageSubject};
use pyxis_store::{Store, chat_identities};

use super::digest::DigestStep;
use super::message_content::{Common, MessageContent};
use super::platform::{ChatBot, Delivery, DeliveryError};
use super::{approval_message, digest, moves, task_message, unreachable};
use crate::approvals::announce::approval_subject::ApprovalSubject;
use crate::error::Result;
use crate::runtime::metrics_recorder::DeliveryCounters;
use crate::runtime::state::State;
use crate::runtime::survival::caught;
use crate::runtime::work::Stop;

/// Messages claimed in one round.
const ROUND: u32 = 32;
/// Messages under way at once.
const AT_ONCE: usize = 8;
/// How long a claim holds; longer than any call.
const CLAIM: Duration = Duration::from_mins(1);
/// Longest sleep, in case another process stored something.
const NAP: Duration = Duration::from_secs(2);
/// The sleep where more is due already.
const MORE: Duration = Duration::from_millis(1);
/// Longest wait between attempts.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// Least time for which a chat counts as limited, whatever the platform says.
const SHORTEST_LIMIT: Duration = Duration::from_secs(1);
/// After so many failures in a row an edit is given up. A message that was never posted is tried until its
/// request or task is over.
const EDITS: i64 = 20;

/// Posts and edits until told to stop.
pub(super) async fn run(state: State, platform: ChatPlatform, bot: Arc<dyn ChatBot>, mut stop: Stop) {
    loop {
        let ticked = async {
            let nap = tick(&state, platform, &*bot).await?;
            measure(&state, platform).await?;
            Ok::<_, crate::error::Error>(nap)
        };
        let nap = match caught(platform.as_str(), ticked).await {
            Ok(nap) => nap,
            Err(error) => {
                tracing::warn!(platform = platform.as_str(), %error, "cannot read messages");
                NAP
            }
        };
        tokio::select! {
            () = state.work.chats_due(platform) => {}
            () = tokio::time::sleep(nap) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// Tells how many chats that are configured cannot be reached.
async fn measure(state: &State, platform: ChatPlatform) -> Result<()> {
    let count = u32::try_from(unreachable::list(state, platform).await?.len()).unwrap_or(u32::MAX);
    metrics::gauge!(metric::CHATS_UNREACHABLE.name, "platform" => platform.as_str()).set(count);
    Ok(())
}

/// Posts and edits until nothing is due.
pub(super) async fn deliver_due(state: &State, platform: ChatPlatform, bot: &dyn ChatBot) -> Result<()> {
    while tick(state, platform, bot).await? <= MORE {}
    Ok(())
}

/// One round: what is due is posted or edited. How long nothing more can be due.
pub(super) async fn tick(state: &State, platform: ChatPlatform, bot: &dyn ChatBot) -> Result<Duration> {
    let now = state.now();
    let due = chat_messages::claim(&state.store, platform, now, now.plus(CLAIM), ROUND).await?;
    let more = due.len() == ROUND as usize;
    let common = Common::default();
    futures_util::stream::iter(due)
        .for_each_concurrent(AT_ONCE, |message| {
            let common = &common;
            async move {
                // Of a message that panics the claim runs out; the others of the round are served.
                let serving = Box::pin(serve(state, bot, &message, common));
                if let Err(error) = caught(platform.as_str(), serving).await {
                    tracing::warn!(message = %message.id, %error, "cannot show or record a message");
                }
            }
        })
        .await;
    if more {
        return Ok(MORE);
    }
    let next = chat_messages::next_due(&state.store, platform, now).await?;
    Ok(next.map_or(NAP, |next| next.since(state.now()).min(NAP)).max(MORE))
}

/// The message as it should be now; `None` when there is nothing to tell any more.
async fn load_content(
    state: &State,
    message: &ChatMessageRow,
    common: &Common,
) -> Result<Option<MessageContent>> {
    match message.subject {
        MessageSubject::Request(txn) => approval_message::load(state, message, txn, common).await,
        MessageSubject::Task(task) => task_message::load(state, message, task).await,
    }
}

async fn serve(state: &State, bot: &dyn ChatBot, message: &ChatMessageRow, common: &Common) -> Result<()> {
    let (store, platform) = (&state.store, message.platform);
    // A message that became due during the limit of its chat waits for the end of it, too.
    if let Some(until) = state.chat_limits.end(platform, &message.chat, state.now()) {
        return Ok(chat_messages::release_claim(store, message, Some(until)).await?);
    }
    let Some(card) = load_content(state, message, common).await? else {
        return Ok(chat_messages::release_claim(store, message, None).await?);
    };
    let Some(told) = show(state, bot, message, &card).await? else { return Ok(()) };
    // A message that stays as it was posted asks nothing of the platform.
    let is_edit = |name: &String| platform.spec().edits && !digest::is_digest(name);
    if message.message_ref.as_ref().is_none_or(is_edit) {
        count(platform, &told);
    }
    record(state, bot, message, &card, told).await
}

/// Posts or edits a message. `None` if nothing is to be shown now; its claim is released then.
async fn show(
    state: &State,
    bot: &dyn ChatBot,
    message: &ChatMessageRow,
    card: &MessageContent,
) -> Result<Option<Delivery<String>>> {
    let store = &state.store;
    let is_over = card.state != MessageState::Pending || card.expires_at <= state.now();
    Ok(match &message.message_ref {
        // Decided or overdue before anybody was told: there is nothing left to ask.
        None if is_over || !may_be_notified(store, message).await? => {
            chat_messages::release_claim(store, message, None).await?;
            None
        }
        None => post(state, bot, message, card).await?,
        // It stays as it was posted, and nothing more is due.
        Some(name) if !message.platform.spec().edits || digest::is_digest(name) => Some(Ok(name.clone())),
        Some(name) => Some(bot.edit(state, message, name, card).await.map(|()| name.clone())),
    })
}

/// Records the outcome of an attempt, and when the next one is due.
async fn record(
    state: &State,
    bot: &dyn ChatBot,
    message: &ChatMessageRow,
    card: &MessageContent,
    told: Delivery<String>,
) -> Result<()> {
    let (store, platform) = (&state.store, message.platform);
    match told {
        Ok(name) => {
            chat_messages::record_shown(store, message, card.state, &name, state.now()).await?;
            state.chat_examinations.clear_problem(platform, &message.chat);
            if message.message_ref.is_none() && !digest::is_digest(&name) {
                bot.add_reactions(state, message, &name, card).await;
            }
            if card.state == MessageState::Pending {
                state.work.wake_chats(platform);
            }
        }
        Err(DeliveryError::Later(wait)) => {
            let (now, until) = (state.now(), state.now().plus(wait.max(SHORTEST_LIMIT)));
            state.chat_limits.limit(platform, &message.chat, now, until);
            chat_messages::release_claim(store, message, Some(until)).await?;
            // The others of this chat would be refused one by one, before those of other chats.
            chat_messages::postpone(store, platform, &message.chat, now, until).await?;
        }
        Err(DeliveryError::Failed(why)) => {
            let given_up = message.message_ref.is_some() && message.attempts >= EDITS;
            let next = (!given_up).then(|| state.now().plus(wait_after(message.attempts)));
            tracing::warn!(platform = platform.as_str(), message = %message.id, why, "cannot post or edit a message");
            chat_messages::failed(store, message, &why, next).await?;
        }
        Err(DeliveryError::Moved(to)) => moves::rename_chat(state, platform, &message.chat, &to).await?,
        Err(DeliveryError::Refused(why)) => {
            tracing::warn!(platform = platform.as_str(), message = %message.id, why, "the platform refused a message");
            chat_messages::failed(store, message, &why, None).await?;
        }
    }
    Ok(())
}

/// Counts an attempt that the platform answered, or that could not reach it.
fn count(platform: ChatPlatform, told: &Delivery<String>) {
    let is_delivered = match told {
        Ok(_) => true,
        Err(DeliveryError::Failed(_) | DeliveryError::Refused(_)) => false,
        // It is made again, elsewhere or later.
        Err(DeliveryError::Later(_) | DeliveryError::Moved(_)) => return,
    };
    DeliveryCounters::new(platform.as_str()).attempted(is_delivered);
}

/// True for a room, and for a person who still has that very account and may still decide.
async fn may_be_notified(store: &Store, message: &ChatMessageRow) -> Result<bool> {
    let Some(recipient) = message.recipient else { return Ok(true) };
    let workspace = message.workspace_id;
    let account = chat_identities::find(store, workspace, message.platform, &message.chat).await?;
    if account.is_none_or(|account| account.user_id != recipient) {
        return Ok(false);
    }
    let mut tx = store.begin().await?;
    ApprovalSubject::may_be_decided_by(&mut tx, workspace, message.subject, recipient).await
}

/// Posts a message, alone or together with others of its chat. `None` if it waits for them.
async fn post(
    state: &State,
    bot: &dyn ChatBot,
    message: &ChatMessageRow,
    card: &MessageContent,
) -> Result<Option<Delivery<String>>> {
    let waiting = match digest::next_step(state, message, card.expires_at).await? {
        DigestStep::Single => return Ok(Some(bot.post(state, message, card).await)),
        DigestStep::Wait(until) => {
            chat_messages::release_claim(&state.store, message, Some(until)).await?;
            return Ok(None);
        }
        DigestStep::Digest(waiting) => waiting,
    };
    let now = state.now();
    let posted = post_digest(state, bot, message, &waiting, &card.link.brand).await?;
    let posted = posted.map(|id| digest::reference(&id));
    if let (Ok(reference), Some(last)) = (&posted, waiting.last()) {
        chat_messages::record_digest(&state.store, message, last.id, reference, now).await?;
    }
    Ok(Some(posted))
}

/// Announces messages of a chat together, in an earlier message of the same flood where that is possible. Returns the
/// id on the platform.
async fn post_digest(
    state: &State,
    bot: &dyn ChatBot,
    first: &ChatMessageRow,
    waiting: &[ChatMessageRow],
    brand: &str,
) -> Result<Delivery<String>> {
    let joined = digest::list_joined(&state.store, first).await?;
    if let Some(earlier) = joined.first().and_then(|row| digest::id(row.message_ref.as_deref()?)) {
        let together = [&joined[..], waiting].concat();
        let shown = digest::card(&state.config, brand, &together);
        match bot.post_link(state, first, Some(earlier), &shown).await {
            // Somebody deleted it.
            Err(DeliveryError::Refused(why)) => {
                tracing::debug!(why, "cannot change a message; another one is posted");
            }
            told => return Ok(told),
        }
    }
    let shown = digest::card(&state.config, brand, waiting);
    Ok(bot.post_link(state, first, None, &shown).await)
}

/// 1, 2, 4 … 60 seconds.
fn wait_after(failures: i64) -> Duration {
    let doublings = u32::try_from(failures).unwrap_or(u32::MAX).min(6);
    Duration::from_secs(1 << doublings).min(LONGEST_WAIT)
}
