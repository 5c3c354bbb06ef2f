//! Transitions from pending to approved, denied or expired. Each is one conditional UPDATE, so exactly one of several
//! concurrent callers succeeds.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, TxnId, UserId, WorkspaceId};

use crate::db::sql;
use crate::{Executor, StoreError, Tx};

/// Approves. Returns true if this call did it.
pub async fn approve(
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
    user: UserId,
    email: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE approvals SET state = 'approved', forward_state = 'ready', decided_at = $1, \
         decided_by = $2, decided_by_email = $3, decided_digest = digest \
         WHERE workspace_id = $4 AND txn_id = $5 AND state = 'pending' AND expires_at > $1");
    let query = query.bind(now).bind(user).bind(email).bind(workspace).bind(txn);
    Ok(tx.execute(query).await? == 1)
}

/// Denies. Returns true if this call did it.
pub async fn deny(
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
    user: UserId,
    email: &str,
    reason: Option<&str>,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE approvals SET state = 'denied', decided_at = $1, decided_by = $2, \
         decided_by_email = $3, deny_reason = $4 \
         WHERE workspace_id = $5 AND txn_id = $6 AND state = 'pending' AND expires_at > $1");
    let query = query.bind(now).bind(user).bind(email).bind(reason).bind(workspace).bind(txn);
    Ok(tx.execute(query).await? == 1)
}

/// Expires a request that its agent withdrew. Returns true if this call did it.
pub async fn withdraw(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    txn: TxnId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE approvals SET state = 'expired', decided_at = $1, withdrawn = $2 \
         WHERE workspace_id = $3 AND agent_id = $4 AND txn_id = $5 AND state = 'pending' AND expires_at > $1");
    let query = query.bind(now).bind(true).bind(workspace).bind(agent).bind(txn);
    Ok(executor.execute(query).await? == 1)
}

/// Expires a request whose window has ended. Returns true if this call did it.
pub async fn expire(
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE approvals SET state = 'expired', decided_at = $1 \
         WHERE workspace_id = $2 AND txn_id = $3 AND state = 'pending' AND expires_at <= $1");
    Ok(tx.execute(query.bind(now).bind(workspace).bind(txn)).await? == 1)
}

/// Pending approvals of all workspaces whose window has ended, oldest end first.
pub async fn due(
    executor: impl Executor,
    now: UnixMillis,
    limit: u32,
) -> Result<Vec<(WorkspaceId, TxnId)>, StoreError> {
    let query =
        sql("SELECT workspace_id, txn_id FROM approvals WHERE state = 'pending' AND expires_at <= $1 \
         ORDER BY expires_at");
    executor.all(query.bind(now).limit(limit)).await
}

/// Earliest end of a window over all workspaces.
pub async fn next_expiry(executor: impl Executor) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(expires_at) FROM approvals WHERE state = 'pending'");
    Ok(executor.optional(query).await?.and_then(|(at,)| at))
}
