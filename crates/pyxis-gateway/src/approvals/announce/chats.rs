//! Messages in chats about requests and tasks: stored with the change that they announce, and posted and edited by [`crate::notifications::channels`].

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::{ChatMessageId, UserId, WorkspaceId};
use pyxis_core::policy::Policy;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::chat_messages::{self, NewChatMessage};
use pyxis_store::cipher::Keyring;
use pyxis_store::{Tx, chat_identities};
use sha2::{Digest, Sha256};

use super::approval_subject::ApprovalSubject;
use crate::config::ChatSettings;
use crate::error::Result;
use crate::runtime::state::State;

/// Size of a button's nonce, in bytes; its hex form is twice as long.
const NONCE: usize = 16;

/// Stores a message that asks about a request or a task, to be posted from `due` on. `recipient` is the person of a private
/// chat.
pub(super) async fn post(
    state: &State,
    tx: &mut Tx,
    subject: &ApprovalSubject,
    (platform, chat): (ChatPlatform, String),
    recipient: Option<UserId>,
    due: UnixMillis,
) -> Result<()> {
    let id = ChatMessageId::new(state.now(), &*state.entropy);
    let new = NewChatMessage {
        id,
        workspace_id: subject.workspace,
        subject: subject.id,
        platform,
        chat,
        nonce_hash: nonce_hash(&nonce(&state.keyring, id)),
        created_at: due,
        recipient,
    };
    Ok(chat_messages::insert(tx, &new).await?)
}

/// Updates the messages about a transaction with its end.
pub(super) async fn update_messages(
    now: UnixMillis,
    tx: &mut Tx,
    row: &ApprovalRow,
    end: ApprovalState,
) -> Result<()> {
    chat_messages::set_desired_state(&mut *tx, row.workspace_id, row.txn_id, end, now).await?;
    Ok(())
}

/// Updates the messages about a pending transaction with its approvals so far.
pub(super) async fn refresh(now: UnixMillis, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
    chat_messages::refresh(&mut *tx, row.workspace_id, row.txn_id, now).await?;
    Ok(())
}

/// Rooms for requests under a policy on a platform: the policy's, or else the workspace's, or else the operator's.
pub(super) async fn rooms(
    settings: &ChatSettings,
    tx: &mut Tx,
    workspace: WorkspaceId,
    policy: Option<&Policy>,
    platform: ChatPlatform,
) -> Result<Vec<String>> {
    if let Some(own) = policy.and_then(|policy| policy.rooms.get(platform)) {
        return Ok(platform.rooms_of(own));
    }
    if let Some(chat) = chat_identities::default_chat(&mut *tx, workspace, platform).await? {
        return Ok(platform.rooms_of(&chat));
    }
    Ok(settings.room(platform).map(|chat| platform.rooms_of(chat)).unwrap_or_default())
}

/// Nonce in a message's buttons: unguessable, and constant for the life of the database.
pub(crate) fn nonce(keyring: &Keyring, message: ChatMessageId) -> String {
    let key = keyring.derive(&format!("chat-nonce {message}"));
    hex::encode(&key.expose()[..NONCE])
}

/// Stored hash of a nonce.
pub(crate) fn nonce_hash(nonce: &str) -> String {
    hex::encode(&Sha256::digest(nonce))
}
