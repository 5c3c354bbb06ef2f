//! Changes to a pending request by a person. The agent's own request is kept next to the changed one.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TxnId, UserId, WorkspaceId};

use crate::cipher::Sealed;
use crate::db::sql;
use crate::{Executor, StoreError, Tx};

/// A pending request after a change.
#[derive(Clone, Debug)]
pub struct EditedRequest<'a> {
    /// Digest of the request that was changed.
    pub seen: &'a str,
    /// Digest of the changed request.
    pub digest: &'a str,
    /// Its URL, sealed for [`super::target_aad`].
    pub sealed_target: Sealed,
    /// The whole request, sealed for [`super::request_aad`].
    pub sealed_request: Sealed,
    /// Size of its body, in bytes.
    pub body_bytes: i64,
    /// Content type of its body.
    pub content_type: Option<&'a str>,
    /// Person who changed it.
    pub user: UserId,
    /// Email address of that person.
    pub email: &'a str,
    /// Current time.
    pub now: UnixMillis,
}

/// Replaces a pending request. Returns false if it is no longer pending, or no longer the one that was seen.
pub async fn edit(
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
    edited: &EditedRequest<'_>,
) -> Result<bool, StoreError> {
    let query =
        sql("UPDATE approvals SET edits = edits + 1, asked_digest = coalesce(asked_digest, digest), \
         digest = $1, sealed_target = $2, body_bytes = $3, content_type = $4, edited_by = $5, \
         edited_by_email = $6, edited_at = $7 \
         WHERE workspace_id = $8 AND txn_id = $9 AND state = 'pending' AND digest = $10 AND expires_at > $11")
        .bind(edited.digest)
        .bind(&edited.sealed_target)
        .bind(edited.body_bytes)
        .bind(edited.content_type)
        .bind(edited.user)
        .bind(edited.email)
        .bind(edited.now)
        .bind(workspace)
        .bind(txn)
        .bind(edited.seen)
        .bind(edited.now);
    if tx.execute(query).await? == 0 {
        return Ok(false);
    }
    let bytes = i64::try_from(edited.sealed_request.len()).unwrap_or(i64::MAX);
    let body = sql("UPDATE approval_bodies SET sealed_asked = coalesce(sealed_asked, sealed_request), \
         bytes = length(coalesce(sealed_asked, sealed_request)) + $1, sealed_request = $2 \
         WHERE workspace_id = $3 AND txn_id = $4");
    let body = body.bind(bytes).bind(&edited.sealed_request).bind(workspace).bind(txn);
    Ok(tx.execute(body).await? == 1)
}

/// The request of the agent, sealed for [`super::request_aad`]. `None` if it was not edited, and once it is deleted.
pub async fn original_request(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Option<Sealed>, StoreError> {
    let query = sql("SELECT sealed_asked FROM approval_bodies WHERE workspace_id = $1 AND txn_id = $2");
    Ok(executor.optional(query.bind(workspace).bind(txn)).await?.and_then(|(sealed,)| sealed))
}
