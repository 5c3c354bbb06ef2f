//! Posts and edits chat messages until what is shown is what is wanted.
//!
//! A platform that is down, slow or limits us only makes its own messages late: they wait here, and the
//! inbox has every request anyway.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_store::chat_messages::{self, ChatMessageRow, ChatPlatform};

use super::approval_message::{ApprovalMessage, Common};
use super::{moves, unreachable};
use crate::error::Result;
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
/// After so many failures in a row an edit is given up. A message that was never posted is tried until its
/// transaction is over.
const EDITS: i64 = 20;

/// Why a call of a platform came to nothing.
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

/// A platform as the outbox needs it.
pub(crate) trait ChatPlatformClient: Send + Sync + 'static {
    /// Which one.
    const PLATFORM: ChatPlatform;

    /// Posts; the platform's name of the message.
    fn post(
        &self,
        state: &State,
        message: &ChatMessageRow,
        card: &ApprovalMessage,
    ) -> impl Future<Output = std::result::Result<String, DeliveryError>> + Send;

    /// Adds to a message that was posted and is on record what people may answer with.
    fn add_reactions(
        &self,
        _state: &State,
        _message: &ChatMessageRow,
        _message_ref: &str,
        _card: &ApprovalMessage,
    ) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Shows something else in a message that was posted.
    fn edit(
        &self,
        state: &State,
        message: &ChatMessageRow,
        message_ref: &str,
        card: &ApprovalMessage,
    ) -> impl Future<Output = std::result::Result<(), DeliveryError>> + Send;
}

/// Posts and edits until told to stop.
pub(super) async fn run<P: ChatPlatformClient>(state: State, poster: std::sync::Arc<P>, mut stop: Stop) {
    loop {
        let ticked = async {
            let nap = tick(&state, &*poster).await?;
            measure(&state, P::PLATFORM).await?;
            Ok::<_, crate::error::Error>(nap)
        };
        let nap = match caught(P::PLATFORM.as_str(), ticked).await {
            Ok(nap) => nap,
            Err(error) => {
                tracing::warn!(platform = P::PLATFORM.as_str(), %error, "cannot read messages");
                NAP
            }
        };
        tokio::select! {
            () = state.work.chats(P::PLATFORM).notified() => {}
            () = tokio::time::sleep(nap) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// Tells how many chats that are configured cannot be reached.
async fn measure(state: &State, platform: ChatPlatform) -> Result<()> {
    let count = u32::try_from(unreachable::list(state, platform).await?.len()).unwrap_or(u32::MAX);
    metrics::gauge!("pyxis_chats_unreachable", "platform" => platform.as_str()).set(count);
    Ok(())
}

/// Posts and edits until nothing is due.
pub(super) async fn deliver_due<P: ChatPlatformClient>(state: &State, poster: &P) -> Result<()> {
    while tick(state, poster).await? <= MORE {}
    Ok(())
}

/// One round: what is due is posted or edited. How long nothing more can be due.
pub(super) async fn tick<P: ChatPlatformClient>(state: &State, poster: &P) -> Result<Duration> {
    let now = state.now();
    let due = chat_messages::claim(&state.store, P::PLATFORM, now, now.plus(CLAIM), ROUND).await?;
    let more = due.len() == ROUND as usize;
    let (limited, common) = (AtomicBool::new(false), Common::default());
    futures_util::stream::iter(due)
        .for_each_concurrent(AT_ONCE, |message| {
            let (limited, common) = (&limited, &common);
            async move {
                // Of a message that panics the claim runs out; the others of the round are served.
                let serving = serve(state, poster, &message, limited, common);
                if let Err(error) = caught(P::PLATFORM.as_str(), serving).await {
                    tracing::warn!(message = %message.id, %error, "cannot show or record a message");
                }
            }
        })
        .await;
    if more && !limited.load(Ordering::Relaxed) {
        return Ok(MORE);
    }
    let next = chat_messages::next_due(&state.store, P::PLATFORM, now).await?;
    Ok(next.map_or(NAP, |next| next.since(state.now()).min(NAP)).max(MORE))
}

async fn serve<P: ChatPlatformClient>(
    state: &State,
    poster: &P,
    message: &ChatMessageRow,
    limited: &AtomicBool,
    common: &Common,
) -> Result<()> {
    let store = &state.store;
    if limited.load(Ordering::Relaxed) {
        return Ok(chat_messages::release_claim(
            store,
            message,
            Some(state.now().plus(Duration::from_secs(1))),
        )
        .await?);
    }
    let Some(card) = ApprovalMessage::of(state, message, common).await? else {
        return Ok(chat_messages::release_claim(store, message, None).await?);
    };
    let told = match &message.message_ref {
        // Decided before anybody was told: there is nothing left to ask.
        None if card.state != ApprovalState::Pending => {
            return Ok(chat_messages::release_claim(store, message, None).await?);
        }
        None => poster.post(state, message, &card).await,
        Some(name) => poster.edit(state, message, name, &card).await.map(|()| name.clone()),
    };
    match told {
        Ok(name) => {
            chat_messages::shown(store, message, card.state, &name, state.now()).await?;
            state.chat_examinations.works(P::PLATFORM, &message.chat);
            if message.message_ref.is_none() {
                poster.add_reactions(state, message, &name, &card).await;
            }
            if card.state == ApprovalState::Pending {
                state.work.chats(P::PLATFORM).notify_one();
            }
        }
        Err(DeliveryError::Later(wait)) => {
            limited.store(true, Ordering::Relaxed);
            chat_messages::release_claim(store, message, Some(state.now().plus(wait))).await?;
        }
        Err(DeliveryError::Failed(why)) => {
            let given_up = message.message_ref.is_some() && message.attempts >= EDITS;
            let next = (!given_up).then(|| state.now().plus(wait_after(message.attempts)));
            tracing::warn!(platform = P::PLATFORM.as_str(), message = %message.id, why, "cannot show a message");
            chat_messages::failed(store, message, &why, next).await?;
        }
        Err(DeliveryError::Moved(to)) => moves::follow(state, P::PLATFORM, &message.chat, &to).await?,
        Err(DeliveryError::Refused(why)) => {
            tracing::warn!(platform = P::PLATFORM.as_str(), message = %message.id, why, "the platform refused a message");
            chat_messages::failed(store, message, &why, None).await?;
        }
    }
    Ok(())
}

/// 1, 2, 4 … 60 seconds.
fn wait_after(failures: i64) -> Duration {
    let doublings = u32::try_from(failures).unwrap_or(u32::MAX).min(6);
    Duration::from_secs(1 << doublings).min(LONGEST_WAIT)
}
