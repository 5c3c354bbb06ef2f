//! Leases for work that only one node at a time may do.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::NodeId;

use crate::db::sql;
use crate::{Executor, StoreError};

/// Acquires or renews a lease. Returns true if the node holds it until its end.
pub async fn acquire(
    executor: impl Executor,
    name: &str,
    node: NodeId,
    now: UnixMillis,
    until: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("INSERT INTO leases (name, holder, held_until_at) VALUES ($1, $2, $3) \
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at \
         WHERE leases.holder = excluded.holder OR leases.held_until_at <= $4");
    Ok(executor.execute(query.bind(name).bind(node).bind(until).bind(now)).await? == 1)
}

/// True if any node holds the lease.
pub async fn is_held(executor: impl Executor, name: &str, now: UnixMillis) -> Result<bool, StoreError> {
    let query = sql("SELECT held_until_at FROM leases WHERE name = $1 AND held_until_at > $2");
    Ok(executor.optional::<(UnixMillis,)>(query.bind(name).bind(now)).await?.is_some())
}

/// Releases a lease.
pub async fn release(executor: impl Executor, name: &str, node: NodeId) -> Result<(), StoreError> {
    executor.execute(sql("DELETE FROM leases WHERE name = $1 AND holder = $2").bind(name).bind(node)).await?;
    Ok(())
}
