//! Stamps: verified credentials, one per address and name (`docs/reference/behavior/scoring.md#credentials`).

mod bulk_insert;
mod compression;
mod lossy_read;
pub(crate) mod nullifiers;
mod page;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::{Nullifier, StampName};

use crate::db::{SqlQuery, row, sql};
use crate::{Engine, Executor, StoreError, Tx};
use compression::Packed;

pub use bulk_insert::{BulkInsert, insert_many};
pub use lossy_read::{DecodedStamps, all_of, discard, discard_damaged, live_of, live_of_many};
pub(crate) use nullifiers::Listed;
pub use nullifiers::{NullifierHash, note_nullifiers, others_with_nullifiers};
pub use page::{Cursor, PageItem, exists_beyond, page};

row! {
    /// A Stamp without its credential.
    pub StampRow: "stamps", stamp_columns {
        /// Stamp number, higher than all earlier ones.
        id: i64,
        /// Address of the holder.
        address: EvmAddress,
        provider: StampName,
        /// DID of the issuer.
        issuer: String,
        /// Start of validity.
        issued_at: UnixMillis,
        /// End of validity.
        expires_at: UnixMillis,
        /// Digest that the issuer signed.
        digest: SigningDigest,
        /// Nullifiers, which other credentials of the same account share.
        nullifiers: Vec<Nullifier>,
        /// Time of receipt.
        received_at: UnixMillis,
    }
}

use stamp_columns;

impl From<StampRow> for pyxis_core::score::Stamp {
    fn from(row: StampRow) -> Self {
        Self {
            provider: row.provider,
            digest: row.digest,
            issued_at: row.issued_at,
            expires_at: row.expires_at,
            nullifiers: row.nullifiers,
        }
    }
}

/// A Stamp to store. Its holder must be locked (see [`crate::addresses::ensure`]).
#[derive(Clone, Debug)]
pub struct NewStamp {
    /// Address of the holder.
    pub address: EvmAddress,
    pub provider: StampName,
    /// DID of the issuer.
    pub issuer: String,
    /// Start of validity.
    pub issued_at: UnixMillis,
    /// End of validity.
    pub expires_at: UnixMillis,
    /// Digest that the issuer signed.
    pub digest: SigningDigest,
    /// Nullifiers, which other credentials of the same account share.
    pub nullifiers: Vec<Nullifier>,
    /// Current time.
    pub received_at: UnixMillis,
    /// The credential, byte for byte.
    pub credential: String,
}

/// Stores a Stamp. Returns its number. `Conflict` if the address already has one with this name.
pub async fn insert(tx: &mut Tx, workspace: WorkspaceId, new: &NewStamp) -> Result<i64, StoreError> {
    let query =
        sql("INSERT INTO stamps (workspace_id, address, provider, issuer, issued_at, expires_at, digest, \
         nullifiers, received_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING \
         RETURNING id")
        .bind(workspace)
        .bind(new.address)
        .bind(&new.provider)
        .bind(&new.issuer)
        .bind(new.issued_at)
        .bind(new.expires_at)
        .bind(new.digest)
        .bind(&new.nullifiers)
        .bind(new.received_at);
    let Some((id,)) = tx.returning(query).await?.pop() else {
        return Err(StoreError::Conflict { constraint: None });
    };
    let credential = sql("INSERT INTO stamp_credentials (stamp_id, credential, packed) VALUES ($1, '', $2)");
    tx.execute(credential.bind(id).bind(Packed::pack(&new.credential))).await?;
    note_nullifiers(tx, workspace, std::iter::once((id, new.nullifiers.as_slice()))).await?;
    Ok(id)
}

/// Replaces a Stamp with another one of the same address and name. Returns the new number, or `None` if the old one no
/// longer exists.
pub async fn replace(
    tx: &mut Tx,
    workspace: WorkspaceId,
    old: &StampRow,
    new: &NewStamp,
) -> Result<Option<i64>, StoreError> {
    if !remove(tx, workspace, old).await? {
        return Ok(None);
    }
    insert(tx, workspace, new).await.map(Some)
}

/// Removes a Stamp with its credential. Claims stay, because the holder cannot give them up. Returns true if it
/// existed.
pub async fn remove(tx: &mut Tx, workspace: WorkspaceId, stamp: &StampRow) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM stamps WHERE workspace_id = $1 AND id = $2");
    if tx.execute(query.bind(workspace).bind(stamp.id)).await? == 0 {
        return Ok(false);
    }
    nullifiers::forget(tx, workspace, stamp).await?;
    Ok(true)
}

/// The Stamp with this name.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: EvmAddress,
    provider: &StampName,
) -> Result<Option<StampRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        stamp_columns!(),
        " FROM stamps WHERE workspace_id = $1 AND address = $2 AND provider = $3"
    ));
    executor.optional(query.bind(workspace).bind(address).bind(provider)).await
}

/// The Stamps with this name of the given addresses. At most a few thousand at once.
pub async fn of_addresses(
    executor: impl Executor,
    workspace: WorkspaceId,
    provider: &StampName,
    addresses: &[EvmAddress],
) -> Result<Vec<StampRow>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query =
        sql(concat!("SELECT ", stamp_columns!(), " FROM stamps WHERE workspace_id = $1 AND provider = $2"));
    executor.all(query.bind(workspace).bind(provider).and_in(engine, "address", addresses)).await
}

/// The Stamp with this credential digest.
pub async fn find_by_digest(
    executor: impl Executor,
    workspace: WorkspaceId,
    digest: &SigningDigest,
) -> Result<Option<StampRow>, StoreError> {
    let query = sql(concat!("SELECT ", stamp_columns!(), " FROM stamps"));
    let engine = executor.engine();
    executor.optional(of_digest(engine, query, workspace, digest)).await
}

/// Appends the condition for a digest. The index covers its first bytes, which nearly always suffice. SQLite's index
/// has parts (migration 0022), and each part with a Stamp is searched: 80 for five million that were never renewed. The
/// `+` keeps SQLite from searching all Stamps of the workspace.
fn of_digest(engine: Engine, query: SqlQuery, workspace: WorkspaceId, digest: &SigningDigest) -> SqlQuery {
    let which = match engine {
        Engine::Sqlite => {
            " WHERE +workspace_id = $1 AND substr(digest, 1, 6) = $2 AND digest = $3 \
             AND id >> 16 IN (WITH RECURSIVE parts (part) AS (SELECT min(id) >> 16 FROM stamps UNION ALL \
             SELECT (SELECT min(id) >> 16 FROM stamps WHERE id >= (part + 1) << 16) FROM parts \
             WHERE part IS NOT NULL) SELECT part FROM parts)"
        }
        Engine::Postgres => " WHERE workspace_id = $1 AND substr(digest, 1, 6) = $2 AND digest = $3",
    };
    query.append(which).bind(workspace).bind(digest[..6].to_vec()).bind(digest)
}
