//! Outcomes of approvals that their agent has not received yet.
//!
//! An agent that speaks MCP may stop waiting before a person decides. When it sends the same request again, it
//! joins the pending approval, or receives the outcome that it missed, once.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TxnId, WorkspaceId};

use crate::db::sql;
use crate::{Executor, StoreError};

/// Notes that the outcome of `txn` is to be delivered to the request with this digest.
pub async fn insert(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
    dedupe: &str,
) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO undelivered_outcomes (txn_id, workspace_id, dedupe) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    );
    executor.execute(query.bind(txn).bind(workspace).bind(dedupe)).await?;
    Ok(())
}

/// The earliest request with this digest that was decided after `since` and whose outcome was not delivered. Pending
/// requests are found as duplicates instead.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    dedupe: &str,
    since: UnixMillis,
) -> Result<Option<TxnId>, StoreError> {
    let query = sql("SELECT a.txn_id FROM undelivered_outcomes u JOIN approvals a ON a.txn_id = u.txn_id \
         WHERE u.workspace_id = $1 AND u.dedupe = $2 AND a.state <> 'pending' \
         AND COALESCE(a.decided_at, a.expires_at) > $3 ORDER BY a.created_at, a.txn_id LIMIT 1");
    Ok(executor.optional(query.bind(workspace).bind(dedupe).bind(since)).await?.map(|(txn,)| txn))
}

/// Takes the outcome of `txn` for delivery. At most one of several callers gets true.
pub async fn claim(executor: impl Executor, workspace: WorkspaceId, txn: TxnId) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM undelivered_outcomes WHERE workspace_id = $1 AND txn_id = $2");
    Ok(executor.execute(query.bind(workspace).bind(txn)).await? > 0)
}

/// Forgets outcomes of requests that ended before `before`. Their responses are purged by then.
pub async fn purge(executor: impl Executor, before: UnixMillis) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM undelivered_outcomes WHERE txn_id IN (SELECT txn_id FROM approvals \
         WHERE state <> 'pending' AND COALESCE(decided_at, expires_at) <= $1)");
    executor.execute(query.bind(before)).await
}
