//! Chat accounts of users, and the default chats of workspaces.

use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{UserId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// A chat account that belongs to a user.
    pub ChatIdentityRow: "chat_identities", chat_identity_columns {
        /// Workspace of the user.
        workspace_id: WorkspaceId,
        platform: ChatPlatform,
        /// Account id on the platform.
        external_id: String,
        /// User that the account belongs to.
        user_id: UserId,
        /// Account name as shown on the platform.
        label: String,
        /// Time of linking.
        linked_at: UnixMillis,
    }
}

row! {
    /// A one-time code that links an account.
    pub LinkCodeRow: "chat_link_codes", link_code_columns {
        /// SHA-256 of the code, hex.
        code_hash: String,
        /// Workspace of the user.
        workspace_id: WorkspaceId,
        /// User who requested the code.
        user_id: UserId,
        /// Platform that the code is for.
        platform: ChatPlatform,
        /// Creation time.
        created_at: UnixMillis,
        /// Expiry time.
        expires_at: UnixMillis,
    }
}

/// Adds a code. Its hash must be new.
pub async fn insert_code(executor: impl Executor, new: &LinkCodeRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO chat_link_codes (code_hash, workspace_id, user_id, platform, created_at, \
         expires_at) VALUES ($1, $2, $3, $4, $5, $6)")
    .bind(&new.code_hash)
    .bind(new.workspace_id)
    .bind(new.user_id)
    .bind(new.platform)
    .bind(new.created_at)
    .bind(new.expires_at);
    executor.execute(query).await?;
    Ok(())
}

/// Consumes a valid code, so that it does not work again.
pub async fn take_code(
    tx: &mut Tx,
    platform: ChatPlatform,
    code_hash: &str,
    now: UnixMillis,
) -> Result<Option<LinkCodeRow>, StoreError> {
    let query = sql(concat!(
        "DELETE FROM chat_link_codes WHERE code_hash = $1 AND platform = $2 AND expires_at > $3 RETURNING ",
        link_code_columns!()
    ));
    Ok(tx.returning(query.bind(code_hash).bind(platform).bind(now)).await?.pop())
}

/// Deletes expired codes of all workspaces. Returns their number.
pub async fn purge_codes(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM chat_link_codes WHERE expires_at <= $1").bind(now)).await
}

/// Links an account to a user. Removes any earlier link of the account in the workspace.
pub async fn link(executor: impl Executor, new: &ChatIdentityRow) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO chat_identities (workspace_id, platform, external_id, user_id, label, linked_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (workspace_id, platform, external_id) \
         DO UPDATE SET user_id = excluded.user_id, label = excluded.label, linked_at = excluded.linked_at")
        .bind(new.workspace_id)
        .bind(new.platform)
        .bind(&new.external_id)
        .bind(new.user_id)
        .bind(&new.label)
        .bind(new.linked_at);
    executor.execute(query).await?;
    Ok(())
}

/// User whose account this is.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    platform: ChatPlatform,
    external_id: &str,
) -> Result<Option<ChatIdentityRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_identity_columns!(),
        " FROM chat_identities WHERE workspace_id = $1 AND platform = $2 AND external_id = $3"
    ));
    executor.optional(query.bind(workspace).bind(platform).bind(external_id)).await
}

/// Accounts of a workspace on a platform.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    platform: ChatPlatform,
) -> Result<Vec<ChatIdentityRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_identity_columns!(),
        " FROM chat_identities WHERE workspace_id = $1 AND platform = $2 ORDER BY external_id"
    ));
    executor.all(query.bind(workspace).bind(platform)).await
}

/// Accounts of a user.
pub async fn list_for_user(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<ChatIdentityRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        chat_identity_columns!(),
        " FROM chat_identities WHERE workspace_id = $1 AND user_id = $2 ORDER BY platform, external_id"
    ));
    executor.all(query.bind(workspace).bind(user)).await
}

/// Unlinks an account from a user. Returns true if it was linked to that user.
pub async fn unlink(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
    platform: ChatPlatform,
    external_id: &str,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM chat_identities \
         WHERE workspace_id = $1 AND user_id = $2 AND platform = $3 AND external_id = $4");
    let query = query.bind(workspace).bind(user).bind(platform).bind(external_id);
    Ok(executor.execute(query).await? == 1)
}

/// Default chat of a workspace on a platform, used unless a policy names another.
pub async fn default_chat(
    executor: impl Executor,
    workspace: WorkspaceId,
    platform: ChatPlatform,
) -> Result<Option<String>, StoreError> {
    let query = sql("SELECT chat FROM chat_defaults WHERE workspace_id = $1 AND platform = $2");
    Ok(executor.optional(query.bind(workspace).bind(platform)).await?.map(|(chat,)| chat))
}

/// Replaces the default chat if it is `from`. Returns false otherwise.
pub async fn replace_default_chat(
    tx: &mut Tx,
    workspace: WorkspaceId,
    platform: ChatPlatform,
    (from, to): (&str, &str),
) -> Result<bool, StoreError> {
    let query =
        sql("UPDATE chat_defaults SET chat = $1 WHERE workspace_id = $2 AND platform = $3 AND chat = $4")
            .bind(to)
            .bind(workspace)
            .bind(platform)
            .bind(from);
    Ok(tx.execute(query).await? == 1)
}

/// Sets the default chat; `None` removes it.
pub async fn set_default_chat(
    executor: impl Executor,
    workspace: WorkspaceId,
    platform: ChatPlatform,
    chat: Option<&str>,
) -> Result<(), StoreError> {
    let query = match chat {
        Some(chat) => sql("INSERT INTO chat_defaults (workspace_id, platform, chat) VALUES ($1, $2, $3) \
             ON CONFLICT (workspace_id, platform) DO UPDATE SET chat = excluded.chat")
        .bind(workspace)
        .bind(platform)
        .bind(chat),
        None => sql("DELETE FROM chat_defaults WHERE workspace_id = $1 AND platform = $2")
            .bind(workspace)
            .bind(platform),
    };
    executor.execute(query).await?;
    Ok(())
}
