//! Chat messages about approvals. They are written in the transaction of the change that they announce, and any node
//! may post and edit them. A message is due while its shown state differs from the desired one.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ChatMessageId, TxnId, UserId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Engine, Executor, StoreError, Tx};

row! {
    /// A chat message.
    pub ChatMessageRow: "chat_messages", chat_message_columns {
        /// Unique identifier.
        id: ChatMessageId,
        /// Workspace of the approval.
        workspace_id: WorkspaceId,
        /// Transaction id of the approval.
        txn_id: TxnId,
        /// Chat platform.
        platform: ChatPlatform,
        /// Chat or room id on the platform.
        chat: String,
        /// Approval state that the message should show.
        wanted: ApprovalState,
        /// Approval state that the message shows; `None` until posted.
        shown: Option<ApprovalState>,
        /// Message id on the platform, once posted.
        message_ref: Option<String>,
        /// Number of consecutive failed attempts.
        attempts: i64,
        /// Time from which it may be posted or edited next; `None` if nothing is due.
        next_at: Option<UnixMillis>,
        /// Error of the last attempt.
        error: Option<String>,
        /// Creation time.
        created_at: UnixMillis,
        /// User whom a private message was written for; `None` for a room.
        recipient: Option<UserId>,
    }
}
pub(crate) use chat_message_columns;

/// A chat message to post.
#[derive(Clone, Debug)]
pub struct NewChatMessage {
    /// Unique identifier.
    pub id: ChatMessageId,
    /// Workspace of the approval.
    pub workspace_id: WorkspaceId,
    /// Transaction id of the approval.
    pub txn_id: TxnId,
    /// Chat platform.
    pub platform: ChatPlatform,
    /// Chat or room id on the platform.
    pub chat: String,
    /// SHA-256 of the nonce in its buttons, hex.
    pub nonce_hash: String,
    /// Creation time. The message is due from then on.
    pub created_at: UnixMillis,
    /// User whom a private message is written for; `None` for a room.
    pub recipient: Option<UserId>,
}

/// Adds a message that is due immediately.
pub async fn insert(executor: impl Executor, new: &NewChatMessage) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO chat_messages (id, workspace_id, txn_id, platform, chat, nonce_hash, wanted, \
         attempts, next_at, created_at, recipient) \
         VALUES ($1, $2, $3, $4, $5, $6, 'pending', 0, $7, $7, $8)")
        .bind(new.id)
        .bind(new.workspace_id)
        .bind(new.txn_id)
        .bind(new.platform)
        .bind(&new.chat)
        .bind(&new.nonce_hash)
        .bind(new.created_at)
        .bind(new.recipient);
    executor.execute(query).await?;
    Ok(())
}

/// Makes an unposted message in a chat about a transaction due at `due`, if it is due later.
pub async fn bring_forward(
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
    (platform, chat): (ChatPlatform, &str),
    due: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE chat_messages SET next_at = $1, created_at = $1 WHERE workspace_id = $2 \
         AND txn_id = $3 AND platform = $4 AND chat = $5 AND message_ref IS NULL AND next_at > $1");
    tx.execute(query.bind(due).bind(workspace).bind(txn).bind(platform).bind(chat)).await?;
    Ok(())
}

/// Deletes the unposted private messages to an account of a user. Returns their number.
pub async fn delete_unposted(
    tx: &mut Tx,
    workspace: WorkspaceId,
    recipient: UserId,
    platform: ChatPlatform,
    account: &str,
) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM chat_messages WHERE workspace_id = $1 AND recipient = $2 \
         AND platform = $3 AND chat = $4 AND message_ref IS NULL");
    tx.execute(query.bind(workspace).bind(recipient).bind(platform).bind(account)).await
}

/// Sets the desired state of all messages about a transaction. Returns their number.
pub async fn set_desired_state(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
    state: ApprovalState,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE chat_messages SET wanted = $1, next_at = $2, attempts = 0 \
         WHERE workspace_id = $3 AND txn_id = $4 AND wanted <> $1");
    executor.execute(query.bind(state).bind(now).bind(workspace).bind(txn)).await
}

/// Makes the messages about a pending transaction due again because their content changed. A message that is being
/// posted or edited stays claimed, and is due again afterwards.
pub async fn refresh(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE chat_messages SET attempts = 0, \
         next_at = CASE WHEN next_at > $1 THEN next_at + 1 ELSE CAST($1 AS BIGINT) END \
         WHERE workspace_id = $2 AND txn_id = $3 AND wanted = 'pending' \
         AND (message_ref IS NOT NULL OR next_at IS NOT NULL)");
    executor.execute(query.bind(now).bind(workspace).bind(txn)).await
}

