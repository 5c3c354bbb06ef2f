//! Policies. Each credential has at most one policy document.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError, Tx, locks};

row! {
    pub PolicyRow: "policies", policy_columns {
        /// Credential of the policy.
        credential_id: CredentialId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// The policy as JSON.
        document: String,
        /// Policy version. Starts at 1 and rises with every change.
        version: i64,
        /// Time of the last change.
        updated_at: UnixMillis,
        /// Author of the last change: an email address, or the command line.
        updated_by: String,
    }
}

/// Locks the policy of a credential until the transaction ends. Anyone who changes it, or opens a grant under it, calls
/// this first. A grant is therefore opened either before a change, which then sees it, or under the changed policy.
pub async fn lock(tx: &mut Tx, workspace: WorkspaceId, credential: CredentialId) -> Result<(), StoreError> {
    let credential = credential.to_string();
    locks::hold(tx, "policy", workspace, [credential.as_bytes()]).await
}

/// Like [`lock`], of several credentials. A transaction calls it once.
pub async fn lock_all(
    tx: &mut Tx,
    workspace: WorkspaceId,
    credentials: &[CredentialId],
) -> Result<(), StoreError> {
    let texts: Vec<String> = credentials.iter().map(ToString::to_string).collect();
    locks::hold(tx, "policy", workspace, texts.iter().map(String::as_bytes)).await
}

/// Policy of a credential.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
) -> Result<Option<PolicyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        policy_columns!(),
        " FROM policies WHERE workspace_id = $1 AND credential_id = $2"
    ));
    executor.optional(query.bind(workspace).bind(credential)).await
}

pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<PolicyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        policy_columns!(),
        " FROM policies WHERE workspace_id = $1 ORDER BY credential_id"
    ));
    executor.all(query.bind(workspace)).await
}

/// Sets the policy of a credential. Returns its new version. `Reference` if the workspace has no such credential.
pub async fn put(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
    document: &str,
    by: &str,
    now: UnixMillis,
) -> Result<i64, StoreError> {
    let query = sql("INSERT INTO policies (credential_id, workspace_id, document, version, updated_at, updated_by) \
         VALUES ($1, $2, $3, 1, $4, $5) ON CONFLICT (credential_id) DO UPDATE SET document = excluded.document, \
         version = policies.version + 1, updated_at = excluded.updated_at, updated_by = excluded.updated_by \
         WHERE policies.workspace_id = excluded.workspace_id RETURNING version")
    .bind(credential)
    .bind(workspace)
    .bind(document)
    .bind(now)
    .bind(by);
    let row = executor.returning(query).await?.pop();
    row.map(|(version,)| version).ok_or(StoreError::Reference)
}

/// Sets the policy of a credential if its version is still `base` (0: no policy). Returns the new version, or `None` if
/// someone else changed it first.
pub async fn replace_if_unchanged(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
    document: &str,
    base: i64,
    by: &str,
    now: UnixMillis,
) -> Result<Option<i64>, StoreError> {
    let query = if base == 0 {
        sql("INSERT INTO policies (credential_id, workspace_id, document, version, updated_at, updated_by) \
             VALUES ($1, $2, $3, 1, $4, $5) ON CONFLICT DO NOTHING RETURNING version")
        .bind(credential)
        .bind(workspace)
        .bind(document)
        .bind(now)
        .bind(by)
    } else {
        sql("UPDATE policies SET document = $1, version = version + 1, updated_at = $2, updated_by = $3 \
             WHERE workspace_id = $4 AND credential_id = $5 AND version = $6 RETURNING version")
        .bind(document)
        .bind(now)
        .bind(by)
        .bind(workspace)
        .bind(credential)
        .bind(base)
    };
    Ok(executor.returning(query).await?.pop().map(|(version,)| version))
}

/// Removes the policy of a credential. Returns true if there was one.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM policies WHERE workspace_id = $1 AND credential_id = $2");
    Ok(executor.execute(query.bind(workspace).bind(credential)).await? == 1)
}
