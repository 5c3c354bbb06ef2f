//! One message instead of a flood.
//!
//! A room or a person gets a number of single messages within a minute. The ones after them wait for a minute, and are
//! then announced together: with their number, and a link to the inbox. While the flood goes on, the platforms that can
//! change messages show the new number there.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_store::Store;
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::message_subject::{MessageState, SubjectKind};

use super::link_card::LinkCard;
use crate::config::Config;
use crate::error::Result;
use crate::runtime::state::State;

/// Time in which single messages are counted, and for which the others wait.
const WINDOW: Duration = Duration::from_mins(1);
/// Time for which the number in a message grows. After that another one notifies people again.
const GROWTH: Duration = Duration::from_mins(10);
/// The wait while an older message of the room is not posted yet.
const BEHIND: Duration = Duration::from_secs(5);
/// Start of the stored reference of a message that was announced together with others.
const PREFIX: &str = "digest:";

/// Way to announce a message.
pub(super) enum DigestStep {
    /// On its own.
    Single,
    /// Not before this time.
    Wait(UnixMillis),
    /// Together with all messages of the room that wait, this one first.
    Digest(Vec<ChatMessageRow>),
}

/// Chooses the way to announce a claimed message that was not posted yet.
pub(super) async fn next_step(
    state: &State,
    message: &ChatMessageRow,
    expires_at: UnixMillis,
) -> Result<DigestStep> {
    let most = state.config.chats.digest_after();
    if most == 0 {
        return Ok(DigestStep::Single);
    }
    let earlier = chat_messages::created_before(&state.store, message, most).await?;
    if earlier.is_none_or(|at| message.created_at.since(at) >= WINDOW) {
        return Ok(DigestStep::Single);
    }
    // A request with little time is announced while there is enough of it left.
    let wait = WINDOW.min(expires_at.since(message.created_at) / 2);
    let (now, due) = (state.now(), message.created_at.plus(wait));
    if now < due {
        return Ok(DigestStep::Wait(due));
    }
    let waiting = chat_messages::list_unposted(&state.store, message, now).await?;
    Ok(match waiting.iter().position(|row| row.id == message.id) {
        Some(0) if waiting.len() == 1 => DigestStep::Single,
        Some(0) => DigestStep::Digest(waiting),
        // An older one announces this one too, or has done so since this one was claimed.
        Some(_) | None => DigestStep::Wait(now.plus(BEHIND)),
    })
}

/// Messages that were announced together in this one's chat, if the flood goes on and this one can join them. Empty
/// otherwise, and where messages cannot be changed.
pub(super) async fn list_joined(store: &Store, first: &ChatMessageRow) -> Result<Vec<ChatMessageRow>> {
    if !first.platform.spec().edits {
        return Ok(Vec::new());
    }
    let Some(newest) = chat_messages::posted_before(store, first).await? else {
        return Ok(Vec::new());
    };
    let reference = newest.message_ref.filter(|reference| is_digest(reference));
    let (Some(reference), true) = (reference, first.created_at.since(newest.created_at) < WINDOW) else {
        return Ok(Vec::new());
    };
    let mut rows = chat_messages::list_announced(store, first, &reference).await?;
    if rows.first().is_none_or(|oldest| first.created_at.since(oldest.created_at) >= GROWTH) {
        return Ok(Vec::new());
    }
    rows.retain(|row| row.wanted == MessageState::Pending);
    Ok(rows)
}

/// The message that announces these requests and tasks.
pub(super) fn card(config: &Config, brand: &str, waiting: &[ChatMessageRow]) -> LinkCard {
    let (count, tasks) =
        (waiting.len(), waiting.iter().filter(|row| row.subject.kind() == SubjectKind::Task).count());
    let what = match tasks {
        0 => "requests",
        tasks if tasks == count => "tasks",
        _ => "requests and tasks",
    };
    LinkCard {
        brand: brand.to_owned(),
        title: format!("{brand} · {count} {what} need approval"),
        text: format!("{count} more {what} are waiting for approval."),
        facts: Vec::new(),
        status: Vec::new(),
        link: "Open the inbox",
        url: format!("{}/app/inbox", config.base_url),
    }
}

/// The stored reference of messages that were announced together.
pub(super) fn reference(id: &str) -> String {
    format!("{PREFIX}{id}")
}

/// Id on the platform of messages that were announced together.
pub(super) fn id(reference: &str) -> Option<&str> {
    reference.strip_prefix(PREFIX)
}

/// True for a message that was announced together with others, so that none of its own can be edited.
pub(super) fn is_digest(reference: &str) -> bool {
    id(reference).is_some()
}
