//! Approval messages in chats: stored with the change that they announce, and posted and edited by [`crate::channels`].

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::ChatMessageId;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::chat_messages::{self, NewChatMessage};
use pyxis_store::cipher::Keyring;
use pyxis_store::{Tx, chat_identities};
use sha2::{Digest, Sha256};

use crate::config::ChatSettings;
use crate::error::Result;
use crate::identity::voters::{eligible_among, policy_of};
use crate::runtime::state::State;

/// Size of a button's nonce, in bytes; its hex form is twice as long.
const NONCE: usize = 16;

/// Stores the messages that ask about a transaction.
pub(super) async fn announce(state: &State, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
    let Some(platform) = row.channel.platform() else { return Ok(()) };
    let now = state.now();
    for chat in chats(&state.config.chats, tx, row, platform).await? {
        let id = ChatMessageId::new(now, &*state.entropy);
        let new = NewChatMessage {
            id,
            workspace_id: row.workspace_id,
            txn_id: row.txn_id,
            platform,
            chat,
            nonce_hash: nonce_hash(&nonce(&state.keyring, id)),
            created_at: now,
        };
        chat_messages::insert(&mut *tx, &new).await?;
    }
    Ok(())
}

/// Updates the messages about a transaction with its end.
pub(super) async fn update_messages(
    now: UnixMillis,
    tx: &mut Tx,
    row: &ApprovalRow,
    end: ApprovalState,
) -> Result<()> {
    if row.channel.platform().is_some() {
        chat_messages::set_desired_state(&mut *tx, row.workspace_id, row.txn_id, end, now).await?;
    }
    Ok(())
}

/// Updates the messages about a pending transaction with its approvals so far.
pub(super) async fn renew(now: UnixMillis, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
    if row.channel.platform().is_some() {
        chat_messages::refresh(&mut *tx, row.workspace_id, row.txn_id, now).await?;
    }
    Ok(())
}

/// Chats for a request: the policy's, or else the workspace's, or else the operator's. On platforms where an account id is
/// also the id of the private chat, it falls back to everyone who linked one and may decide.
async fn chats(
    settings: &ChatSettings,
    tx: &mut Tx,
    row: &ApprovalRow,
    platform: ChatPlatform,
) -> Result<Vec<String>> {
    let policy = policy_of(&mut *tx, row.workspace_id, row.credential_id).await?;
    if let Some(own) = policy.as_ref().and_then(|policy| policy.rooms.get(platform)) {
        return Ok(platform.rooms_of(own));
    }
    if let Some(chat) = chat_identities::default_chat(&mut *tx, row.workspace_id, platform).await? {
        return Ok(platform.rooms_of(&chat));
    }
    if let Some(chat) = settings.room(platform) {
        return Ok(platform.rooms_of(chat));
    }
    if !platform.spec().private_chats {
        return Ok(Vec::new());
    }
    let linked = chat_identities::list(&mut *tx, row.workspace_id, platform).await?;
    let people = linked.iter().map(|account| account.user_id).collect();
    let eligible = eligible_among(tx, row.workspace_id, row.credential_id, people).await?;
    let asked = linked.into_iter().filter(|account| eligible.contains(&account.user_id));
    Ok(asked.map(|account| account.external_id).collect())
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
