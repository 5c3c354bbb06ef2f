//! Users: people with an account in a workspace.

use std::time::Duration;

use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{UserId, WorkspaceId};

use crate::db::{normalize_name, readable, row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// A person in a workspace.
    pub UserRow: "users", user_columns {
        /// Unique identifier.
        id: UserId,
        /// Workspace of the account.
        workspace_id: WorkspaceId,
        /// Email address as entered; unique in the workspace, ignoring case.
        email: String,
        /// Role in the workspace.
        role: Role,
        /// Password hash in PHC format; `None` for accounts with only passkeys and links.
        password_hash: Option<String>,
        /// Time when the account was disabled; `None` while enabled.
        disabled_at: Option<UnixMillis>,
        /// Failed sign-ins since the last success or lock.
        failed_sign_ins: i64,
        /// Time before which no password sign-in is possible.
        locked_until: Option<UnixMillis>,
        /// Creation time.
        created_at: UnixMillis,
        /// Time of the last sign-in.
        last_sign_in_at: Option<UnixMillis>,
        /// User whose link last opened the account after its first sign-in, and who therefore had access to it.
        opened_by: Option<UserId>,
        /// First time that such a link opened the account, since the person last proved that it is theirs.
        opened_at: Option<UnixMillis>,
    }
}
pub(crate) use user_columns;

/// A person to add.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// Unique identifier.
    pub id: UserId,
    /// Workspace of the account.
    pub workspace_id: WorkspaceId,
    /// Email address, unique in the workspace.
    pub email: String,
    /// Role in the workspace.
    pub role: Role,
    /// Password hash in PHC format.
    pub password_hash: Option<String>,
    /// Creation time.
    pub created_at: UnixMillis,
}

row! {
    /// Lock state after a failed sign-in.
    pub UserLock: "users", lock_columns {
        /// Failed sign-ins since the last success or lock.
        failed_sign_ins: i64,
        /// Time before which no sign-in is possible.
        locked_until: Option<UnixMillis>,
    }
}

/// Adds a user. `Conflict` if the email address exists in the workspace.
pub async fn insert(executor: impl Executor, new: &NewUser) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO users (id, workspace_id, email, email_folded, role, password_hash, created_at, \
         failed_sign_ins) VALUES ($1, $2, $3, $4, $5, $6, $7, 0) ON CONFLICT DO NOTHING")
        .bind(new.id)
        .bind(new.workspace_id)
        .bind(&new.email)
        .bind(normalize_name(&new.email))
        .bind(new.role)
        .bind(&new.password_hash)
        .bind(new.created_at);
    crate::db::insert(executor, query).await
}

/// The user with this id.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<Option<UserRow>, StoreError> {
    let query = sql(concat!("SELECT ", user_columns!(), " FROM users WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// The user with this email address, ignoring case.
pub async fn find_by_email(
    executor: impl Executor,
    workspace: WorkspaceId,
    email: &str,
) -> Result<Option<UserRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", user_columns!(), " FROM users WHERE workspace_id = $1 AND email_folded = $2"));
    executor.optional(query.bind(workspace).bind(normalize_name(email))).await
}

/// Users with this email address in all workspaces. Used for sign-in, where the workspace is unknown.
pub async fn find_all_by_email(executor: impl Executor, email: &str) -> Result<Vec<UserRow>, StoreError> {
    let query = sql(concat!("SELECT ", user_columns!(), " FROM users WHERE email_folded = $1 ORDER BY id"));
    executor.all(query.bind(normalize_name(email))).await
}

/// Users of a workspace, oldest first.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<UserRow>, StoreError> {
    let query = sql(concat!("SELECT ", user_columns!(), " FROM users WHERE workspace_id = $1 ORDER BY id"));
    Ok(readable(executor.all(query.bind(workspace)).await?))
}

/// Changes a role. Returns true if the user exists.
pub async fn set_role(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
    role: Role,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE users SET role = $1 WHERE workspace_id = $2 AND id = $3");
    Ok(executor.execute(query.bind(role).bind(workspace).bind(id)).await? == 1)
}

/// Disables a user, or enables them again with `None`. Returns true if the user exists.
pub async fn set_disabled(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
    disabled_at: Option<UnixMillis>,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE users SET disabled_at = $1 WHERE workspace_id = $2 AND id = $3");
    Ok(executor.execute(query.bind(disabled_at).bind(workspace).bind(id)).await? == 1)
}

/// Sets the password hash and ends a lock. Returns true if the user exists.
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

/// Counts an upcoming sign-in attempt as a failure until [`record_success`]. The attempt that reaches `max` locks the
/// user for `lock_for` and resets the counter. `None`, without counting, if the user is already locked or does not
/// exist. Exact under concurrency.
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

/// Resets the failures and records the sign-in.
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

/// Records whose link opened the account again; `None` clears the record. An existing record keeps its first time, and
/// no other user replaces it. Returns true if the record now has the requested content.
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

/// Clears the record for a user who proves possession of something that they had `since` before the account was opened.
/// Returns true if there was a record to clear.
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

/// Removes a user who has never signed in. Returns true if there was one.
pub async fn remove_invited(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM users WHERE workspace_id = $1 AND id = $2 AND last_sign_in_at IS NULL");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Locks the users of a workspace until the transaction ends, so that counts stay correct.
pub async fn lock(tx: &mut Tx, workspace: WorkspaceId) -> Result<(), StoreError> {
    crate::locks::hold(tx, "people", workspace, [&b"all"[..]]).await
}
