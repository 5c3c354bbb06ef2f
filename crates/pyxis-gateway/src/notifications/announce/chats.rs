//! Messages that ask in chats. They are rows, written with the change that they tell of; [`crate::channels`]
//! posts and edits them.

use pyxis_core::approval_mode::{ApprovalState, Channel};
use pyxis_core::hex;
use pyxis_core::id::ChatMessageId;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::chat_messages::{self, ChatPlatform, NewChatMessage};
use pyxis_store::{Tx, chat_identities};
use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::identity::voters::{eligible_among, policy_of};
use crate::runtime::state::State;

/// Bytes of what a button carries, in hex digits twice as many.
const NONCE: usize = 16;

/// The platform of a channel.
const fn platform(channel: Channel) -> Option<ChatPlatform> {
    match channel {
        Channel::ChatPrimary => Some(ChatPlatform::Telegram),
        Channel::ChatSecondary => Some(ChatPlatform::Matrix),
        Channel::AgentReflected | Channel::Dashboard => None,
    }
}

/// Writes the messages that ask about a transaction.
pub(super) async fn announce(state: &State, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
    let Some(platform) = platform(row.channel) else { return Ok(()) };
    for chat in chats(tx, row, platform).await? {
        let now = state.now();
        let id = ChatMessageId::new(now, &*state.entropy);
        let new = NewChatMessage {
            id,
            workspace_id: row.workspace_id,
            txn_id: row.txn_id,
            platform,
            chat,
            nonce_hash: nonce_hash(&nonce(state, id)),
            created_at: now,
        };
        chat_messages::insert(&mut *tx, &new).await?;
    }
    Ok(())
}

/// Lets the messages about a transaction tell how it ended.
pub(super) async fn follow(state: &State, tx: &mut Tx, row: &ApprovalRow, end: ApprovalState) -> Result<()> {
    if platform(row.channel).is_some() {
        chat_messages::set_desired_state(&mut *tx, row.workspace_id, row.txn_id, end, state.now()).await?;
    }
    Ok(())
}

/// Lets the messages about a transaction that still waits tell who has approved by now.
pub(super) async fn renew(state: &State, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
    if platform(row.channel).is_some() {
        chat_messages::refresh(&mut *tx, row.workspace_id, row.txn_id, state.now()).await?;
    }
    Ok(())
}

/// Where it is asked: the policy's own chat, else the workspace's, else, where a person's account is also
/// the name of the chat with them, everybody who linked one and may decide.
async fn chats(tx: &mut Tx, row: &ApprovalRow, platform: ChatPlatform) -> Result<Vec<String>> {
    let policy = policy_of(&mut *tx, row.workspace_id, row.credential_id).await?;
    let own = policy.and_then(|policy| match platform {
        ChatPlatform::Telegram => policy.telegram_chat,
        ChatPlatform::Matrix => policy.matrix_room,
    });
    if let Some(own) = own {
        return Ok(vec![own]);
    }
    if let Some(chat) = chat_identities::default_chat(&mut *tx, row.workspace_id, platform).await? {
        return Ok(vec![chat]);
    }
    match platform {
        ChatPlatform::Telegram => {
            let linked = chat_identities::list(&mut *tx, row.workspace_id, platform).await?;
            let people = linked.iter().map(|account| account.user_id).collect();
            let eligible = eligible_among(tx, row.workspace_id, row.credential_id, people).await?;
            let asked = linked.into_iter().filter(|account| eligible.contains(&account.user_id));
            Ok(asked.map(|account| account.external_id).collect())
        }
        ChatPlatform::Matrix => Ok(Vec::new()),
    }
}

/// What the buttons of a message carry: unguessable, and the same for the life of the database.
pub(crate) fn nonce(state: &State, message: ChatMessageId) -> String {
    let key = state.keyring.derive(&format!("chat-nonce {message}"));
    hex::encode(&key.expose()[..NONCE])
}

/// Under which it is kept.
pub(crate) fn nonce_hash(nonce: &str) -> String {
    hex::encode(&Sha256::digest(nonce))
}
