//! Chat messages about approvals and proposed tasks. They are written in the transaction of the change that they
//! announce, and any node may post and edit them. A message is due while its shown state differs from the desired one.

use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ChatMessageId, UserId, WorkspaceId};

use crate::db::{FromRow, Row, SqlQuery, sql};
use crate::message_subject::{MessageState, MessageSubject, SubjectKind};
use crate::{Engine, Executor, Store, StoreError, Tx};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessageRow {
    /// Unique identifier.
    pub id: ChatMessageId,
    /// Workspace of the subject.
    pub workspace_id: WorkspaceId,
    /// Request or task that it is about.
    pub subject: MessageSubject,
    pub platform: ChatPlatform,
    /// Chat or room id on the platform.
    pub chat: String,
    /// State that the message should show.
    pub wanted: MessageState,
    /// State that the message shows; `None` until posted.
    pub shown: Option<MessageState>,
    /// Message id on the platform, once posted.
    pub message_ref: Option<String>,
    /// Number of consecutive failed attempts.
    pub attempts: i64,
    /// Time from which it may be posted or edited next; `None` if nothing is due.
    pub next_at: Option<UnixMillis>,
    /// Error of the last attempt.
    pub error: Option<String>,
    /// Creation time.
    pub created_at: UnixMillis,
    /// User whom a private message was written for; `None` for a room.
    pub recipient: Option<UserId>,
}

/// Columns of a [`ChatMessageRow`] about a request, or about what other columns name.
macro_rules! chat_message_columns {
    () => {
        chat_message_columns!("'request' AS subject, txn_id")
    };
    ($subject:literal) => {
        concat!(
            "id, workspace_id, ",
            $subject,
            ", platform, chat, wanted, shown, message_ref, attempts, next_at, error, created_at, recipient"
        )
    };
}

pub(crate) use chat_message_columns;

impl FromRow for ChatMessageRow {
    const TABLE: &'static str = "chat_messages";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.take("id")?,
            workspace_id: row.take("workspace_id")?,
            subject: MessageSubject::read(row)?,
            platform: row.take("platform")?,
            chat: row.take("chat")?,
            wanted: row.take("wanted")?,
            shown: row.take("shown")?,
            message_ref: row.take("message_ref")?,
            attempts: row.take("attempts")?,
            next_at: row.take("next_at")?,
            error: row.take("error")?,
            created_at: row.take("created_at")?,
            recipient: row.take("recipient")?,
        })
    }
}

impl ChatMessageRow {
    /// The statement about messages of this kind, from the one about messages about requests.
    fn statement(&self, about_requests: SqlQuery) -> SqlQuery {
        self.subject.kind().statement(about_requests)
    }
}

/// A chat message to post.
#[derive(Clone, Debug)]
pub struct NewChatMessage {
    /// Unique identifier.
    pub id: ChatMessageId,
    /// Workspace of the subject.
    pub workspace_id: WorkspaceId,
    /// Request or task that it is about.
    pub subject: MessageSubject,
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
        .bind(new.subject)
        .bind(new.platform)
        .bind(&new.chat)
        .bind(&new.nonce_hash)
        .bind(new.created_at)
        .bind(new.recipient);
    executor.execute(new.subject.kind().statement(query)).await?;
    Ok(())
}

/// Makes an unposted message in a chat about a subject due at `due`, if it is due later.
pub async fn bring_forward(
    tx: &mut Tx,
    workspace: WorkspaceId,
    subject: MessageSubject,
    (platform, chat): (ChatPlatform, &str),
    due: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE chat_messages SET next_at = $1, created_at = $1 WHERE workspace_id = $2 \
         AND txn_id = $3 AND platform = $4 AND chat = $5 AND message_ref IS NULL AND next_at > $1");
    let query = query.bind(due).bind(workspace).bind(subject).bind(platform).bind(chat);
    tx.execute(subject.kind().statement(query)).await?;
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
    execute_on_all(tx, &query.bind(workspace).bind(recipient).bind(platform).bind(account)).await
}

