//! People.

use std::time::Duration;

use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{UserId, WorkspaceId};

use crate::db::{fold, row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// A person in a workspace.
    pub UserRow: "users", user_columns {
        /// Identifier.
        id: UserId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// E-mail address as given; unique in the workspace whatever its case.
        email: String,
        /// Standing.
        role: Role,
        /// Password hash in PHC format; `None` for passkeys and links only.
        password_hash: Option<String>,
        /// When the person was shut out.
        disabled_at: Option<UnixMillis>,
        /// Failures since the last success or lock.
        failed_sign_ins: i64,
        /// No sign-in with a password before this.
        locked_until: Option<UnixMillis>,
        /// Creation.
        created_at: UnixMillis,
        /// Last sign-in.
        last_sign_in_at: Option<UnixMillis>,
        /// Whose link last opened the account after its first sign-in: they had it in their hands.
        opened_by: Option<UserId>,
        /// When such a link first did, since the person last showed that the account is theirs.
        opened_at: Option<UnixMillis>,
    }
}

/// A person to add.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// Identifier.
    pub id: UserId,
    /// Workspace.
    pub workspace_id: WorkspaceId,
    /// E-mail address.
    pub email: String,
    /// Standing.
    pub role: Role,
    /// Password hash.
    pub password_hash: Option<String>,
    /// Creation.
    pub created_at: UnixMillis,
}

row! {
    /// What a failed sign-in led to.
    pub UserLock: "users", lock_columns {
        /// Failures since the last success or lock.
        failed_sign_ins: i64,
        /// No sign-in before this.
        locked_until: Option<UnixMillis>,
    }
}

/// Adds a person. `Conflict` when the workspace has that e-mail address.
pub async fn insert(executor: impl Executor, new: &NewUser) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO users (id, workspace_id, email, email_folded, role, password_hash, created_at, \
         failed_sign_ins) VALUES ($1, $2, $3, $4, $5, $6, $7, 0) ON CONFLICT DO NOTHING")
        .bind(new.id)
        .bind(new.workspace_id)
        .bind(&new.email)
        .bind(fold(&new.email))
        .bind(new.role)
        .bind(&new.password_hash)
        .bind(new.created_at);
    crate::db::insert(executor, query).await
}

/// The person.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<Option<UserRow>, StoreError> {
    let query = sql(concat!("SELECT ", user_columns!(), " FROM users WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// The person with an e-mail address, whatever its case.
pub async fn find_by_email(
    executor: impl Executor,
    workspace: WorkspaceId,
    email: &str,
) -> Result<Option<UserRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", user_columns!(), " FROM users WHERE workspace_id = $1 AND email_folded = $2"));
    executor.optional(query.bind(workspace).bind(fold(email))).await
}

/// Everybody with an e-mail address, in all workspaces: for sign-in, where the workspace is not known.
pub async fn find_all_by_email(executor: impl Executor, email: &str) -> Result<Vec<UserRow>, StoreError> {
    let query = sql(concat!("SELECT ", user_columns!(), " FROM users WHERE email_folded = $1 ORDER BY id"));
    executor.all(query.bind(fold(email))).await
}

/// The people of a workspace, oldest first.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<UserRow>, StoreError> {
    let query = sql(concat!("SELECT ", user_columns!(), " FROM users WHERE workspace_id = $1 ORDER BY id"));
    executor.all(query.bind(workspace)).await
}

/// Changes a role; whether the person exists.
pub async fn set_role(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
    role: Role,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE users SET role = $1 WHERE workspace_id = $2 AND id = $3");
    Ok(executor.execute(query.bind(role).bind(workspace).bind(id)).await? == 1)
}

/// Shuts a person out, or lets them in again with `None`; whether the person exists.
pub async fn set_disabled(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
    disabled_at: Option<UnixMillis>,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE users SET disabled_at = $1 WHERE workspace_id = $2 AND id = $3");
    Ok(executor.execute(query.bind(disabled_at).bind(workspace).bind(id)).await? == 1)
}

/// Sets the password hash, and ends a lock; whether the person exists.
pub async fn set_password(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
    password_hash: &str,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE users SET password_hash = $1, failed_sign_ins = 0, locked_until = NULL \
         WHERE workspace_id = $2 AND id = $3");
    Ok(executor.execute(query.bind(password_hash).bind(workspace).bind(id)).await? == 1)
}

/// Counts a sign-in that is about to be tried, as a failure until [`record_success`]. The one that
/// reaches `max` locks the person for `lock_for`, and counting starts again. `None`, and nothing
/// counted: the person is locked already, or does not exist. Exact under concurrency.
pub async fn record_attempt(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
    now: UnixMillis,
    max: u32,
    lock_for: Duration,
) -> Result<Option<UserLock>, StoreError> {
    let query = sql(concat!(
        "UPDATE users SET failed_sign_ins = CASE WHEN failed_sign_ins + 1 >= $1 THEN 0 \
         ELSE failed_sign_ins + 1 END, \
         locked_until = CASE WHEN failed_sign_ins + 1 >= $1 THEN $2 ELSE locked_until END \
         WHERE workspace_id = $3 AND id = $4 AND (locked_until IS NULL OR locked_until <= $5) RETURNING ",
        lock_columns!()
    ))
    .bind(i64::from(max))
    .bind(now.plus(lock_for))
    .bind(workspace)
    .bind(id)
    .bind(now);
    Ok(executor.returning(query).await?.pop())
}

/// Forgets failures and notes the sign-in.
pub async fn record_success(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE users SET failed_sign_ins = 0, locked_until = NULL, last_sign_in_at = $1 \
         WHERE workspace_id = $2 AND id = $3");
    Ok(executor.execute(query.bind(now).bind(workspace).bind(id)).await? == 1)
}

/// Notes whose link opened the account again; `None` takes the note away. While one stands, its moment
/// stays the first one, and nobody else's takes its place: whether it says what was asked for.
pub async fn set_opened(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
    opened: Option<(UserId, UnixMillis)>,
) -> Result<bool, StoreError> {
    let query = match opened {
        Some((by, at)) => sql("UPDATE users SET opened_by = $1, opened_at = COALESCE(opened_at, $2) \
             WHERE workspace_id = $3 AND id = $4 AND (opened_by IS NULL OR opened_by = $1)")
        .bind(by)
        .bind(at)
        .bind(workspace)
        .bind(id),
        None => {
            sql("UPDATE users SET opened_by = NULL, opened_at = NULL WHERE workspace_id = $1 AND id = $2")
                .bind(workspace)
                .bind(id)
        }
    };
    Ok(executor.execute(query).await? == 1)
}

/// Takes the note away for somebody who shows what they had `since` before the account was opened;
/// whether there was one to take.
pub async fn reclaim(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
    since: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE users SET opened_by = NULL, opened_at = NULL \
         WHERE workspace_id = $1 AND id = $2 AND opened_at > $3");
    Ok(executor.execute(query.bind(workspace).bind(id).bind(since)).await? == 1)
}

/// Removes a person who has never signed in; whether there was one.
pub async fn remove_invited(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM users WHERE workspace_id = $1 AND id = $2 AND last_sign_in_at IS NULL");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Holds the people of a workspace until the transaction ends, so that what is counted stays true.
pub async fn lock(tx: &mut Tx, workspace: WorkspaceId) -> Result<(), StoreError> {
    crate::locks::hold(tx, "people", workspace, [&b"all"[..]]).await
}
