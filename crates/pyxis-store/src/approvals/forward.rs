//! Forwarding of an approved request, at most once: ready, claimed by a node, sending, done.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{NodeId, TxnId, WorkspaceId};
use pyxis_core::policy::Method;

use crate::cipher::Sealed;
use crate::db::sql;
use crate::{Executor, StoreError, Tx};

/// Result of forwarding.
#[derive(Clone, Debug)]
pub struct Finish {
    /// HTTP status of the upstream response.
    pub status: Option<i64>,
    /// Error code of a failure.
    pub error: Option<String>,
    /// The response, sealed for [`super::response_aad`].
    pub response: Option<Sealed>,
    /// Current time.
    pub now: UnixMillis,
}

/// Claims an approved request for a node. Returns true if the node holds the claim until `until`.
pub async fn claim(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
    node: NodeId,
    now: UnixMillis,
    until: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql(
        "UPDATE approvals SET claimed_by = $1, claimed_until = $2 WHERE workspace_id = $3 AND txn_id = $4 \
         AND state = 'approved' AND forward_state = 'ready' AND (claimed_by IS NULL OR claimed_until <= $5)",
    );
    let query = query.bind(node).bind(until).bind(workspace).bind(txn).bind(now);
    Ok(executor.execute(query).await? == 1)
}

/// Requests of all workspaces that can be claimed, oldest decision first. A WebSocket waits for its agent, and is listed
/// once it was decided at `unused_since` or before.
pub async fn list_approved(
    executor: impl Executor,
    now: UnixMillis,
    unused_since: UnixMillis,
    limit: u32,
) -> Result<Vec<(WorkspaceId, TxnId)>, StoreError> {
    let query = sql(
        "SELECT workspace_id, txn_id FROM approvals WHERE forward_state = 'ready' AND state = 'approved' \
         AND (claimed_by IS NULL OR claimed_until <= $1) AND (method <> $2 OR decided_at <= $3) \
         ORDER BY decided_at",
    );
    let query = query.bind(now).bind(Method::WebSocket.as_str()).bind(unused_since);
    executor.all(query.limit(limit)).await
}

/// Records that the request with this digest may be sent from now on. Returns true if the node still held the claim.
pub async fn begin_attempt(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
    node: NodeId,
    digest: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE approvals SET forward_state = 'sending', attempt_at = $1, sent_digest = $2 \
         WHERE workspace_id = $3 AND txn_id = $4 AND forward_state = 'ready' AND claimed_by = $5");
    Ok(executor.execute(query.bind(now).bind(digest).bind(workspace).bind(txn).bind(node)).await? == 1)
}

/// Stores the result. Returns true if the node held the request.
pub async fn finish(
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
    node: NodeId,
    finish: &Finish,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE approvals SET forward_state = 'done', finished_at = $1, upstream_status = $2, error = $3 \
         WHERE workspace_id = $4 AND txn_id = $5 AND forward_state IN ('ready', 'sending') AND claimed_by = $6")
    .bind(finish.now)
    .bind(finish.status)
    .bind(&finish.error)
    .bind(workspace)
    .bind(txn)
    .bind(node);
    if tx.execute(query).await? == 0 {
        return Ok(false);
    }
    if let Some(response) = &finish.response {
        let bytes = i64::try_from(response.len()).unwrap_or(i64::MAX);
        let store = sql("UPDATE approval_bodies SET sealed_response = $1, bytes = bytes + $2 \
             WHERE workspace_id = $3 AND txn_id = $4");
        tx.execute(store.bind(response).bind(bytes).bind(workspace).bind(txn)).await?;
    }
    Ok(true)
}

/// Requests of all workspaces that a node has started to send and not finished.
pub async fn list_sending(
    executor: impl Executor,
    node: NodeId,
) -> Result<Vec<(WorkspaceId, TxnId)>, StoreError> {
    let query =
        sql("SELECT workspace_id, txn_id FROM approvals WHERE forward_state = 'sending' AND claimed_by = $1");
    executor.all(query.bind(node)).await
}

/// Ends an unfinished request with the error `outcome_unknown`. Returns false if it had already ended.
pub async fn mark_outcome_unknown(
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
    node: NodeId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query =
        sql("UPDATE approvals SET forward_state = 'done', finished_at = $1, error = 'outcome_unknown' \
         WHERE workspace_id = $2 AND txn_id = $3 AND forward_state = 'sending' AND claimed_by = $4");
    Ok(tx.execute(query.bind(now).bind(workspace).bind(txn).bind(node)).await? == 1)
}

/// Takes over from dead nodes, in all workspaces. Requests that they were sending end with the error `outcome_unknown`
/// and are returned. Requests that they had only claimed become free again. A node is dead if its last heartbeat is
/// before `dead_before`; `None` means every node except this one.
pub async fn abandon_dead_nodes(
    tx: &mut Tx,
    this_node: NodeId,
    dead_before: Option<UnixMillis>,
    now: UnixMillis,
) -> Result<Vec<(WorkspaceId, TxnId)>, StoreError> {
    let dead_before = dead_before.unwrap_or(UnixMillis(i64::MAX));
    let release = sql("UPDATE approvals SET claimed_by = NULL, claimed_until = NULL \
         WHERE forward_state = 'ready' AND claimed_by <> $1 AND NOT EXISTS \
         (SELECT 1 FROM nodes WHERE nodes.node_id = approvals.claimed_by AND nodes.seen_at >= $2)");
    tx.execute(release.bind(this_node).bind(dead_before)).await?;
    let unknown =
        sql("UPDATE approvals SET forward_state = 'done', finished_at = $1, error = 'outcome_unknown' \
         WHERE forward_state = 'sending' AND claimed_by <> $2 AND NOT EXISTS \
         (SELECT 1 FROM nodes WHERE nodes.node_id = approvals.claimed_by AND nodes.seen_at >= $3) \
         RETURNING workspace_id, txn_id");
    tx.returning(unknown.bind(now).bind(this_node).bind(dead_before)).await
}

/// Deletes requests and responses decided before a time, in all workspaces. Returns the number of approvals affected.
pub async fn purge_bodies(executor: impl Executor, decided_before: UnixMillis) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM approval_bodies WHERE EXISTS (SELECT 1 FROM approvals \
         WHERE approvals.txn_id = approval_bodies.txn_id AND approvals.state <> 'pending' \
         AND approvals.forward_state IN ('none', 'done') \
         AND coalesce(approvals.finished_at, approvals.decided_at) < $1)");
    executor.execute(query.bind(decided_before)).await
}
