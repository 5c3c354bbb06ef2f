//! Sign-in sessions: browser cookies and bearer tokens.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{SessionId, UserId, WorkspaceId};

use crate::db::{row, sql, stored_enum};
use crate::users::{self, UserRow};
use crate::{Executor, Store, StoreError};

stored_enum! {
    /// Transport of the token.
    pub SessionKind {
        /// In a cookie; changes need the CSRF token.
        Browser = "browser",
        /// In `Authorization: Bearer`.
        Bearer = "bearer",
    }
}

row! {
    /// A session. The token text is not stored.
    pub SessionRow: "sessions", session_columns {
        /// Unique identifier.
        id: SessionId,
        /// SHA-256 of the token, hex.
        token_hash: String,
        /// Workspace of the user.
        workspace_id: WorkspaceId,
        /// Signed-in user.
        user_id: UserId,
        /// Transport of the token.
        kind: SessionKind,
        /// CSRF token of browser sessions.
        csrf: String,
        /// Creation time.
        created_at: UnixMillis,
        /// Expiry time.
        expires_at: UnixMillis,
        /// Time of the last request.
        last_seen_at: UnixMillis,
        /// `User-Agent` of the browser.
        user_agent: Option<String>,
    }
}

/// Adds a session. The id must be new.
pub async fn insert(executor: impl Executor, new: &SessionRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO sessions (id, token_hash, workspace_id, user_id, kind, csrf, created_at, \
         expires_at, last_seen_at, user_agent) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(&new.token_hash)
    .bind(new.workspace_id)
    .bind(new.user_id)
    .bind(new.kind)
    .bind(&new.csrf)
    .bind(new.created_at)
    .bind(new.expires_at)
    .bind(new.last_seen_at)
    .bind(&new.user_agent);
    crate::db::insert(executor, query).await
}

/// The session with this token hash, unless it has expired or its user is disabled. Two point reads.
pub async fn find_live(
    store: &Store,
    token_hash: &str,
    now: UnixMillis,
) -> Result<Option<(SessionRow, UserRow)>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        session_columns!(),
        " FROM sessions WHERE token_hash = $1 AND expires_at > $2"
    ));
    let Some(session): Option<SessionRow> = store.optional(query.bind(token_hash).bind(now)).await? else {
        return Ok(None);
    };
    let user = users::find(store, session.workspace_id, session.user_id).await?;
    Ok(user.filter(|user| user.disabled_at.is_none()).map(|user| (session, user)))
}

/// Sessions of a user, newest first.
pub async fn list_for_user(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<SessionRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        session_columns!(),
        " FROM sessions WHERE workspace_id = $1 AND user_id = $2 ORDER BY id DESC"
    ));
    executor.all(query.bind(workspace).bind(user)).await
}

/// Ends a session. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: SessionId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM sessions WHERE workspace_id = $1 AND id = $2");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Ends every session of a user. Returns their number.
pub async fn remove_for_user(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM sessions WHERE workspace_id = $1 AND user_id = $2");
    executor.execute(query.bind(workspace).bind(user)).await
}

/// Ends a person's bearer sessions that never made a request. Returns their number.
pub async fn remove_unused_bearer(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM sessions WHERE workspace_id = $1 AND user_id = $2 AND kind = $3 \
         AND last_seen_at = created_at");
    executor.execute(query.bind(workspace).bind(user).bind(SessionKind::Bearer)).await
}

/// Records the time of the last request.
pub async fn touch(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: SessionId,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE sessions SET last_seen_at = $1 WHERE workspace_id = $2 AND id = $3");
    executor.execute(query.bind(now).bind(workspace).bind(id)).await?;
    Ok(())
}

/// Deletes expired sessions of all workspaces. Returns their number.
pub async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM sessions WHERE expires_at <= $1").bind(now)).await
}
