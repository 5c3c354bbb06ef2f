//! The addresses of allow lists.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::stamp::StampName;

use crate::db::{Bind, Rows, SqlQuery, row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// An address of an allow list.
    pub ListedAddressRow: "listed_addresses", listed_address_columns {
        address: EvmAddress,
        /// Time when it was added.
        listed_at: UnixMillis,
        /// Nullifiers of the account behind the address, as a JSON list; `None` for the address itself.
        nullifiers: Option<String>,
    }
}

/// Adds addresses to a list. One that is on it gets the nullifiers, if some are given and they differ. Returns how many
/// are new or changed.
pub async fn insert(
    tx: &mut Tx,
    workspace: WorkspaceId,
    list: &StampName,
    addresses: &[ListedAddressRow],
) -> Result<u64, StoreError> {
    let row = |row: &ListedAddressRow| {
        let ListedAddressRow { address, listed_at, nullifiers } = row;
        vec![workspace.bind(), list.bind(), address.bind(), listed_at.bind(), nullifiers.clone().bind()]
    };
    let rows: Rows = addresses.iter().map(row).collect();
    let text = "INSERT INTO listed_addresses (workspace_id, provider, address, listed_at, nullifiers) \
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace_id, provider, address) \
        DO UPDATE SET nullifiers = excluded.nullifiers WHERE excluded.nullifiers IS NOT NULL \
        AND listed_addresses.nullifiers IS DISTINCT FROM excluded.nullifiers";
    tx.execute_each(text.into(), rows).await
}

/// Removes addresses from a list. At most a few thousand at once. Returns how many were on it.
pub async fn remove(
    tx: &mut Tx,
    workspace: WorkspaceId,
    list: &StampName,
    addresses: &[EvmAddress],
) -> Result<u64, StoreError> {
    if addresses.is_empty() {
        return Ok(0);
    }
    let engine = tx.engine();
    let query = sql("DELETE FROM listed_addresses WHERE workspace_id = $1 AND provider = $2");
    tx.execute(query.bind(workspace).bind(list).and_in(engine, "address", addresses)).await
}

/// Removes every address of a list.
pub async fn clear(
    executor: impl Executor,
    workspace: WorkspaceId,
    list: &StampName,
) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM listed_addresses WHERE workspace_id = $1 AND provider = $2");
    executor.execute(query.bind(workspace).bind(list)).await
}

/// Number of addresses on a list.
pub async fn count(
    executor: impl Executor,
    workspace: WorkspaceId,
    list: &StampName,
) -> Result<i64, StoreError> {
    let query = sql("SELECT count(*) FROM listed_addresses WHERE workspace_id = $1 AND provider = $2");
    let found = executor.optional::<(i64,)>(query.bind(workspace).bind(list)).await?;
    Ok(found.map_or(0, |(count,)| count))
}

/// The addresses of a list behind `after`, in order.
pub async fn page(
    executor: impl Executor,
    workspace: WorkspaceId,
    list: &StampName,
    after: Option<EvmAddress>,
    limit: u32,
) -> Result<Vec<ListedAddressRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        listed_address_columns!(),
        " FROM listed_addresses WHERE workspace_id = $1 AND provider = $2"
    ));
    let query = query.bind(workspace).bind(list).push_if(" AND address > ?", after);
    executor.all(query.append(" ORDER BY address").limit(limit)).await
}

/// Those of the given addresses that are on a list. At most a few thousand at once.
pub async fn among(
    executor: impl Executor,
    workspace: WorkspaceId,
    list: &StampName,
    addresses: &[EvmAddress],
) -> Result<Vec<EvmAddress>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql("SELECT address FROM listed_addresses WHERE workspace_id = $1 AND provider = $2");
    let found = executor.all(query.bind(workspace).bind(list).and_in(engine, "address", addresses)).await?;
    Ok(found.into_iter().map(|(address,)| address).collect())
}

/// An address of a list.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    list: &StampName,
    address: EvmAddress,
) -> Result<Option<ListedAddressRow>, StoreError> {
    executor.optional(of_address(workspace, list, address)).await
}

/// An address of a list, which stays as it is until the transaction ends.
pub async fn lock_listed(
    tx: &mut Tx,
    workspace: WorkspaceId,
    list: &StampName,
    address: EvmAddress,
) -> Result<Option<ListedAddressRow>, StoreError> {
    let query = of_address(workspace, list, address);
    let query = if tx.is_sqlite() { query } else { query.append(" FOR SHARE") };
    tx.optional(query).await
}

fn of_address(workspace: WorkspaceId, list: &StampName, address: EvmAddress) -> SqlQuery {
    let query = sql(concat!(
        "SELECT ",
        listed_address_columns!(),
        " FROM listed_addresses WHERE workspace_id = $1 AND provider = $2 AND address = $3"
    ));
    query.bind(workspace).bind(list).bind(address)
}
