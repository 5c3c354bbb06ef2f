//! Approval requests restricted to some credentials, for members.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, WorkspaceId};

use super::ordered::ordered;
use super::{ApprovalFilter, ApprovalRow, listing};
use crate::db::{readable, sql};
use crate::{Executor, StoreError};

/// Approvals for the given credentials, in the order of the filter. Empty if there are no credentials.
pub async fn list_for_credentials(
    executor: impl Executor,
    workspace: WorkspaceId,
    filter: &ApprovalFilter,
    credentials: &[CredentialId],
) -> Result<Vec<ApprovalRow>, StoreError> {
    if credentials.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = listing(engine, workspace, filter).and_in(engine, "credential_id", credentials);
    Ok(readable(executor.all(ordered(query, filter)).await?))
}

/// Number of requests for the given credentials that can still be decided.
pub async fn count_pending_among(
    executor: impl Executor,
    workspace: WorkspaceId,
    credentials: &[CredentialId],
    now: UnixMillis,
) -> Result<i64, StoreError> {
    if credentials.is_empty() {
        return Ok(0);
    }
    let engine = executor.engine();
    let query = sql(
        "SELECT count(*) FROM approvals WHERE workspace_id = $1 AND state = 'pending' AND expires_at > $2",
    );
    let query = query.bind(workspace).bind(now).and_in(engine, "credential_id", credentials);
    Ok(executor.optional(query).await?.map_or(0, |(count,)| count))
}

/// Number of requests created since a time, for the given credentials if any are named.
pub async fn count_since(
    executor: impl Executor,
    workspace: WorkspaceId,
    credentials: Option<&[CredentialId]>,
    since: UnixMillis,
) -> Result<i64, StoreError> {
    if credentials.is_some_and(<[CredentialId]>::is_empty) {
        return Ok(0);
    }
    let engine = executor.engine();
    let query = sql("SELECT count(*) FROM approvals WHERE workspace_id = $1 AND created_at >= $2");
    let among = credentials.unwrap_or_default();
    let query = query.bind(workspace).bind(since).and_in(engine, "credential_id", among);
    Ok(executor.optional(query).await?.map_or(0, |(count,)| count))
}