/// Executes a statement about messages about requests, and the same about tasks. Returns the number of changed rows.
async fn execute_on_all(tx: &mut Tx, about_requests: &SqlQuery) -> Result<u64, StoreError> {
    let mut count = 0;
    for kind in SubjectKind::ALL {
        count += tx.execute(kind.statement(about_requests.clone())).await?;
    }
    Ok(count)
}

/// Sets the desired state of all messages about a subject. Returns their number.
pub async fn set_desired_state(
    executor: impl Executor,
    workspace: WorkspaceId,
    subject: impl Into<MessageSubject>,
    state: impl Into<MessageState>,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE chat_messages SET wanted = $1, next_at = $2, attempts = 0 \
         WHERE workspace_id = $3 AND txn_id = $4 AND wanted <> $1");
    let (subject, state) = (subject.into(), state.into());
    let query = query.bind(state).bind(now).bind(workspace).bind(subject);
    executor.execute(subject.kind().statement(query)).await
}

/// Makes the messages about a pending subject due again because their content changed. A message that is being
/// posted or edited stays claimed, and is due again afterwards.
pub async fn refresh(
    executor: impl Executor,
    workspace: WorkspaceId,
    subject: impl Into<MessageSubject>,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let subject = subject.into();
    let query = sql("UPDATE chat_messages SET attempts = 0, \
         next_at = CASE WHEN next_at > $1 THEN next_at + 1 ELSE CAST($1 AS BIGINT) END \
         WHERE workspace_id = $2 AND txn_id = $3 AND wanted = 'pending' \
         AND (message_ref IS NOT NULL OR next_at IS NOT NULL)");
    executor.execute(subject.kind().statement(query.bind(now).bind(workspace).bind(subject))).await
}

/// Claims up to `limit` due messages of a platform, in all workspaces, longest due first. If messages about requests are
/// due, too, a quarter of them is about tasks at most. No one else gets them before `until`.
pub async fn claim(
    store: &Store,
    platform: ChatPlatform,
    now: UnixMillis,
    until: UnixMillis,
    limit: u32,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let count = |rows: &[ChatMessageRow]| u32::try_from(rows.len()).unwrap_or(limit);
    let (claim, share) = ((now, until), limit.div_ceil(4));
    let mut claimed = claim_kind(store, SubjectKind::Task, platform, claim, share).await?;
    let has_more_tasks = count(&claimed) == share;
    let left = limit.saturating_sub(count(&claimed));
    claimed.extend(claim_kind(store, SubjectKind::Request, platform, claim, left).await?);
    let left = limit.saturating_sub(count(&claimed));
    if has_more_tasks && left > 0 {
        claimed.extend(claim_kind(store, SubjectKind::Task, platform, claim, left).await?);
    }
    Ok(claimed)
}

async fn claim_kind(
    store: &Store,
    kind: SubjectKind,
    platform: ChatPlatform,
    (now, until): (UnixMillis, UnixMillis),
    limit: u32,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let query = sql("UPDATE chat_messages SET next_at = $1 WHERE next_at <= $2 AND id IN \
         (SELECT id FROM chat_messages WHERE platform = $3 AND next_at <= $2 ORDER BY next_at, id LIMIT $4");
    let query = query.bind(until).bind(now).bind(platform).bind(i64::from(limit));
    // A decision locks its message while it waits for the audit chain. Waiting for that lock here, with other messages
    // claimed, could deadlock.
    let query = match store.engine() {
        Engine::Sqlite => query,
        Engine::Postgres => query.append(" FOR UPDATE SKIP LOCKED"),
    };
    let query = query.append(concat!(") RETURNING ", chat_message_columns!()));
    store.returning(kind.statement(query)).await
}

