//! The inbox: one page of many pending requests, their number, and their agents.

use pyxis_core::id::{AgentId, CredentialId, TxnId, WorkspaceId};
use pyxis_core::policy::Method;

use super::ordered::{after, ordered};
use super::{ApprovalFilter, matching};
use crate::cipher::Sealed;
use crate::db::sql;
use crate::{Executor, StoreError, StoredName};

/// Risk of a request, judged by its HTTP method alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodRisk {
    /// `GET`, `HEAD` and `OPTIONS`.
    Read,
    /// All others: `POST`, `PUT`, `PATCH`, a WebSocket, a signature.
    Write,
    Delete,
}

impl MethodRisk {
    /// Risk of a stored method. One of a newer version can write.
    pub fn from_method(method: &StoredName<Method>) -> Self {
        match method.known() {
            Some(method) if method.is_safe() => Self::Read,
            Some(Method::Delete) => Self::Delete,
            _ => Self::Write,
        }
    }

    pub(super) const fn condition(self) -> &'static str {
        match self {
            Self::Read => " AND method IN ('GET', 'HEAD', 'OPTIONS')",
            Self::Write => " AND method NOT IN ('GET', 'HEAD', 'OPTIONS', 'DELETE')",
            Self::Delete => " AND method = 'DELETE'",
        }
    }
}

/// An agent and a credential with pending requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingAsker {
    pub agent: AgentId,
    /// Name as stored with the requests.
    pub agent_name: String,
    pub credential: CredentialId,
    /// Name as stored with the requests.
    pub credential_name: String,
}

/// Number of requests after the filter's page, regardless of its limit. `among` limits it to these credentials.
pub async fn count(
    executor: impl Executor,
    workspace: WorkspaceId,
    filter: &ApprovalFilter,
    among: Option<&[CredentialId]>,
) -> Result<i64, StoreError> {
    if among.is_some_and(<[CredentialId]>::is_empty) {
        return Ok(0);
    }
    let engine = executor.engine();
    let query = matching(engine, workspace, filter).selecting("count(*)").and_in(
        engine,
        "credential_id",
        among.unwrap_or_default().iter().copied(),
    );
    Ok(executor.optional(after(query, filter)).await?.map_or(0, |(count,)| count))
}

/// Ids of the requests in the order of the filter. `among` limits them to these credentials.
pub async fn list_ids(
    executor: impl Executor,
    workspace: WorkspaceId,
    filter: &ApprovalFilter,
    among: Option<&[CredentialId]>,
) -> Result<Vec<TxnId>, StoreError> {
    if among.is_some_and(<[CredentialId]>::is_empty) {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = matching(engine, workspace, filter).selecting("txn_id").and_in(
        engine,
        "credential_id",
        among.unwrap_or_default().iter().copied(),
    );
    let rows: Vec<(TxnId,)> = executor.all(ordered(query, filter)).await?;
    Ok(rows.into_iter().map(|(txn,)| txn).collect())
}

/// Agents and credentials of pending requests, by name, at most `limit` pairs. `among` limits them to these
/// credentials.
pub async fn pending_askers(
    executor: impl Executor,
    workspace: WorkspaceId,
    among: Option<&[CredentialId]>,
    limit: u32,
) -> Result<Vec<PendingAsker>, StoreError> {
    if among.is_some_and(<[CredentialId]>::is_empty) {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql("SELECT agent_id, max(agent_name), credential_id, max(credential_name) FROM approvals \
         WHERE workspace_id = $1 AND state = 'pending'")
    .bind(workspace)
    .and_in(engine, "credential_id", among.unwrap_or_default().iter().copied())
    .append(" GROUP BY agent_id, credential_id ORDER BY 2, 4, 1, 3")
    .limit(limit);
    let rows: Vec<(AgentId, String, CredentialId, String)> = executor.all(query).await?;
    let asker = |(agent, agent_name, credential, credential_name)| PendingAsker {
        agent,
        agent_name,
        credential,
        credential_name,
    };
    Ok(rows.into_iter().map(asker).collect())
}

/// The stored requests of several approvals.
pub async fn requests(
    executor: impl Executor,
    workspace: WorkspaceId,
    txns: &[TxnId],
) -> Result<Vec<(TxnId, Sealed)>, StoreError> {
    if txns.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql("SELECT txn_id, sealed_request FROM approval_bodies WHERE workspace_id = $1")
        .bind(workspace)
        .and_in(engine, "txn_id", txns.iter().copied());
    executor.all(query).await
}
