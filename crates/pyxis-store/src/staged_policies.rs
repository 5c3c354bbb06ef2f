//! Policies that members have proposed but not confirmed yet.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, StagedPolicyId, UserId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// A proposed policy.
    pub StagedPolicyRow: "staged_policies", staged_columns {
        /// Unique identifier.
        id: StagedPolicyId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// Credential of the policy.
        credential_id: CredentialId,
        /// User who proposed it and must confirm it.
        user_id: UserId,
        /// The whole policy as JSON.
        document: String,
        /// Policy version that it is based on; 0 if there was no policy.
        base_version: i64,
        /// Creation time.
        created_at: UnixMillis,
        /// Expiry time.
        expires_at: UnixMillis,
    }
}

/// Adds a proposal. Replaces the user's earlier one for the same credential. `Reference` if either belongs to another
/// workspace.
pub async fn put(tx: &mut Tx, new: &StagedPolicyRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO staged_policies (id, workspace_id, credential_id, user_id, document, \
         base_version, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (credential_id, user_id) DO UPDATE SET id = excluded.id, document = excluded.document, \
         base_version = excluded.base_version, created_at = excluded.created_at, \
         expires_at = excluded.expires_at")
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(new.credential_id)
    .bind(new.user_id)
    .bind(&new.document)
    .bind(new.base_version)
    .bind(new.created_at)
    .bind(new.expires_at);
    tx.execute(query).await?;
    Ok(())
}

/// The proposal, unless it has expired.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: StagedPolicyId,
    now: UnixMillis,
) -> Result<Option<StagedPolicyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        staged_columns!(),
        " FROM staged_policies WHERE workspace_id = $1 AND id = $2 AND expires_at > $3"
    ));
    executor.optional(query.bind(workspace).bind(id).bind(now)).await
}

/// Proposals of a workspace that have not expired, newest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    now: UnixMillis,
) -> Result<Vec<StagedPolicyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        staged_columns!(),
        " FROM staged_policies WHERE workspace_id = $1 AND expires_at > $2 ORDER BY id DESC"
    ));
    executor.all(query.bind(workspace).bind(now)).await
}

/// Removes a proposal. Returns true to exactly one of several callers.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: StagedPolicyId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM staged_policies WHERE workspace_id = $1 AND id = $2");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Deletes expired proposals of all workspaces. Returns their number.
pub async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM staged_policies WHERE expires_at <= $1").bind(now)).await
}