/// Records that a message now shows `state`, as `message_ref`. It is due again immediately if another state is desired
/// by now, or if the claim no longer equals `claimed` from [`claim`].
pub async fn record_shown(
    executor: impl Executor,
    claimed: &ChatMessageRow,
    state: impl Into<MessageState>,
    message_ref: &str,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE chat_messages SET shown = $1, message_ref = $2, attempts = 0, error = NULL, \
         next_at = CASE WHEN wanted = $1 AND next_at = CAST($3 AS BIGINT) THEN NULL \
         ELSE CAST($4 AS BIGINT) END WHERE id = $5");
    let query = query.bind(state.into()).bind(message_ref).bind(claimed.next_at).bind(now).bind(claimed.id);
    executor.execute(claimed.statement(query)).await?;
    Ok(())
}

/// Records the id of a message of which only the platform knew that it was posted. It is due again, at the latest when
/// its claim ends. Changes nothing if an id is known.
pub async fn record_posted(
    executor: impl Executor,
    message: ChatMessageId,
    message_ref: &str,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE chat_messages SET message_ref = $1, shown = 'pending', \
         next_at = COALESCE(next_at, CAST($2 AS BIGINT)) WHERE id = $3 AND message_ref IS NULL");
    executor.execute(query.bind(message_ref).bind(now).bind(message)).await?;
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
    let query = query.bind(error).bind(claimed.next_at).bind(next_at).bind(claimed.id);
    executor.execute(claimed.statement(query)).await?;
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
    executor.execute(claimed.statement(query.bind(at).bind(claimed.id).bind(claimed.next_at))).await?;
    Ok(())
}

/// Postpones the due messages of a chat that no one has claimed, because the platform limits the chat until `until`.
/// A message that changes at this moment becomes due by that change, so it is left alone. Returns their number.
pub async fn postpone(
    store: &Store,
    platform: ChatPlatform,
    chat: &str,
    now: UnixMillis,
    until: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE chat_messages SET next_at = $1 WHERE id IN \
         (SELECT id FROM chat_messages WHERE platform = $2 AND chat = $3 AND next_at <= $4");
    change_unlocked(store, &query.bind(until).bind(platform).bind(chat).bind(now)).await
}

/// Executes a statement whose last text is a selection of messages, and the same about tasks. On PostgreSQL, it changes
/// those that no one has locked. Returns their number.
async fn change_unlocked(store: &Store, about_requests: &SqlQuery) -> Result<u64, StoreError> {
    let end = match store.engine() {
        Engine::Sqlite => ")",
        Engine::Postgres => " FOR UPDATE SKIP LOCKED)",
    };
    let mut count = 0;
    for kind in SubjectKind::ALL {
        count += store.execute(kind.statement(about_requests.clone().append(end))).await?;
    }
    Ok(count)
}

/// Like [`change_unlocked`], but then changes the others, too. The change must end their selection.
///
/// A transaction that stops or expires several tasks locks their messages one task after the other. Waiting for one of
/// them here, with others locked, could deadlock. So this waits for one message at a time, with none locked.
async fn change_selected(store: &Store, about_requests: &SqlQuery) -> Result<u64, StoreError> {
    let mut count = change_unlocked(store, about_requests).await?;
    if store.engine() == Engine::Sqlite {
        return Ok(count);
    }
    // Only a comparison with one value is certain to lock one row.
    let next = about_requests.clone().renamed(&[("id IN (SELECT", "id = (SELECT")]);
    let next = next.append(" ORDER BY id LIMIT 1 FOR UPDATE)");
    for kind in SubjectKind::ALL {
        loop {
            let changed = store.execute(kind.statement(next.clone())).await?;
            if changed == 0 {
                break;
            }
            count += changed;
        }
    }
    Ok(count)
}

/// Creation time of the message that is `steps` messages older than this one in its chat. One that is held until later
/// does not count.
pub async fn created_before(
    store: &Store,
    message: &ChatMessageRow,
    steps: u32,
) -> Result<Option<UnixMillis>, StoreError> {
    let query =
        sql("SELECT id, created_at FROM chat_messages WHERE platform = $1 AND chat = $2 AND id < $3 \
         AND workspace_id = $4 AND created_at <= $5 ORDER BY id DESC LIMIT $6");
    let query = query.bind(message.platform).bind(&message.chat).bind(message.id).bind(message.workspace_id);
    let query = query.bind(message.created_at).bind(i64::from(steps.max(1)));
    let mut earlier: Vec<(ChatMessageId, UnixMillis)> = all_kinds(store, &query).await?;
    earlier.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    let nth = usize::try_from(steps.saturating_sub(1)).unwrap_or(usize::MAX);
    Ok(earlier.get(nth).map(|(_, at)| *at))
}

/// The newest message of the same workspace and chat that is older than this one and was posted.
pub async fn posted_before(
    store: &Store,
    message: &ChatMessageRow,
) -> Result<Option<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE platform = $1 AND chat = $2 AND id < $3 AND workspace_id = $4 \
         AND message_ref IS NOT NULL ORDER BY id DESC"
    ));
    let query = query.bind(message.platform).bind(&message.chat).bind(message.id).bind(message.workspace_id);
    let rows: Vec<ChatMessageRow> = all_kinds(store, &query.limit(1)).await?;
    Ok(rows.into_iter().max_by_key(|row| row.id))
}

