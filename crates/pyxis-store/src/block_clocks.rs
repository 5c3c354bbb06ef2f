//! Block clocks: the heights at which the registry of proofs changes (decisions, Registry).
//!
//! A network whose answers must stand for ever has a sealed height: an answer was given for it, so what
//! changes afterwards happens above it. The registry belongs to the installation, not to a workspace.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::NetworkName;

use crate::db::{Rows, row, sql};
use crate::{Executor, StoreError, Tx, db};

row! {
    /// The clock of a network.
    pub ClockRow: "block_clocks", clock_columns {
        /// The network.
        network: NetworkName,
        /// When block 0 was, where blocks are counted here.
        genesis_at: UnixMillis,
        /// Milliseconds from block to block, where they are counted here.
        block_ms: i64,
        /// The highest block for which an answer was given.
        sealed_height: i64,
    }
}

/// Starts the clocks of networks that have none.
pub async fn ensure(executor: impl Executor, clocks: &[ClockRow]) -> Result<(), StoreError> {
    let row = |clock: &ClockRow| {
        use db::Bind;
        vec![
            (&clock.network).bind(),
            clock.genesis_at.bind(),
            clock.block_ms.bind(),
            clock.sealed_height.bind(),
        ]
    };
    let rows: Rows = clocks.iter().map(row).collect();
    let text = "INSERT INTO block_clocks (network, genesis_at, block_ms, sealed_height) VALUES ($1, $2, $3, $4) \
         ON CONFLICT DO NOTHING";
    executor.execute_each(text.into(), rows).await.map(|_| ())
}

/// Every clock, by network.
pub async fn list(executor: impl Executor) -> Result<Vec<ClockRow>, StoreError> {
    executor.all(sql(concat!("SELECT ", clock_columns!(), " FROM block_clocks ORDER BY network"))).await
}

/// Every clock, held until the transaction ends: nobody else changes the registry or seals a height in
/// between.
pub async fn lock(tx: &mut Tx) -> Result<Vec<ClockRow>, StoreError> {
    let query = sql(concat!("SELECT ", clock_columns!(), " FROM block_clocks ORDER BY network"));
    let query = if tx.is_sqlite() { query } else { query.then(" FOR UPDATE") };
    tx.all(query).await
}

/// Seals a height; the sealed height now, which may be higher. `None`: the network has no clock.
pub async fn seal(
    executor: impl Executor,
    network: &NetworkName,
    height: i64,
) -> Result<Option<i64>, StoreError> {
    let query = sql("UPDATE block_clocks SET sealed_height = \
         CASE WHEN sealed_height < $1 THEN $1 ELSE sealed_height END WHERE network = $2 RETURNING sealed_height");
    let rows = executor.returning::<(i64,)>(query.bind(height).bind(network)).await?;
    Ok(rows.into_iter().next().map(|(sealed,)| sealed))
}
