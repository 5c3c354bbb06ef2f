//! The Stamps of an address, whatever became of some of their rows: one that cannot be read must not take
//! the others with it.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::StampName;

use super::{StampRow, of_digest, stamp_columns};
use crate::db::{Attempt, sql};
use crate::{Executor, StoreError, Tx};

/// Stamps of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecodedStamps {
    /// Those that can be read.
    pub stamps: Vec<StampRow>,
    /// What is wrong with each of the others, for people.
    pub damaged: Vec<String>,
}

/// Every Stamp of an address, expired ones too, by name.
pub async fn all_of(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: EvmAddress,
) -> Result<DecodedStamps, StoreError> {
    live_of(executor, workspace, address, UnixMillis(i64::MIN)).await
}

/// The Stamps of an address that have not expired, by name. Some may only become valid later.
pub async fn live_of(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: EvmAddress,
    now: UnixMillis,
) -> Result<DecodedStamps, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        stamp_columns!(),
        " FROM stamps WHERE workspace_id = $1 AND address = $2 AND expires_at > $3 ORDER BY provider"
    ));
    let mut readable = DecodedStamps::default();
    for Attempt(row) in executor.all(query.bind(workspace).bind(address).bind(now)).await? {
        match row {
            Ok(stamp) => readable.stamps.push(stamp),
            Err(error) => readable.damaged.push(error.to_string()),
        }
    }
    Ok(readable)
}

/// The Stamps of some addresses that have not expired, by address: at most a few thousand addresses. Those
/// that cannot be read are left out.
pub async fn live_of_many(
    executor: impl Executor,
    workspace: WorkspaceId,
    addresses: &[EvmAddress],
    now: UnixMillis,
) -> Result<Vec<StampRow>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query =
        sql(concat!("SELECT ", stamp_columns!(), " FROM stamps WHERE workspace_id = $1 AND expires_at > $2"))
            .bind(workspace)
            .bind(now)
            .and_in(engine, "address", addresses)
            .then(" ORDER BY address, provider");
    let rows = executor.all(query).await?;
    Ok(rows.into_iter().filter_map(|Attempt(row)| row.ok()).collect())
}

/// Removes the Stamp of a name without reading it; whether there was one. Its holder must be locked.
///
/// The numbers of its nullifiers stay, and lead to nothing.
pub async fn discard(
    tx: &mut Tx,
    workspace: WorkspaceId,
    address: EvmAddress,
    provider: &StampName,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM stamps WHERE workspace_id = $1 AND address = $2 AND provider = $3");
    Ok(tx.execute(query.bind(workspace).bind(address).bind(provider)).await? == 1)
}

/// Removes the Stamp of a credential if it cannot be read; whether it was so.
pub async fn discard_damaged(
    tx: &mut Tx,
    workspace: WorkspaceId,
    digest: &SigningDigest,
) -> Result<bool, StoreError> {
    let find = sql(concat!("SELECT ", stamp_columns!(), " FROM stamps"));
    let engine = tx.engine();
    let found: Option<Attempt<StampRow>> = tx.optional(of_digest(engine, find, workspace, digest)).await?;
    if found.is_none_or(|Attempt(row)| row.is_ok()) {
        return Ok(false);
    }
    let query = sql("DELETE FROM stamps");
    Ok(tx.execute(of_digest(engine, query, workspace, digest)).await? > 0)
}
