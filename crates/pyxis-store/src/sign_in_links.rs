//! One-time sign-in links: first owner, invitations, command line.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{UserId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// A sign-in link. The token itself is not stored.
    pub SignInLinkRow: "sign_in_links", link_columns {
        /// SHA-256 of the token, hex; of a link that was used, of the session that it opened.
        token_hash: String,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// Who it signs in.
        user_id: UserId,
        /// Creation.
        created_at: UnixMillis,
        /// End of validity.
        expires_at: UnixMillis,
        /// When it was used.
        used_at: Option<UnixMillis>,
        /// Who made it, and so has seen it; `None` is the command line.
        made_by: Option<UserId>,
    }
}

/// Adds a link.
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

/// The link, if it can still be used. Uses nothing up: a preview may fetch the page.
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

/// Uses the link up. Of any number of callers at most one gets the row.
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

/// Notes which session a used link opened: from then on its row tells that, for as long as the session lasts.
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

/// The links of a workspace that can still be used, oldest first.
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

/// Forgets links that can no longer be used, nor tell of a session; how many.
pub async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM sign_in_links WHERE expires_at <= $1").bind(now)).await
}
