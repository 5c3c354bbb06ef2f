//! Running nodes and their heartbeats.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::NodeId;

use crate::db::{row, sql};
use crate::migrate::{THIS, compatibility};
use crate::{Executor, RELEASE, Store, StoreError, Tx};

/// Time without a heartbeat after which a node counts as dead.
pub const DEAD_AFTER: Duration = Duration::from_secs(20);

row! {
    /// Registered node.
    pub NodeRow: "nodes", columns {
        node_id: NodeId,
        started_at: UnixMillis,
        seen_at: UnixMillis,
        /// `None` before release 0.1.0.
        release: Option<String>,
        /// The newest migration that it knows.
        level: Option<i64>,
    }
}

/// Records that a node of this program is alive. If a newer release has changed the database so that this program may
/// no longer use it, the store refuses everything from then on.
pub async fn heartbeat(store: &Store, node: NodeId, now: UnixMillis) -> Result<(), StoreError> {
    heartbeat_of(store, node, now, THIS.level()).await
}

/// The same for a program of another level.
pub(crate) async fn heartbeat_of(
    store: &Store,
    node: NodeId,
    now: UnixMillis,
    level: i64,
) -> Result<(), StoreError> {
    // One statement: a migration that this program cannot bear either sees this node, or is seen.
    let query = sql("INSERT INTO nodes (node_id, started_at, seen_at, release, level) \
         SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS BIGINT) \
         WHERE NOT EXISTS (SELECT 1 FROM schema_migrations WHERE readable_from > $4) \
         ON CONFLICT (node_id) DO UPDATE SET seen_at = excluded.seen_at");
    if store.execute(query.bind(node).bind(now).bind(RELEASE).bind(level)).await? > 0 {
        return Ok(());
    }
    let query = sql("SELECT version, coalesce(release, 'of a newer release') FROM schema_migrations \
         WHERE readable_from > $1 ORDER BY version DESC LIMIT 1");
    let by: Option<(i64, String)> = store.optional(query.bind(level)).await?;
    store.set_outdated();
    let (version, release) = by.unwrap_or((level, RELEASE.to_owned()));
    Err(StoreError::Schema(compatibility::refusal(version, &release)))
}

/// Every registered node, oldest first. Nodes that died may still be listed.
pub async fn list(executor: impl Executor) -> Result<Vec<NodeRow>, StoreError> {
    let query = concat!("SELECT ", columns!(), " FROM nodes ORDER BY started_at, node_id");
    executor.all(sql(query)).await
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

/// Nodes whose last heartbeat is before `dead_before`, with what [`note_settled`] or [`advance_dead`] last recorded;
/// `None` means every node except this one.
pub async fn list_dead(
    executor: impl Executor,
    this_node: NodeId,
    dead_before: Option<UnixMillis>,
) -> Result<Vec<(NodeId, Option<i64>)>, StoreError> {
    let query = sql("SELECT node_id, settled_seq FROM nodes WHERE node_id <> $1 AND seen_at < $2");
    executor.all(query.bind(this_node).bind(dead_before.unwrap_or(UnixMillis(i64::MAX)))).await
}

/// Records that a dead node is settled up to `through`, if it was up to `after` and is still dead. False if another node
/// settles it, or it is not dead after all.
pub async fn advance_dead(
    tx: &mut Tx,
    node: NodeId,
    dead_before: Option<UnixMillis>,
    (after, through): (i64, i64),
) -> Result<bool, StoreError> {
    let query =
        sql("UPDATE nodes SET settled_seq = $1 WHERE node_id = $2 AND seen_at < $3 AND settled_seq = $4");
    let query = query.bind(through).bind(node).bind(dead_before.unwrap_or(UnixMillis(i64::MAX))).bind(after);
    Ok(tx.execute(query).await? > 0)
}

/// Removes a dead node that has been settled.
pub async fn remove_dead(
    executor: impl Executor,
    node: NodeId,
    dead_before: Option<UnixMillis>,
) -> Result<(), StoreError> {
    let query = sql("DELETE FROM nodes WHERE node_id = $1 AND seen_at < $2");
    executor.execute(query.bind(node).bind(dead_before.unwrap_or(UnixMillis(i64::MAX)))).await?;
    Ok(())
}

/// Removes a node that has stopped.
pub async fn remove(executor: impl Executor, node: NodeId) -> Result<(), StoreError> {
    executor.execute(sql("DELETE FROM nodes WHERE node_id = $1").bind(node)).await?;
    Ok(())
}