/// Messages of the same workspace and chat that were announced as `message_ref`, oldest first.
pub async fn list_announced(
    store: &Store,
    message: &ChatMessageRow,
    message_ref: &str,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE platform = $1 AND message_ref = $2 AND chat = $3 AND workspace_id = $4 \
         ORDER BY id"
    ));
    let query = query.bind(message.platform).bind(message_ref).bind(&message.chat).bind(message.workspace_id);
    let mut rows: Vec<ChatMessageRow> = all_kinds(store, &query).await?;
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

/// Messages of the same workspace and chat about pending subjects that are not posted, not given up and not held until
/// later, oldest first.
pub async fn list_unposted(
    store: &Store,
    message: &ChatMessageRow,
    now: UnixMillis,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE platform = $1 AND chat = $2 AND workspace_id = $3 AND message_ref IS NULL \
         AND next_at IS NOT NULL AND wanted = 'pending' AND created_at <= $4 ORDER BY id"
    ));
    let query = query.bind(message.platform).bind(&message.chat).bind(message.workspace_id).bind(now);
    let mut rows: Vec<ChatMessageRow> = all_kinds(store, &query).await?;
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

/// Rows of a query about messages about requests, and of the same about tasks.
async fn all_kinds<T: FromRow + Send + 'static>(
    store: &Store,
    about_requests: &SqlQuery,
) -> Result<Vec<T>, StoreError> {
    let mut rows = Vec::new();
    for kind in SubjectKind::ALL {
        rows.extend(store.all(kind.statement(about_requests.clone())).await?);
    }
    Ok(rows)
}

/// Records that the unposted messages of a chat after `first`, up to `last`, were announced together as `message_ref`.
/// Those that are held until later were not. Returns the number.
pub async fn record_digest(
    store: &Store,
    first: &ChatMessageRow,
    last: ChatMessageId,
    message_ref: &str,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query =
        sql("UPDATE chat_messages SET shown = 'pending', message_ref = $1, attempts = 0, error = NULL, \
         next_at = NULL WHERE id IN (SELECT id FROM chat_messages WHERE platform = $2 AND chat = $3 \
         AND workspace_id = $4 AND id > $5 AND id <= $6 AND message_ref IS NULL AND next_at IS NOT NULL \
         AND wanted = 'pending' AND created_at <= $7");
    let query = query.bind(message_ref).bind(first.platform).bind(&first.chat).bind(first.workspace_id);
    change_selected(store, &query.bind(first.id).bind(last).bind(now)).await
}

/// The message about a request whose buttons carry this nonce. Those about tasks have no buttons.
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
    store: &Store,
    platform: ChatPlatform,
    message_ref: &str,
) -> Result<Option<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE platform = $1 AND message_ref = $2"
    ));
    let found = all_kinds(store, &query.bind(platform).bind(message_ref)).await?;
    Ok(found.into_iter().next())
}

