//! Running nodes and their heartbeats.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::NodeId;

use crate::db::sql;
use crate::{Executor, StoreError, Tx};

/// Records that a node is alive.
pub async fn heartbeat(executor: impl Executor, node: NodeId, now: UnixMillis) -> Result<(), StoreError> {
    let query = sql("INSERT INTO nodes (node_id, started_at, seen_at) VALUES ($1, $2, $2) \
         ON CONFLICT (node_id) DO UPDATE SET seen_at = excluded.seen_at");
    executor.execute(query.bind(node).bind(now)).await?;
    Ok(())
}

/// Records that every request that the node sent has its outcome, as far as it was recorded up to `seq`.
pub async fn note_settled(executor: impl Executor, node: NodeId, seq: i64) -> Result<(), StoreError> {
    let query = sql("UPDATE nodes SET settled_seq = $1 WHERE node_id = $2");
    executor.execute(query.bind(seq).bind(node)).await?;
    Ok(())
}

/// Marks a node as dead, whose process is known to have ended. What it left is settled with that of all dead nodes.
pub async fn mark_dead(executor: impl Executor, node: NodeId) -> Result<(), StoreError> {
    executor.execute(sql("UPDATE nodes SET seen_at = 0 WHERE node_id = $1").bind(node)).await?;
    Ok(())
}

/// Nodes whose last heartbeat is before `dead_before`; `None` means every node except this one.
pub async fn list_dead(
    executor: impl Executor,
    this_node: NodeId,
    dead_before: Option<UnixMillis>,
) -> Result<Vec<NodeId>, StoreError> {
    let query = sql("SELECT node_id FROM nodes WHERE node_id <> $1 AND seen_at < $2");
    let found: Vec<(NodeId,)> =
        executor.all(query.bind(this_node).bind(dead_before.unwrap_or(UnixMillis(i64::MAX)))).await?;
    Ok(found.into_iter().map(|(node,)| node).collect())
}

/// Removes a dead node. Returns what [`note_settled`] last recorded; `None` if the node is not dead after all, another
/// node settled it, or nothing was recorded.
pub async fn take_dead(
    tx: &mut Tx,
    node: NodeId,
    dead_before: Option<UnixMillis>,
) -> Result<Option<i64>, StoreError> {
    let query = sql("DELETE FROM nodes WHERE node_id = $1 AND seen_at < $2 RETURNING settled_seq");
    let query = query.bind(node).bind(dead_before.unwrap_or(UnixMillis(i64::MAX)));
    let taken: Vec<(Option<i64>,)> = tx.returning(query).await?;
    Ok(taken.into_iter().next().and_then(|(seq,)| seq))
}

/// Removes a node that has stopped.
pub async fn remove(executor: impl Executor, node: NodeId) -> Result<(), StoreError> {
    executor.execute(sql("DELETE FROM nodes WHERE node_id = $1").bind(node)).await?;
    Ok(())
}
