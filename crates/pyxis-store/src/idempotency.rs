//! Idempotency keys sent by agents.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, NodeId, TxnId, WorkspaceId};

use crate::cipher::Sealed;
use crate::db::{row, sql, stored_enum};
use crate::{Executor, Store, StoreError, Tx};

stored_enum! {
    /// State of a key's request.
    pub KeyState {
        /// A node is processing it.
        InProgress = "in_progress",
        /// It became an approval.
        Txn = "txn",
        /// The outcome is final. If none is stored, it is unknown.
        Done = "done",
    }
}

row! {
    /// A used idempotency key.
    pub IdempotencyRow: "idempotency", idempotency_columns {
        /// Agent that sent it.
        agent_id: AgentId,
        /// SHA-256 of the key, hex.
        key_hash: String,
        /// Workspace of the agent.
        workspace_id: WorkspaceId,
        /// Digest of the request. The same key with a different request is an error.
        fingerprint: String,
        /// State of the request.
        state: KeyState,
        /// Transaction id of the approval.
        txn_id: Option<TxnId>,
        sealed_outcome: Option<Sealed>,
        /// Node that processes the request.
        node_id: NodeId,
        /// Time of the first use.
        created_at: UnixMillis,
        /// Time until which the key is remembered.
        expires_at: UnixMillis,
    }
}

/// An idempotency key of a new request.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Agent that sent it.
    pub agent_id: AgentId,
    /// SHA-256 of the key, hex.
    pub key_hash: String,
    /// Workspace of the agent.
    pub workspace_id: WorkspaceId,
    /// Digest of the request.
    pub fingerprint: String,
    /// Node that processes the request.
    pub node_id: NodeId,
    /// Current time.
    pub created_at: UnixMillis,
    /// Time until which the key is remembered.
    pub expires_at: UnixMillis,
}

/// Result of claiming a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The key was free. It is now in progress on this node.
    New,
    /// The key was used before.
    Existing(Box<IdempotencyRow>),
}

/// Claims a key. Only one of several callers gets [`Claim::New`]. An expired use is replaced.
pub async fn claim(store: &Store, new: &NewKey) -> Result<Claim, StoreError> {
    loop {
        let insert = sql("INSERT INTO idempotency (agent_id, key_hash, workspace_id, fingerprint, state, node_id, \
             created_at, expires_at) VALUES ($1, $2, $3, $4, 'in_progress', $5, $6, $7) \
             ON CONFLICT (agent_id, key_hash) DO UPDATE SET workspace_id = excluded.workspace_id, \
             fingerprint = excluded.fingerprint, state = excluded.state, txn_id = NULL, sealed_outcome = NULL, bytes = 0, \
             node_id = excluded.node_id, created_at = excluded.created_at, expires_at = excluded.expires_at \
             WHERE idempotency.expires_at <= $6")
        .bind(new.agent_id)
        .bind(&new.key_hash)
        .bind(new.workspace_id)
        .bind(&new.fingerprint)
        .bind(new.node_id)
        .bind(new.created_at)
        .bind(new.expires_at);
        if store.execute(insert).await? == 1 {
            return Ok(Claim::New);
        }
        // If the row is gone by now, the key was released: try again.
        if let Some(row) = find(store, new.workspace_id, new.agent_id, &new.key_hash).await? {
            return Ok(Claim::Existing(Box::new(row)));
        }
    }
}

/// The use of a key, if any.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    key_hash: &str,
) -> Result<Option<IdempotencyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        idempotency_columns!(),
        " FROM idempotency WHERE workspace_id = $1 AND agent_id = $2 AND key_hash = $3"
    ));
    executor.optional(query.bind(workspace).bind(agent).bind(key_hash)).await
}

/// Records that the request became an approval. Returns true if it was in progress.
pub async fn attach_txn(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    key_hash: &str,
    txn: TxnId,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE idempotency SET state = 'txn', txn_id = $1 \
         WHERE workspace_id = $2 AND agent_id = $3 AND key_hash = $4 AND state = 'in_progress'");
    Ok(executor.execute(query.bind(txn).bind(workspace).bind(agent).bind(key_hash)).await? == 1)
}

/// Links a key to an approval, whatever it was used for before.
pub async fn link_txn(executor: impl Executor, new: &NewKey, txn: TxnId) -> Result<(), StoreError> {
    let query = sql("INSERT INTO idempotency (agent_id, key_hash, workspace_id, fingerprint, state, txn_id, node_id, \
         created_at, expires_at) VALUES ($1, $2, $3, $4, 'txn', $5, $6, $7, $8) \
         ON CONFLICT (agent_id, key_hash) DO UPDATE SET workspace_id = excluded.workspace_id, \
         fingerprint = excluded.fingerprint, state = excluded.state, txn_id = excluded.txn_id, sealed_outcome = NULL, \
         bytes = 0, node_id = excluded.node_id, created_at = excluded.created_at, expires_at = excluded.expires_at")
    .bind(new.agent_id)
    .bind(&new.key_hash)
    .bind(new.workspace_id)
    .bind(&new.fingerprint)
    .bind(txn)
    .bind(new.node_id)
    .bind(new.created_at)
    .bind(new.expires_at);
    executor.execute(query).await?;
    Ok(())
}

/// Stores the outcome. Returns true if the request was in progress.
pub async fn complete(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    key_hash: &str,
    outcome: Sealed,
) -> Result<bool, StoreError> {
    let bytes = i64::try_from(outcome.len()).unwrap_or(i64::MAX);
    let query = sql("UPDATE idempotency SET state = 'done', sealed_outcome = $1, bytes = $2 \
         WHERE workspace_id = $3 AND agent_id = $4 AND key_hash = $5 AND state = 'in_progress'");
    let query = query.bind(outcome).bind(bytes).bind(workspace).bind(agent).bind(key_hash);
    Ok(executor.execute(query).await? == 1)
}

/// Frees a key whose request had no effect. Returns true if it was in progress.
pub async fn release(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    key_hash: &str,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM idempotency WHERE workspace_id = $1 AND agent_id = $2 AND key_hash = $3 \
         AND state = 'in_progress'");
    Ok(executor.execute(query.bind(workspace).bind(agent).bind(key_hash)).await? == 1)
}

/// Records that the request was sent but its outcome is lost. Returns true if it was in progress.
pub async fn mark_outcome_unknown(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    key_hash: &str,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE idempotency SET state = 'done' \
         WHERE workspace_id = $1 AND agent_id = $2 AND key_hash = $3 AND state = 'in_progress'");
    Ok(executor.execute(query.bind(workspace).bind(agent).bind(key_hash)).await? == 1)
}

/// Marks unfinished requests of dead nodes as done with an unknown outcome. Returns their number. A node is dead if its
/// last heartbeat is before `dead_before`; `None` means every node except this one.
pub async fn abandon(
    tx: &mut Tx,
    this_node: NodeId,
    dead_before: Option<UnixMillis>,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE idempotency SET state = 'done' WHERE state = 'in_progress' AND node_id <> $1 \
         AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.node_id = idempotency.node_id AND nodes.seen_at >= $2)");
    tx.execute(query.bind(this_node).bind(dead_before.unwrap_or(UnixMillis(i64::MAX)))).await
}

/// Deletes expired keys. Returns their number.
pub async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM idempotency WHERE expires_at <= $1").bind(now)).await
}
