//! Members' rights on single credentials (`docs/reference/behavior/proxy.md#approvers`).

use pyxis_core::id::{CredentialId, UserId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// Rights of one person on one credential. No row means no rights.
    pub RightsRow: "member_rights", rights_columns {
        /// Workspace of both.
        workspace_id: WorkspaceId,
        /// Person with the rights.
        user_id: UserId,
        /// Credential that they apply to.
        credential_id: CredentialId,
        /// True if the person may decide its approval requests.
        can_approve: bool,
        /// True if the person may propose policy changes.
        can_edit_policy: bool,
    }
}

/// Rights of a person on a credential.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
    credential: CredentialId,
) -> Result<Option<RightsRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        rights_columns!(),
        " FROM member_rights WHERE workspace_id = $1 AND user_id = $2 AND credential_id = $3"
    ));
    executor.optional(query.bind(workspace).bind(user).bind(credential)).await
}

/// All rights of a person.
pub async fn list_for_user(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<RightsRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        rights_columns!(),
        " FROM member_rights WHERE workspace_id = $1 AND user_id = $2 ORDER BY credential_id"
    ));
    executor.all(query.bind(workspace).bind(user)).await
}

/// All rights in a workspace.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<RightsRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        rights_columns!(),
        " FROM member_rights WHERE workspace_id = $1 ORDER BY user_id, credential_id"
    ));
    executor.all(query.bind(workspace)).await
}

/// Sets the rights of a person on a credential. With none, the row is deleted. `Reference` if either belongs to another
/// workspace.
pub async fn put(tx: &mut Tx, row: &RightsRow) -> Result<(), StoreError> {
    if !row.can_approve && !row.can_edit_policy {
        remove(&mut *tx, row.workspace_id, row.user_id, row.credential_id).await?;
        return Ok(());
    }
    let query = sql(
        "INSERT INTO member_rights (workspace_id, user_id, credential_id, can_approve, can_edit_policy) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (user_id, credential_id) DO UPDATE SET \
         can_approve = excluded.can_approve, can_edit_policy = excluded.can_edit_policy",
    )
    .bind(row.workspace_id)
    .bind(row.user_id)
    .bind(row.credential_id)
    .bind(row.can_approve)
    .bind(row.can_edit_policy);
    tx.execute(query).await?;
    Ok(())
}

/// Removes the rights of a person on a credential. Returns true if there were any.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
    credential: CredentialId,
) -> Result<bool, StoreError> {
    let query =
        sql("DELETE FROM member_rights WHERE workspace_id = $1 AND user_id = $2 AND credential_id = $3");
    Ok(executor.execute(query.bind(workspace).bind(user).bind(credential)).await? == 1)
}

/// Removes all rights of a person. Returns their number.
pub async fn remove_for_user(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM member_rights WHERE workspace_id = $1 AND user_id = $2");
    executor.execute(query.bind(workspace).bind(user)).await
}
