//! Addresses that have, or once had, a Stamp. Anyone who changes an address's Stamps or scores locks its row.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};

use crate::db::sql;
use crate::{Executor, StoreError, Tx};

/// Adds the address unless it exists, and locks it. To lock several, use address order.
pub async fn ensure(
    tx: &mut Tx,
    workspace: WorkspaceId,
    address: EvmAddress,
    now: UnixMillis,
) -> Result<(), StoreError> {
    // While this waits for the lock, the address may be erased.
    for _ in 0..8 {
        let query = sql("INSERT INTO holders (workspace_id, address, since_at) VALUES ($1, $2, $3) \
             ON CONFLICT DO NOTHING");
        let is_new = tx.execute(query.bind(workspace).bind(address).bind(now)).await? == 1;
        if is_new || lock(tx, workspace, address).await? {
            return Ok(());
        }
    }
    Err(StoreError::Aborted)
}

/// Locks the address until the transaction ends. Returns true if it ever had a Stamp.
pub async fn lock(tx: &mut Tx, workspace: WorkspaceId, address: EvmAddress) -> Result<bool, StoreError> {
    let find = sql("SELECT since_at FROM holders WHERE workspace_id = $1 AND address = $2");
    let query = find.bind(workspace).bind(address);
    let query = if tx.is_sqlite() { query } else { query.append(" FOR UPDATE") };
    Ok(tx.optional::<(UnixMillis,)>(query).await?.is_some())
}

/// Those of the given addresses that ever had a Stamp, locked until the transaction ends. At most a few thousand at
/// once.
pub async fn lock_known(
    tx: &mut Tx,
    workspace: WorkspaceId,
    addresses: &[EvmAddress],
) -> Result<Vec<EvmAddress>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let engine = tx.engine();
    let query = sql("SELECT address FROM holders WHERE workspace_id = $1");
    // In address order, the order in which everyone locks them.
    let query = query.bind(workspace).and_in(engine, "address", addresses).append(" ORDER BY address");
    let query = if tx.is_sqlite() { query } else { query.append(" FOR UPDATE") };
    let found = tx.all(query).await?;
    Ok(found.into_iter().map(|(address,)| address).collect())
}

/// True if an address ever had a Stamp.
pub async fn is_known(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: EvmAddress,
) -> Result<bool, StoreError> {
    let query = sql("SELECT since_at FROM holders WHERE workspace_id = $1 AND address = $2");
    let query = query.bind(workspace).bind(address).relaxed();
    Ok(executor.optional::<(UnixMillis,)>(query).await?.is_some())
}

/// Those of the given addresses that ever had a Stamp. At most a few thousand at once.
pub async fn filter_known(
    executor: impl Executor,
    workspace: WorkspaceId,
    addresses: &[EvmAddress],
) -> Result<Vec<EvmAddress>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql("SELECT address FROM holders WHERE workspace_id = $1");
    let found = executor.all(query.bind(workspace).and_in(engine, "address", addresses)).await?;
    Ok(found.into_iter().map(|(address,)| address).collect())
}

/// Those of the given addresses that had a Stamp by a moment, if only once. At most a few thousand at once.
pub async fn known_by(
    executor: impl Executor,
    workspace: WorkspaceId,
    addresses: &[EvmAddress],
    moment: UnixMillis,
) -> Result<Vec<EvmAddress>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql("SELECT address FROM holders WHERE workspace_id = $1 AND since_at <= $2");
    let query = query.bind(workspace).bind(moment).and_in(engine, "address", addresses);
    let found = executor.all(query).await?;
    Ok(found.into_iter().map(|(address,)| address).collect())
}

/// Addresses that ever had a Stamp and have no score in a scorer, in order, after a given one.
pub async fn without_score(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    after: Option<EvmAddress>,
    limit: u32,
) -> Result<Vec<EvmAddress>, StoreError> {
    let query = sql("SELECT address FROM holders WHERE workspace_id = $1 AND NOT EXISTS \
         (SELECT 1 FROM scores WHERE scores.scorer_id = $2 AND scores.address = holders.address)")
    .bind(workspace)
    .bind(scorer)
    .push_if(" AND address > ?", after)
    .append(" ORDER BY address")
    .limit(limit);
    let found = executor.all(query).await?;
    Ok(found.into_iter().map(|(address,)| address).collect())
}

/// Number of the addresses that ever had a Stamp and have no score in a scorer. Looks at every address.
pub async fn count_without_score(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
) -> Result<i64, StoreError> {
    let query = sql("SELECT count(*) FROM holders WHERE workspace_id = $1 AND NOT EXISTS \
         (SELECT 1 FROM scores WHERE scores.scorer_id = $2 AND scores.address = holders.address)");
    Ok(executor.optional(query.bind(workspace).bind(scorer)).await?.map_or(0, |(count,)| count))
}

/// The lowest addresses that ever had a Stamp. Addresses are hashes, so these are a fair sample.
pub async fn sample(
    executor: impl Executor,
    workspace: WorkspaceId,
    limit: u32,
) -> Result<Vec<EvmAddress>, StoreError> {
    let query = sql("SELECT address FROM holders WHERE workspace_id = $1 ORDER BY address");
    let found = executor.all(query.bind(workspace).limit(limit)).await?;
    Ok(found.into_iter().map(|(address,)| address).collect())
}
