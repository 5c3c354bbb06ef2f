//! Passkeys of users.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{PasskeyId, UserId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// A registered passkey.
    pub PasskeyRow: "passkeys", passkey_columns {
        /// Unique identifier.
        id: PasskeyId,
        /// Workspace of the owner.
        workspace_id: WorkspaceId,
        /// Owner of the passkey.
        user_id: UserId,
        /// Credential id from the authenticator, base64url; unique in the installation.
        credential: String,
        /// Name chosen by the owner.
        name: String,
        /// Public key, counter and flags as JSON.
        document: String,
        /// Number of ceremonies so far, which [`record_use`] compares.
        uses: i64,
        /// Time of registration.
        created_at: UnixMillis,
        /// Time of the last ceremony.
        last_used_at: Option<UnixMillis>,
    }
}

/// Adds a passkey. `Conflict` if the authenticator's id is already registered.
pub async fn insert(executor: impl Executor, new: &PasskeyRow) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO passkeys (id, workspace_id, user_id, credential, name, document, uses, created_at, \
         last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
    )
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(new.user_id)
    .bind(&new.credential)
    .bind(&new.name)
    .bind(&new.document)
    .bind(new.uses)
    .bind(new.created_at)
    .bind(new.last_used_at);
    crate::db::insert(executor, query).await
}

/// Passkeys of a person, oldest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<PasskeyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        passkey_columns!(),
        " FROM passkeys WHERE workspace_id = $1 AND user_id = $2 ORDER BY id"
    ));
    executor.all(query.bind(workspace).bind(user)).await
}

/// Users of a workspace with a passkey.
pub async fn owners(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<UserId>, StoreError> {
    let query = sql("SELECT DISTINCT user_id FROM passkeys WHERE workspace_id = $1 ORDER BY user_id");
    let rows: Vec<(UserId,)> = executor.all(query.bind(workspace)).await?;
    Ok(rows.into_iter().map(|(user,)| user).collect())
}

/// The passkey with an authenticator's id, in any workspace. Used for sign-in, where the workspace is unknown.
pub async fn find_by_credential(
    executor: impl Executor,
    credential: &str,
) -> Result<Option<PasskeyRow>, StoreError> {
    let query = sql(concat!("SELECT ", passkey_columns!(), " FROM passkeys WHERE credential = $1"));
    executor.optional(query.bind(credential)).await
}

/// Stores the changes of a ceremony (the counter), unless another ceremony came between. Returns true if stored.
pub async fn record_use(
    executor: impl Executor,
    before: &PasskeyRow,
    document: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE passkeys SET document = $1, uses = uses + 1, last_used_at = $2 \
         WHERE workspace_id = $3 AND id = $4 AND uses = $5");
    let query = query.bind(document).bind(now).bind(before.workspace_id).bind(before.id).bind(before.uses);
    Ok(executor.execute(query).await? == 1)
}

/// Renames a passkey of a person. Returns true if it exists.
pub async fn rename(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
    id: PasskeyId,
    name: &str,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE passkeys SET name = $1 WHERE workspace_id = $2 AND user_id = $3 AND id = $4");
    Ok(executor.execute(query.bind(name).bind(workspace).bind(user).bind(id)).await? == 1)
}

/// Removes a passkey of a person. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
    id: PasskeyId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM passkeys WHERE workspace_id = $1 AND user_id = $2 AND id = $3");
    Ok(executor.execute(query.bind(workspace).bind(user).bind(id)).await? == 1)
}
