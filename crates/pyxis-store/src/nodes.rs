//! Running nodes and their heartbeats.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::NodeId;

use crate::db::sql;
use crate::{Executor, StoreError};

/// Records that a node is alive.
pub async fn heartbeat(executor: impl Executor, node: NodeId, now: UnixMillis) -> Result<(), StoreError> {
    let query = sql("INSERT INTO nodes (node_id, started_at, seen_at) VALUES ($1, $2, $2) \
         ON CONFLICT (node_id) DO UPDATE SET seen_at = excluded.seen_at");
    executor.execute(query.bind(node).bind(now)).await?;
    Ok(())
}

/// Removes a node that has stopped.
pub async fn remove(executor: impl Executor, node: NodeId) -> Result<(), StoreError> {
    executor.execute(sql("DELETE FROM nodes WHERE node_id = $1").bind(node)).await?;
    Ok(())
}
