//! Chats of a workspace, and its users' accounts on chat platforms.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy;
use pyxis_core::id::{UserId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_store::audit::AuditedStore;
use pyxis_store::chat_identities::{self, ChatIdentityRow, LinkCodeRow};
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::{Store, announcements};
use serde_json::json;

use crate::error::{Error, Result};
use crate::notifications::channels::{self, code_hash, examination, unreachable};
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;

pub use crate::notifications::channels::unreachable::UnreachableChat;

/// Lifetime of a link code.
const CODE_LIFETIME: Duration = Duration::from_mins(10);
/// Letters and digits that are easy to tell apart.
const ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Characters of a code; 12 have 60 bits.
const CODE: usize = 12;
/// Maximum number of failed messages listed per platform.
const TROUBLE_SHOWN: u32 = 500;
/// Maximum length of a chat or room id, in bytes.
const MAX_CHAT: usize = 255;
/// Note about a room that can only be tried with a message, which an examination must not post.
const UNTRIED: &str = " (unknown until the first message)";

/// True if a platform is configured on this server.
pub fn is_configured(state: &State, platform: ChatPlatform) -> bool {
    channels::bot(state, platform).is_some()
}

/// Creates a code that links an account when sent to the bot. It works once, until the returned time.
pub async fn link_code(
    state: &State,
    actor: &Actor,
    user: UserId,
    platform: ChatPlatform,
) -> Result<(SecretString, UnixMillis)> {
    let random = entropy::bytes::<CODE>(&*state.entropy);
    let code: String = random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
    let now = state.now();
    let expires_at = now.plus(CODE_LIFETIME);
    let row = LinkCodeRow {
        code_hash: code_hash(&code),
        workspace_id: actor.workspace,
        user_id: user,
        platform,
        created_at: now,
        expires_at,
    };
    let mut change = state.audited.begin(actor).await?;
    chat_identities::insert_code(&mut change.tx, &row).await?;
    change.commit(AuditEvent::ChatCodeCreated, json!({ "platform": platform.as_str() })).await?;
    Ok((SecretString::new(code), expires_at))
}

/// Chat accounts of a person.
pub async fn accounts(store: &Store, workspace: WorkspaceId, user: UserId) -> Result<Vec<ChatIdentityRow>> {
    Ok(chat_identities::list_for_user(store, workspace, user).await?)
}

/// Unlinks an account from a person, so that it can no longer decide. Messages to it that wait are not sent.
pub async fn unlink(
    audited: &AuditedStore,
    now: UnixMillis,
    actor: &Actor,
    user: UserId,
    platform: ChatPlatform,
    account: &str,
) -> Result<()> {
    let workspace = actor.workspace;
    let mut change = audited.begin(actor).await?;
    if !chat_identities::unlink(&mut change.tx, workspace, user, platform, account).await? {
        return Err(Error::not_found("account"));
    }
    chat_messages::delete_unposted(&mut change.tx, workspace, user, platform, account).await?;
    announcements::remove_later(&mut change.tx, workspace, platform.as_str(), user, now).await?;
    let detail = json!({ "platform": platform.as_str(), "account": account });
    Ok(change.commit(AuditEvent::ChatUnlinked, detail).await?)
}

/// Default chat of a platform, used unless a policy names another.
pub async fn default_chat(
    store: &Store,
    workspace: WorkspaceId,
    platform: ChatPlatform,
) -> Result<Option<String>> {
    Ok(chat_identities::default_chat(store, workspace, platform).await?)
}

/// Sets the default chat; an empty name removes it.
pub async fn set_default_chat(
    state: &State,
    actor: &Actor,
    platform: ChatPlatform,
    chat: &str,
) -> Result<()> {
    // A list may be written with blanks between its parts.
    let (field, chat) = (platform.spec().room_field, platform.rooms_of(chat.trim()).join(","));
    if chat.len() > MAX_CHAT || chat.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Error::field(field, "a chat's or room's own name, without blanks"));
    }
    let chat = (!chat.is_empty()).then_some(chat.as_str());
    if let Some(room) = chat {
        check_room(state, platform, room).await?;
    }
    let mut change = state.audited.begin(actor).await?;
    chat_identities::set_default_chat(&mut change.tx, actor.workspace, platform, chat).await?;
    Ok(change.commit(AuditEvent::SettingsChanged, json!({ field: chat })).await?)
}

/// Refuses a room if the platform reports that the bot cannot work in it.
pub(crate) async fn check_room(state: &State, platform: ChatPlatform, room: &str) -> Result<()> {
    let Some(bot) = channels::bot(state, platform) else { return Ok(()) };
    let spec = platform.spec();
    match bot.admit(state, room).await {
        ChatHealth::Unusable(why) => Err(Error::field(spec.room_field, why)),
        ChatHealth::Moved(to) => {
            let moved = format!("the {} became {to}: name that one", spec.room_noun);
            Err(Error::field(spec.room_field, moved))
        }
        ChatHealth::Usable | ChatHealth::Unknown => Ok(()),
    }
}

/// A message that could not be shown as desired.
#[derive(Clone, Debug)]
pub struct Unshown {
    pub platform: ChatPlatform,
    /// The message; its `error` is the reason.
    pub message: ChatMessageRow,
}

/// Failed messages of a workspace, newest first.
pub async fn list_failing(store: &Store, workspace: WorkspaceId) -> Result<Vec<Unshown>> {
    let mut found = Vec::new();
    for platform in ChatPlatform::ALL.iter().copied() {
        let rows = chat_messages::list_failing(store, workspace, platform, TROUBLE_SHOWN).await?;
        found.extend(rows.into_iter().map(|message| Unshown { platform, message }));
    }
    found.sort_by_key(|unshown| std::cmp::Reverse(unshown.message.created_at));
    Ok(found)
}

/// Examines each bot and each configured chat, for operators. Returns each part with its problem, if any.
pub async fn examine(state: &State) -> Result<Vec<(String, Option<String>)>> {
    let mut parts = Vec::new();
    for (platform, bot) in channels::bots(state) {
        let error = bot.sign_in(state).await;
        let is_silent = error.is_some();
        parts.push((format!("{} bot", platform.spec().label), error));
        if is_silent {
            continue;
        }
        let named = examination::configured_chats(&state.store, &state.config, platform).await?;
        let chats = named.iter().cloned().collect();
        let mut untried = BTreeSet::new();
        for (chat, health) in examination::examine(state, &*bot, chats, Duration::MAX).await {
            state.chat_examinations.record(platform, &chat, &health, state.now());
            if health == ChatHealth::Unknown && !platform.spec().decides {
                untried.insert(chat);
            }
        }
        let wrong: HashMap<String, String> = unreachable::list(state, platform)
            .await?
            .into_iter()
            .map(|found| (found.chat, found.why))
            .collect();
        let part = |name: String| {
            let why = wrong.get(&name).cloned();
            let note = if why.is_none() && untried.contains(&name) { UNTRIED } else { "" };
            (format!("{} {name}{note}", platform.room_label()), why)
        };
        parts.extend(named.into_iter().map(part));
    }
    Ok(parts)
}

/// Configured chats of a workspace that the bot cannot work in.
pub async fn unreachable(state: &State, workspace: WorkspaceId) -> Result<Vec<UnreachableChat>> {
    let mut found = Vec::new();
    for platform in ChatPlatform::ALL.iter().copied() {
        found.extend(unreachable::list(state, platform).await?);
    }
    found.retain(|chat| chat.workspace == workspace);
    Ok(found)
}
