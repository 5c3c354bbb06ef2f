//! Stamps that were issued by a rule of the workspace, and when each is checked again.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::StampName;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    pub IssuedStampRow: "issued_stamps", issued_stamp_columns {
        workspace_id: WorkspaceId,
        provider: StampName,
        address: EvmAddress,
        /// Signing digest of the newest credential.
        digest: SigningDigest,
        /// Items that the holder named, such as token ids: a JSON list.
        items: String,
        /// End of the credential.
        expires_at: UnixMillis,
        /// Time of the next check. A check moves it first, so that no other node makes the same one.
        check_at: UnixMillis,
    }
}

/// The Stamp that was issued to an address under a name.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    provider: &StampName,
    address: EvmAddress,
) -> Result<Option<IssuedStampRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        issued_stamp_columns!(),
        " FROM issued_stamps WHERE workspace_id = $1 AND provider = $2 AND address = $3"
    ));
    executor.optional(query.bind(workspace).bind(provider).bind(address)).await
}

/// Records an issued Stamp in the place of an earlier one.
pub async fn put(executor: impl Executor, new: &IssuedStampRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO issued_stamps \
         (workspace_id, provider, address, digest, items, expires_at, check_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (workspace_id, provider, address) DO UPDATE SET \
         digest = excluded.digest, items = excluded.items, expires_at = excluded.expires_at, \
         check_at = excluded.check_at")
    .bind(new.workspace_id)
    .bind(&new.provider)
    .bind(new.address)
    .bind(new.digest)
    .bind(&new.items)
    .bind(new.expires_at)
    .bind(new.check_at);
    executor.execute(query).await.map(drop)
}

/// Stamps whose check is due, the longest due first; those of one name, or all.
pub async fn due(
    executor: impl Executor,
    of: Option<(WorkspaceId, &StampName)>,
    now: UnixMillis,
    limit: u32,
) -> Result<Vec<IssuedStampRow>, StoreError> {
    let query = sql(concat!("SELECT ", issued_stamp_columns!(), " FROM issued_stamps WHERE check_at <= $1"));
    let (workspace, provider) = of.unzip();
    let query = query.bind(now).push_if(" AND workspace_id = ?", workspace);
    let query = query.push_if(" AND provider = ?", provider);
    executor.all(query.append(" ORDER BY check_at, workspace_id, provider, address").limit(limit)).await
}

/// Moves the next check of a Stamp, if it was neither checked nor issued again since it was read.
pub async fn move_check(
    executor: impl Executor,
    read: &IssuedStampRow,
    check_at: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE issued_stamps SET check_at = $1 WHERE workspace_id = $2 AND provider = $3 \
         AND address = $4 AND digest = $5 AND check_at = $6")
    .bind(check_at)
    .bind(read.workspace_id)
    .bind(&read.provider)
    .bind(read.address)
    .bind(read.digest)
    .bind(read.check_at);
    Ok(executor.execute(query).await? == 1)
}

/// Makes the checks of Stamps due; with addresses, only theirs. At most a few thousand addresses at once.
pub async fn make_due(
    executor: impl Executor,
    workspace: WorkspaceId,
    provider: &StampName,
    addresses: &[EvmAddress],
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let engine = executor.engine();
    let query = sql("UPDATE issued_stamps SET check_at = $1 \
         WHERE workspace_id = $2 AND provider = $3 AND check_at > $1")
    .bind(now)
    .bind(workspace)
    .bind(provider);
    executor.execute(query.and_in(engine, "address", addresses)).await
}

/// Forgets an issued Stamp, if it was not issued again since it was read.
pub async fn remove(executor: impl Executor, read: &IssuedStampRow) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM issued_stamps \
         WHERE workspace_id = $1 AND provider = $2 AND address = $3 AND digest = $4")
    .bind(read.workspace_id)
    .bind(&read.provider)
    .bind(read.address)
    .bind(read.digest);
    Ok(executor.execute(query).await? == 1)
}

/// Number of Stamps that were issued under a name and not withdrawn.
pub async fn count(
    executor: impl Executor,
    workspace: WorkspaceId,
    provider: &StampName,
) -> Result<i64, StoreError> {
    let query = sql("SELECT count(*) FROM issued_stamps WHERE workspace_id = $1 AND provider = $2");
    let found = executor.optional::<(i64,)>(query.bind(workspace).bind(provider)).await?;
    Ok(found.map_or(0, |(count,)| count))
}