/// All messages about a subject.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    subject: impl Into<MessageSubject>,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let subject = subject.into();
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE workspace_id = $1 AND txn_id = $2 ORDER BY id"
    ));
    executor.all(subject.kind().statement(query.bind(workspace).bind(subject))).await
}

/// The newest messages of a workspace on a platform that could not be shown as desired.
pub async fn list_failing(
    store: &Store,
    workspace: WorkspaceId,
    platform: ChatPlatform,
    limit: u32,
) -> Result<Vec<ChatMessageRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_message_columns!(),
        " FROM chat_messages WHERE workspace_id = $1 AND platform = $2 AND error IS NOT NULL ORDER BY id DESC"
    ));
    let mut rows: Vec<ChatMessageRow> =
        all_kinds(store, &query.bind(workspace).bind(platform).limit(limit)).await?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(rows)
}

/// Condition on a message about a request: its chat rejected it, and accepted or rejected no later message.
macro_rules! rejected_last {
    ($($table:literal),+) => {
        concat!(
            " FROM chat_messages WHERE platform = $1 AND error IS NOT NULL AND message_ref IS NULL \
             AND next_at IS NULL"
            $(, " AND NOT EXISTS (SELECT 1 FROM ", $table, " AS later \
             WHERE later.platform = chat_messages.platform AND later.chat = chat_messages.chat \
             AND later.workspace_id = chat_messages.workspace_id AND later.id > chat_messages.id \
             AND (later.message_ref IS NOT NULL \
             OR (later.error IS NOT NULL AND later.message_ref IS NULL AND later.next_at IS NULL)))")+
            , " ORDER BY id"
        )
    };
}

/// For each chat of a platform that rejected a message and accepted none since, the newest rejected message. Covers all
/// workspaces.
pub async fn unreachable(store: &Store, platform: ChatPlatform) -> Result<Vec<ChatMessageRow>, StoreError> {
    let about_requests =
        sql(concat!("SELECT ", chat_message_columns!(), rejected_last!("chat_messages", "task_messages")));
    let mut rows: Vec<ChatMessageRow> = store.all(about_requests.bind(platform)).await?;
    let about_tasks =
        sql(concat!("SELECT ", chat_message_columns!(), rejected_last!("task_messages", "request_messages")));
    // The names change in this order, so that each table is compared with the other one, too.
    let about_tasks =
        SubjectKind::Task.statement(about_tasks).renamed(&[("request_messages", "chat_messages")]);
    rows.extend(store.all(about_tasks.bind(platform)).await?);
    rows.sort_by_key(|row: &ChatMessageRow| row.id);
    Ok(rows)
}

/// Makes messages that a chat rejected due again if their subject is still pending, and clears the errors of the
/// others. Returns their number.
pub async fn revive(
    store: &Store,
    platform: ChatPlatform,
    chat: &str,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE chat_messages SET error = NULL, attempts = 0, \
         next_at = CASE WHEN wanted = 'pending' THEN CAST($1 AS BIGINT) END WHERE id IN \
         (SELECT id FROM chat_messages WHERE platform = $2 AND chat = $3 AND error IS NOT NULL \
         AND message_ref IS NULL AND next_at IS NULL");
    change_selected(store, &query.bind(now).bind(platform).bind(chat)).await
}

/// Moves the messages of a chat to its replacement. Pending ones are posted there; decided ones stay as they are.
/// Returns their number.
pub async fn rename_chat(
    tx: &mut Tx,
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
    execute_on_all(tx, &query.bind(to).bind(now).bind(workspace).bind(platform).bind(from)).await
}

/// Time when the next message of a platform is due.
pub async fn next_due(
    store: &Store,
    platform: ChatPlatform,
    now: UnixMillis,
) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(next_at) FROM chat_messages WHERE platform = $1 AND next_at > $2");
    let firsts: Vec<(Option<UnixMillis>,)> = all_kinds(store, &query.bind(platform).bind(now)).await?;
    Ok(firsts.into_iter().filter_map(|(at,)| at).min())
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
