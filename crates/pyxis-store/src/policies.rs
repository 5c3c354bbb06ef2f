//! Policies: one document per credential.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError, Tx, locks};

row! {
    /// A policy.
    pub PolicyRow: "policies", policy_columns {
        /// Its credential.
        credential_id: CredentialId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// The policy as JSON.
        document: String,
        /// Starts at 1 and rises with every change.
        version: i64,
        /// Last change.
        updated_at: UnixMillis,
        /// Who changed it: an e-mail address, or the command line.
        updated_by: String,
    }
}

/// Holds the policy of a credential until the transaction ends. Whoever changes it, or opens a grant under it, asks
/// for this before anything else, so that a grant is opened either before a change, which then sees it, or under
/// what was changed.
pub async fn hold(tx: &mut Tx, workspace: WorkspaceId, credential: CredentialId) -> Result<(), StoreError> {
    let credential = credential.to_string();
    locks::hold(tx, "policy", workspace, [credential.as_bytes()]).await
}

/// The policy of a credential.
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

/// The policies of a workspace.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<PolicyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        policy_columns!(),
        " FROM policies WHERE workspace_id = $1 ORDER BY credential_id"
    ));
    executor.all(query.bind(workspace)).await
}

/// Sets the policy of a credential; its new version. `Reference` when the workspace has no such
/// credential.
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

/// Sets the policy of a credential if its version is still `base` (0: it has none); the new version, or
/// `None` where somebody else was first.
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

/// Removes the policy of a credential; whether there was one.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM policies WHERE workspace_id = $1 AND credential_id = $2");
    Ok(executor.execute(query.bind(workspace).bind(credential)).await? == 1)
}