/// Claims up to `limit` due messages of a platform, in all workspaces, longest due first. No one else gets them before
/// `until`.
pub async fn claim(
    executor: impl Executor,
    platform: ChatPlatform,
    now: UnixMillis,
    until: UnixMillis,
    limit: u32,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let query = sql("UPDATE chat_messages SET next_at = $1 WHERE next_at <= $2 AND id IN \
         (SELECT id FROM chat_messages WHERE platform = $3 AND next_at <= $2 ORDER BY next_at, id LIMIT $4");
    let query = query.bind(until).bind(now).bind(platform).bind(i64::from(limit));
    // A decision locks its message while it waits for the audit chain. Waiting for that lock here, with other messages
    // claimed, could deadlock.
    let query = match executor.engine() {
        Engine::Sqlite => query,
        Engine::Postgres => query.append(" FOR UPDATE SKIP LOCKED"),
    };
    executor.returning(query.append(concat!(") RETURNING ", chat_message_columns!()))).await
}

/// Records that a message now shows `state`, as `message_ref`. It is due again immediately if another state is desired
/// by now, or if the claim no longer equals `claimed` from [`claim`].
pub async fn record_shown(
    executor: impl Executor,
    claimed: &ChatMessageRow,
    state: ApprovalState,
    message_ref: &str,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE chat_messages SET shown = $1, message_ref = $2, attempts = 0, error = NULL, \
         next_at = CASE WHEN wanted = $1 AND next_at = CAST($3 AS BIGINT) THEN NULL \
         ELSE CAST($4 AS BIGINT) END WHERE id = $5");
    let query = query.bind(state).bind(message_ref).bind(claimed.next_at).bind(now).bind(claimed.id);
    executor.execute(query).await?;
    Ok(())
}

/// Records a failed attempt and the time of the next one; `None` gives up. A message that became due after [`claim`]
/// stays due.
pub async fn failed(
    executor: impl Executor,
    claimed: &ChatMessageRow,
    error: &str,
    next_at: Option<UnixMillis>,
) -> Result<(), StoreError> {
    let query = sql("UPDATE chat_messages SET attempts = attempts + 1, error = $1, \
         next_at = CASE WHEN next_at = CAST($2 AS BIGINT) THEN CAST($3 AS BIGINT) ELSE next_at END \
         WHERE id = $4");
    executor.execute(query.bind(error).bind(claimed.next_at).bind(next_at).bind(claimed.id)).await?;
    Ok(())
}

/// Returns a claimed message, due at `at`, without counting an attempt. A message that became due after [`claim`] stays
/// due.
pub async fn release_claim(
    executor: impl Executor,
    claimed: &ChatMessageRow,
    at: Option<UnixMillis>,
) -> Result<(), StoreError> {
    let query = sql("UPDATE chat_messages SET next_at = $1 WHERE id = $2 AND next_at = $3");
    executor.execute(query.bind(at).bind(claimed.id).bind(claimed.next_at)).await?;
    Ok(())
}

/// Postpones the due messages of a chat that no one has claimed, because the platform limits the chat until `until`.
/// Returns their number.
pub async fn postpone(
    executor: impl Executor,
    platform: ChatPlatform,
    chat: &str,
    now: UnixMillis,
    until: UnixMillis,
) -> Result<u64, StoreError> {
    let query =
        sql("UPDATE chat_messages SET next_at = $1 WHERE platform = $2 AND chat = $3 AND next_at <= $4");
    executor.execute(query.bind(until).bind(platform).bind(chat).bind(now)).await
}

/// Creation time of the message that is `steps` messages older than this one in its chat.
pub async fn created_before(
    executor: impl Executor,
    message: &ChatMessageRow,
    steps: u32,
) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT created_at FROM chat_messages WHERE platform = $1 AND chat = $2 AND id < $3 \
         AND workspace_id = $4 ORDER BY id DESC LIMIT 1 OFFSET $5");
    let query = query.bind(message.platform).bind(&message.chat).bind(message.id).bind(message.workspace_id);
    let found = executor.optional(query.bind(i64::from(steps.saturating_sub(1)))).await?;
    Ok(found.map(|(at,)| at))
}

/// Messages of the same workspace and chat about pending transactions that are not posted and not given up, oldest
/// first.
pub async fn list_unposted(
    executor: impl Executor,
    message: &ChatMessageRow,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE platform = $1 AND chat = $2 AND workspace_id = $3 AND message_ref IS NULL \
         AND next_at IS NOT NULL AND wanted = 'pending' ORDER BY id"
    ));
    executor.all(query.bind(message.platform).bind(&message.chat).bind(message.workspace_id)).await
}

/// Records that the unposted messages of a chat after `first`, up to `last`, were announced together as `message_ref`.
/// Returns their number.
pub async fn record_digest(
    executor: impl Executor,
    first: &ChatMessageRow,
    last: ChatMessageId,
    message_ref: &str,
) -> Result<u64, StoreError> {
    let query =
        sql("UPDATE chat_messages SET shown = 'pending', message_ref = $1, attempts = 0, error = NULL, \
         next_at = NULL WHERE platform = $2 AND chat = $3 AND workspace_id = $4 AND id > $5 AND id <= $6 \
         AND message_ref IS NULL AND next_at IS NOT NULL AND wanted = 'pending'");
    let query = query.bind(message_ref).bind(first.platform).bind(&first.chat).bind(first.workspace_id);
    executor.execute(query.bind(first.id).bind(last)).await
}

