//! One-time sign-in links for first owners, invitations and the command line.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{UserId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// A sign-in link. The token text is not stored.
    pub SignInLinkRow: "sign_in_links", link_columns {
        /// SHA-256 of the token, hex. After use, SHA-256 of the token of the session that it opened.
        token_hash: String,
        /// Workspace of the user.
        workspace_id: WorkspaceId,
        /// User whom it signs in.
        user_id: UserId,
        /// Creation time.
        created_at: UnixMillis,
        /// Expiry time.
        expires_at: UnixMillis,
        /// Time of use.
        used_at: Option<UnixMillis>,
        /// User who created the link, and so has seen it; `None` for the command line.
        made_by: Option<UserId>,
    }
}

/// Adds a link. Its hash must be new.
pub async fn insert(executor: impl Executor, new: &SignInLinkRow) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO sign_in_links (token_hash, workspace_id, user_id, created_at, expires_at, used_at, \
         made_by) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
    )
    .bind(&new.token_hash)
    .bind(new.workspace_id)
    .bind(new.user_id)
    .bind(new.created_at)
    .bind(new.expires_at)
    .bind(new.used_at)
    .bind(new.made_by);
    crate::db::insert(executor, query).await
}

/// The link, if it is still valid. Does not use it up, since a link preview may fetch the page.
pub async fn peek(
    executor: impl Executor,
    token_hash: &str,
    now: UnixMillis,
) -> Result<Option<SignInLinkRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        link_columns!(),
        " FROM sign_in_links WHERE token_hash = $1 AND used_at IS NULL AND expires_at > $2"
    ));
    executor.optional(query.bind(token_hash).bind(now)).await
}

/// Uses the link up. At most one of several callers gets the row.
pub async fn consume(
    executor: impl Executor,
    token_hash: &str,
    now: UnixMillis,
) -> Result<Option<SignInLinkRow>, StoreError> {
    let query = sql(concat!(
        "UPDATE sign_in_links SET used_at = $1 WHERE token_hash = $2 AND used_at IS NULL AND expires_at > $1 \
         RETURNING ",
        link_columns!()
    ));
    Ok(executor.returning(query.bind(now).bind(token_hash)).await?.pop())
}

/// Records which session a used link opened. The row keeps that information for as long as the session lasts.
pub async fn note_session(
    executor: impl Executor,
    used: &SignInLinkRow,
    session_hash: &str,
    session_ends: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE sign_in_links SET token_hash = $1, expires_at = $2 \
         WHERE token_hash = $3 AND used_at IS NOT NULL");
    let query = query.bind(session_hash).bind(session_ends).bind(&used.token_hash);
    Ok(executor.execute(query).await? == 1)
}

/// True if a link opened the session.
pub async fn opened(executor: impl Executor, session_hash: &str) -> Result<bool, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        link_columns!(),
        " FROM sign_in_links WHERE token_hash = $1 AND used_at IS NOT NULL"
    ));
    let found: Option<SignInLinkRow> = executor.optional(query.bind(session_hash)).await?;
    Ok(found.is_some())
}

/// Valid links of a workspace, oldest first.
pub async fn list_open(
    executor: impl Executor,
    workspace: WorkspaceId,
    now: UnixMillis,
) -> Result<Vec<SignInLinkRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        link_columns!(),
        " FROM sign_in_links WHERE workspace_id = $1 AND used_at IS NULL AND expires_at > $2 ORDER BY created_at"
    ));
    executor.all(query.bind(workspace).bind(now)).await
}

/// Deletes a person's links that were not used. Returns their number.
pub async fn remove_unused(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM sign_in_links WHERE workspace_id = $1 AND user_id = $2 AND used_at IS NULL");
    executor.execute(query.bind(workspace).bind(user)).await
}

/// Deletes links that are neither valid nor needed for a session. Returns their number.
pub async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM sign_in_links WHERE expires_at <= $1").bind(now)).await
}
