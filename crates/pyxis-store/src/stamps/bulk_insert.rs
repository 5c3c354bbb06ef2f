//! Bulk insert of Stamps for new addresses, as imports need it.

use std::collections::{BTreeSet, HashSet};

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use super::{NewStamp, Packed};
use crate::db::{Bind, Value, sql};
use crate::{Engine, Executor, StoreError, Tx};

/// Stamps of addresses that are not known yet, prepared for storage before the transaction begins, because everyone
/// else waits during the transaction.
pub struct BulkInsert {
    holders: Vec<(EvmAddress, Vec<Value>)>,
    stamps: Vec<PreparedRows>,
}

/// A prepared Stamp without its number.
struct PreparedRows {
    address: EvmAddress,
    columns: Vec<Value>,
    packed: Packed,
}

impl BulkInsert {
    /// Prepares Stamps. Each address and name, and each digest, must occur only once. None of the addresses may be
    /// known at insertion, which [`Self::leave_out`] ensures; digests are not checked otherwise.
    pub fn prepare(workspace: WorkspaceId, new: Vec<NewStamp>, now: UnixMillis) -> Self {
        // In address order, the order in which everyone locks them.
        let addresses: BTreeSet<EvmAddress> = new.iter().map(|stamp| stamp.address).collect();
        let holder = |address: EvmAddress| (address, vec![workspace.bind(), address.bind(), now.bind()]);
        Self {
            holders: addresses.into_iter().map(holder).collect(),
            stamps: new.into_iter().map(|stamp| PreparedRows::prepare(workspace, stamp)).collect(),
        }
    }

    /// Leaves out the Stamps of known addresses.
    pub fn leave_out(&mut self, addresses: &HashSet<EvmAddress>) {
        self.holders.retain(|(address, _)| !addresses.contains(address));
        self.stamps.retain(|stamp| !addresses.contains(&stamp.address));
    }
}

impl PreparedRows {
    fn prepare(workspace: WorkspaceId, stamp: NewStamp) -> Self {
        Self {
            address: stamp.address,
            packed: Packed::pack(&stamp.credential),
            columns: vec![
                workspace.bind(),
                stamp.address.bind(),
                stamp.provider.bind(),
                stamp.issuer.bind(),
                stamp.issued_at.bind(),
                stamp.expires_at.bind(),
                stamp.digest.bind(),
                stamp.nullifiers.bind(),
                stamp.received_at.bind(),
            ],
        }
    }
}

/// Stores the Stamps and their addresses, with a few statements for all of them. Does not index their nullifiers.
pub async fn insert_many(tx: &mut Tx, many: BulkInsert) -> Result<(), StoreError> {
    let addresses = many.holders.len() as u64;
    let added = tx
        .execute_each(
            "INSERT INTO holders (workspace_id, address, since_at) VALUES ($1, $2, $3)".into(),
            many.holders.into_iter().map(|(_, row)| row).collect(),
        )
        .await?;
    debug_assert_eq!(added, addresses, "a holder was known");
    let numbers = numbers(tx, many.stamps.len()).await?;
    let (mut stamps, mut credentials) = (Vec::new(), Vec::new());
    for (id, PreparedRows { mut columns, packed, .. }) in numbers.into_iter().zip(many.stamps) {
        columns.push(id.bind());
        stamps.push(columns);
        credentials.push(vec![id.bind(), packed.bind()]);
    }
    tx.execute_each(
        "INSERT INTO stamps (workspace_id, address, provider, issuer, issued_at, expires_at, digest, \
         nullifiers, received_at, id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
            .into(),
        stamps,
    )
    .await?;
    tx.execute_each(
        "INSERT INTO stamp_credentials (stamp_id, credential, packed) VALUES ($1, '', $2)".into(),
        credentials,
    )
    .await?;
    Ok(())
}

/// Numbers for new Stamps, as the engine would assign them.
async fn numbers(tx: &mut Tx, count: usize) -> Result<Vec<i64>, StoreError> {
    let count = i64::try_from(count).map_err(StoreError::unavailable)?;
    if tx.engine() == Engine::Postgres {
        let next = sql("SELECT nextval(pg_get_serial_sequence('stamps', 'id')) FROM generate_series(1, $1)");
        let numbers: Vec<(i64,)> = tx.all(next.bind(count)).await?;
        return Ok(numbers.into_iter().map(|(number,)| number).collect());
    }
    // No one else writes meanwhile, and a row with an explicit id counts toward the sequence.
    let last: Option<(i64,)> =
        tx.optional(sql("SELECT seq FROM sqlite_sequence WHERE name = 'stamps'")).await?;
    let last = last.map_or(0, |(last,)| last);
    Ok((last + 1..=last + count).collect())
}