/// The message whose buttons carry this nonce.
pub async fn find_by_nonce(
    executor: impl Executor,
    platform: ChatPlatform,
    nonce_hash: &str,
) -> Result<Option<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE platform = $1 AND nonce_hash = $2"
    ));
    executor.optional(query.bind(platform).bind(nonce_hash)).await
}

/// The message with this id on the platform.
pub async fn find_by_ref(
    executor: impl Executor,
    platform: ChatPlatform,
    message_ref: &str,
) -> Result<Option<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE platform = $1 AND message_ref = $2"
    ));
    executor.optional(query.bind(platform).bind(message_ref)).await
}

/// All messages about a transaction.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE workspace_id = $1 AND txn_id = $2 ORDER BY id"
    ));
    executor.all(query.bind(workspace).bind(txn)).await
}

/// The newest messages of a workspace on a platform that could not be shown as desired.
pub async fn list_failing(
    executor: impl Executor,
    workspace: WorkspaceId,
    platform: ChatPlatform,
    limit: u32,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE workspace_id = $1 AND platform = $2 AND error IS NOT NULL ORDER BY id DESC"
    ));
    executor.all(query.bind(workspace).bind(platform).limit(limit)).await
}

/// For each chat of a platform that rejected a message and accepted none since, the newest rejected message. Covers all
/// workspaces.
pub async fn unreachable(
    executor: impl Executor,
    platform: ChatPlatform,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE platform = $1 AND error IS NOT NULL AND message_ref IS NULL \
         AND next_at IS NULL AND NOT EXISTS (SELECT 1 FROM chat_messages AS later \
         WHERE later.platform = chat_messages.platform AND later.chat = chat_messages.chat \
         AND later.workspace_id = chat_messages.workspace_id AND later.id > chat_messages.id \
         AND (later.message_ref IS NOT NULL \
         OR (later.error IS NOT NULL AND later.message_ref IS NULL AND later.next_at IS NULL))) ORDER BY id"
    ));
    executor.all(query.bind(platform)).await
}

/// Makes messages that a chat rejected due again if their transaction is still pending, and clears the errors of the
/// others. Returns their number.
pub async fn revive(
    executor: impl Executor,
    platform: ChatPlatform,
    chat: &str,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE chat_messages SET error = NULL, attempts = 0, \
         next_at = CASE WHEN wanted = 'pending' THEN CAST($1 AS BIGINT) END \
         WHERE platform = $2 AND chat = $3 AND error IS NOT NULL AND message_ref IS NULL AND next_at IS NULL");
    executor.execute(query.bind(now).bind(platform).bind(chat)).await
}

/// Moves the messages of a chat to its replacement. Pending ones are posted there; decided ones stay as they are.
/// Returns their number.
pub async fn rename_chat(
    executor: impl Executor,
    workspace: WorkspaceId,
    platform: ChatPlatform,
    (from, to): (&str, &str),
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE chat_messages SET chat = $1, attempts = 0, error = NULL, \
         message_ref = CASE WHEN wanted = 'pending' THEN NULL ELSE message_ref END, \
         shown = CASE WHEN wanted = 'pending' THEN NULL ELSE shown END, \
         next_at = CASE WHEN wanted = 'pending' THEN CAST($2 AS BIGINT) END \
         WHERE workspace_id = $3 AND platform = $4 AND chat = $5");
    executor.execute(query.bind(to).bind(now).bind(workspace).bind(platform).bind(from)).await
}

/// Time when the next message of a platform is due.
pub async fn next_due(
    executor: impl Executor,
    platform: ChatPlatform,
    now: UnixMillis,
) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(next_at) FROM chat_messages WHERE platform = $1 AND next_at > $2");
    Ok(executor.optional(query.bind(platform).bind(now)).await?.and_then(|(at,)| at))
}

/// Cursor in the updates of a platform.
pub async fn cursor(executor: impl Executor, platform: ChatPlatform) -> Result<Option<String>, StoreError> {
    let query = sql("SELECT position FROM chat_cursors WHERE platform = $1");
    Ok(executor.optional(query.bind(platform)).await?.map(|(position,)| position))
}

/// Saves the cursor in the updates of a platform.
pub async fn set_cursor(
    executor: impl Executor,
    platform: ChatPlatform,
    position: &str,
) -> Result<(), StoreError> {
    let query = sql("INSERT INTO chat_cursors (platform, position) VALUES ($1, $2) \
         ON CONFLICT (platform) DO UPDATE SET position = excluded.position");
    executor.execute(query.bind(platform).bind(position)).await?;
    Ok(())
}
