//! Reads the Stamps of an address even if some rows are damaged. An unreadable row must not hide the others.

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
    /// Readable Stamps.
    pub stamps: Vec<StampRow>,
    /// Error messages for the damaged ones.
    pub damaged: Vec<String>,
}

/// All Stamps of an address, including expired ones, by name.
pub async fn all_of(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: EvmAddress,
) -> Result<DecodedStamps, StoreError> {
    live_of(executor, workspace, address, UnixMillis(i64::MIN)).await
}

/// Stamps of an address that have not expired, by name. Some may not be valid yet.
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

/// Stamps of the given addresses, at most a few thousand, that have not expired, by address. Damaged ones are left out.
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
            .append(" ORDER BY address, provider");
    let rows = executor.all(query).await?;
    Ok(rows.into_iter().filter_map(|Attempt(row)| row.ok()).collect())
}

/// Removes the Stamp with this name without reading it. Its holder must be locked. Returns true if there was one.
///
/// The index entries of its nullifiers stay, and lead to nothing.
pub async fn discard(
    tx: &mut Tx,
    workspace: WorkspaceId,
    address: EvmAddress,
    provider: &StampName,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM stamps WHERE workspace_id = $1 AND address = $2 AND provider = $3");
    Ok(tx.execute(query.bind(workspace).bind(address).bind(provider)).await? == 1)
}

/// Removes the Stamp with this credential digest if it is damaged. Returns true if it was.
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
