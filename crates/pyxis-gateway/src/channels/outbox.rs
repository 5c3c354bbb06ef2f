//! Posts and edits chat messages until what is shown is what is wanted.
//!
//! A platform that is down or slow only makes its own messages late, and a chat that is limited only its own. They wait
//! here, and the inbox has every request anyway.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::metric;
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::{approvals, chat_identities};

use super::approval_message::{ApprovalMessage, Common};
use super::digest::DigestStep;
use super::platform::{ChatBot, Delivery, DeliveryError};
use super::{digest, moves, unreachable};
use crate::error::Result;
use crate::identity::voters;
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
/// transaction is over.
const EDITS: i64 = 20;

/// Chats that the platform limits, with the time when it accepts messages there again.
#[derive(Default)]
struct LimitedChats(Mutex<HashMap<String, UnixMillis>>);

impl LimitedChats {
    fn until(&self, chat: &str) -> Option<UnixMillis> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(chat).copied()
    }

    fn limit(&self, chat: &str, until: UnixMillis) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(chat.to_owned(), until);
    }
}

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
    let (limited, common) = (LimitedChats::default(), Common::default());
    futures_util::stream::iter(due)
        .for_each_concurrent(AT_ONCE, |message| {
            let (limited, common) = (&limited, &common);
            async move {
                // Of a message that panics the claim runs out; the others of the round are served.
                let serving = Box::pin(serve(state, bot, &message, limited, common));
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

async fn serve(
    state: &State,
    bot: &dyn ChatBot,
    message: &ChatMessageRow,
    limited: &LimitedChats,
    common: &Common,
) -> Result<()> {
    let (store, platform) = (&state.store, message.platform);
    if let Some(until) = limited.until(&message.chat) {
        return Ok(chat_messages::release_claim(store, message, Some(until)).await?);
    }
    let Some(card) = ApprovalMessage::load(state, message, common).await? else {
        return Ok(chat_messages::release_claim(store, message, None).await?);
    };
    let told = match &message.message_ref {
        // Decided before anybody was told: there is nothing left to ask.
        None if card.state != ApprovalState::Pending => {
            return Ok(chat_messages::release_claim(store, message, None).await?);
        }
        None if !may_be_notified(state, message).await? => {
            return Ok(chat_messages::release_claim(store, message, None).await?);
        }
        None => match post(state, bot, message, &card).await? {
            Some(told) => told,
            None => return Ok(()),
        },
        // It stays as it was posted, and nothing more is due.
        Some(name) if !platform.spec().edits || digest::is_digest(name) => Ok(name.clone()),
        Some(name) => bot.edit(state, message, name, &card).await.map(|()| name.clone()),
    };
    match told {
        Ok(name) => {
            chat_messages::record_shown(store, message, card.state, &name, state.now()).await?;
            state.chat_examinations.clear_problem(platform, &message.chat);
            if message.message_ref.is_none() {
                bot.add_reactions(state, message, &name, &card).await;
            }
            if card.state == ApprovalState::Pending {
                state.work.wake_chats(platform);
            }
        }
        Err(DeliveryError::Later(wait)) => {
            let (now, until) = (state.now(), state.now().plus(wait.max(SHORTEST_LIMIT)));
            limited.limit(&message.chat, until);
            chat_messages::release_claim(store, message, Some(until)).await?;
            // The others of this chat would be refused one by one, before those of other chats.
            chat_messages::postpone(store, platform, &message.chat, now, until).await?;
        }
        Err(DeliveryError::Failed(why)) => {
            let given_up = message.message_ref.is_some() && message.attempts >= EDITS;
            let next = (!given_up).then(|| state.now().plus(wait_after(message.attempts)));
            tracing::warn!(platform = platform.as_str(), message = %message.id, why, "cannot show a message");
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

/// True for a room, and for a person who still has that very account and may still decide.
async fn may_be_notified(state: &State, message: &ChatMessageRow) -> Result<bool> {
    let Some(recipient) = message.recipient else { return Ok(true) };
    let (store, workspace) = (&state.store, message.workspace_id);
    let account = chat_identities::find(store, workspace, message.platform, &message.chat).await?;
    if account.is_none_or(|account| account.user_id != recipient) {
        return Ok(false);
    }
    let Some(row) = approvals::find(store, workspace, message.txn_id).await? else { return Ok(false) };
    let mut tx = store.begin().await?;
    let people = vec![recipient];
    let eligible = voters::eligible_among(&mut tx, workspace, row.credential_id, people).await?;
    Ok(!eligible.is_empty())
}

/// Posts a message, alone or together with others of its chat. `None` if it waits for them.
async fn post(
    state: &State,
    bot: &dyn ChatBot,
    message: &ChatMessageRow,
    card: &ApprovalMessage,
) -> Result<Option<Delivery<String>>> {
    if !bot.has_digests() {
        return Ok(Some(bot.post(state, message, card).await));
    }
    let waiting = match digest::next_step(state, message, card.facts.expires_at).await? {
        DigestStep::Single => return Ok(Some(bot.post(state, message, card).await)),
        DigestStep::Wait(until) => {
            chat_messages::release_claim(&state.store, message, Some(until)).await?;
            return Ok(None);
        }
        DigestStep::Digest(waiting) => waiting,
    };
    let shown = digest::card(state, &card.facts, waiting.len());
    let posted = bot.post_link(state, message, &shown).await.map(|id| digest::reference(&id));
    if let (Ok(reference), Some(last)) = (&posted, waiting.last()) {
        chat_messages::record_digest(&state.store, message, last.id, reference).await?;
    }
    Ok(Some(posted))
}

/// 1, 2, 4 … 60 seconds.
fn wait_after(failures: i64) -> Duration {
    let doublings = u32::try_from(failures).unwrap_or(u32::MAX).min(6);
    Duration::from_secs(1 << doublings).min(LONGEST_WAIT)
}
