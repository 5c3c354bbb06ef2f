//! Personal access tokens, with which programs act for a person within scopes.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AccessTokenId, UserId, WorkspaceId};

use crate::db::{row, sql};
use crate::users::{self, UserRow};
use crate::{Executor, Store, StoreError};

row! {
    /// An access token. The token text is not stored.
    pub AccessTokenRow: "access_tokens", token_columns {
        /// Unique identifier.
        id: AccessTokenId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// Person that the token acts for.
        user_id: UserId,
        /// Name chosen by the person.
        name: String,
        /// SHA-256 of the token, hex.
        token_hash: String,
        /// First characters of the token.
        hint: String,
        /// Scope `px:approve`.
        can_approve: bool,
        /// Scope `px:admin`.
        can_admin: bool,
        /// Creation time.
        created_at: UnixMillis,
        /// Expiry; `None` for never.
        expires_at: Option<UnixMillis>,
        /// Time of the last request, to about a minute.
        last_used_at: Option<UnixMillis>,
    }
}

/// Adds a token. The id must be new.
pub async fn insert(executor: impl Executor, new: &AccessTokenRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO access_tokens (id, workspace_id, user_id, name, token_hash, hint, can_approve, \
         can_admin, created_at, expires_at, last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(new.user_id)
    .bind(&new.name)
    .bind(&new.token_hash)
    .bind(&new.hint)
    .bind(new.can_approve)
    .bind(new.can_admin)
    .bind(new.created_at)
    .bind(new.expires_at)
    .bind(new.last_used_at);
    crate::db::insert(executor, query).await
}

/// The token with this hash, unless it has expired or its person is disabled. Two point reads.
pub async fn find_live(
    store: &Store,
    token_hash: &str,
    now: UnixMillis,
) -> Result<Option<(AccessTokenRow, UserRow)>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        token_columns!(),
        " FROM access_tokens WHERE token_hash = $1 AND (expires_at IS NULL OR expires_at > $2)"
    ));
    let found: Option<AccessTokenRow> = store.optional(query.bind(token_hash).bind(now)).await?;
    let Some(token) = found else { return Ok(None) };
    let user = users::find(store, token.workspace_id, token.user_id).await?;
    Ok(user.filter(|user| user.disabled_at.is_none()).map(|user| (token, user)))
}

/// The token with this id, expired or not.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: AccessTokenId,
) -> Result<Option<AccessTokenRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", token_columns!(), " FROM access_tokens WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Tokens of a person, or of everyone if `None`, newest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: Option<UserId>,
) -> Result<Vec<AccessTokenRow>, StoreError> {
    let query = sql(concat!("SELECT ", token_columns!(), " FROM access_tokens WHERE workspace_id = $1"));
    let query = query.bind(workspace).push_if(" AND user_id = ?", user).append(" ORDER BY id DESC");
    executor.all(query).await
}

/// Revokes a token. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: AccessTokenId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM access_tokens WHERE workspace_id = $1 AND id = $2");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Records a use.
pub async fn touch(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: AccessTokenId,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query =
        sql("UPDATE access_tokens SET last_used_at = $1 WHERE workspace_id = $2 AND id = $3").relaxed();
    executor.execute(query.bind(now).bind(workspace).bind(id)).await?;
    Ok(())
}
