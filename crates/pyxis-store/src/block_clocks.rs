//! Block clocks: the heights at which the registry of proofs changes
//! (`docs/reference/behavior/verification.md#heights`).
//!
//! A network whose answers must never change has a sealed height, the highest one with an answer. Later changes happen
//! above it. The registry belongs to the installation, not to a workspace.
//!
//! Pyxis counts the blocks of a network without nodes. Nodes that are added later take over at a block with a higher
//! number than any that Pyxis counted. So all changes stay in the order of their heights.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::NetworkName;

use crate::db::{Rows, row, sql, stored_enum};
use crate::{Executor, StoreError, Tx, db};

stored_enum! {
    /// Source of a network's block numbers. The two kinds of heights are not comparable.
    pub ClockKind {
        /// Pyxis itself.
        Local = "local",
        /// The nodes of the network.
        Rpc = "rpc",
    }
}

row! {
    /// Block clock of a network.
    pub ClockRow: "block_clocks", clock_columns {
        network: NetworkName,
        /// Time of block 0, for local clocks.
        genesis_at: UnixMillis,
        /// Milliseconds between blocks, for local clocks.
        block_ms: i64,
        /// Highest block for which an answer was given.
        sealed_height: i64,
        /// Source of block numbers. `None` until the first start that records it.
        kind: Option<ClockKind>,
        /// Last block that Pyxis counted before nodes took over.
        local_until: Option<i64>,
        /// First block of the nodes that took over. Everything later happens in it or after it.
        rpc_from: Option<i64>,
    }
}

/// Creates clocks for networks that have none.
pub async fn ensure(executor: impl Executor, clocks: &[ClockRow]) -> Result<(), StoreError> {
    let row = |clock: &ClockRow| {
        use db::Bind;
        vec![
            (&clock.network).bind(),
            clock.genesis_at.bind(),
            clock.block_ms.bind(),
            clock.sealed_height.bind(),
            clock.kind.bind(),
        ]
    };
    let rows: Rows = clocks.iter().map(row).collect();
    let text = "INSERT INTO block_clocks (network, genesis_at, block_ms, sealed_height, kind) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    executor.execute_each(text.into(), rows).await.map(|_| ())
}

/// Sets the kind of a clock. Returns true if the clock has that kind now. A clock that was already used keeps its kind;
/// it is used once an answer or a registry change refers to one of its blocks.
pub async fn set_kind(
    executor: impl Executor,
    network: &NetworkName,
    kind: ClockKind,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE block_clocks SET kind = $1 WHERE network = $2 AND (kind IS NULL OR kind = $1 \
         OR (sealed_height = 0 AND NOT EXISTS (SELECT 1 FROM proof_log WHERE network = $2)))");
    Ok(executor.execute(query.bind(kind).bind(network)).await? == 1)
}

/// Lets nodes count the blocks of a network from `rpc_from` on. Pyxis counted those up to `local_until`, a lower number.
/// The blocks before `rpc_from` are sealed, because a node that lags may be asked next. Returns true if Pyxis counted them
/// until now.
pub async fn hand_over(
    executor: impl Executor,
    network: &NetworkName,
    local_until: i64,
    rpc_from: i64,
) -> Result<bool, StoreError> {
    let query =
        sql("UPDATE block_clocks SET kind = $1, local_until = $2, rpc_from = $3, sealed_height = $4 \
         WHERE network = $5 AND kind = $6")
        .bind(ClockKind::Rpc)
        .bind(local_until)
        .bind(rpc_from)
        .bind(rpc_from.saturating_sub(1))
        .bind(network)
        .bind(ClockKind::Local);
    Ok(executor.execute(query).await? == 1)
}

/// All clocks, by network.
pub async fn list(executor: impl Executor) -> Result<Vec<ClockRow>, StoreError> {
    executor.all(sql(concat!("SELECT ", clock_columns!(), " FROM block_clocks ORDER BY network"))).await
}

/// All clocks, locked until the transaction ends. No one else changes the registry or seals a height meanwhile.
pub async fn lock(tx: &mut Tx) -> Result<Vec<ClockRow>, StoreError> {
    let query = sql(concat!("SELECT ", clock_columns!(), " FROM block_clocks ORDER BY network"));
    let query = if tx.is_sqlite() { query } else { query.append(" FOR UPDATE") };
    tx.all(query).await
}

/// Seals a height. Returns the sealed height, which may be higher, or `None` if the network has no clock.
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
