//! Erasure of an address: the one list of what is stored about addresses, and receipts.
//!
//! A new column with an address must be added to [`ADDRESS_COLUMNS`]; a test reads the schema for columns that are not.

use std::collections::BTreeMap;

use hmac::Mac;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ErasureId, WorkspaceId};

use crate::cipher::{self, Keyring};
use crate::db::{FromRow, Row, row, sql};
use crate::{Executor, StoreError, Tx};

/// Fate of a column's rows when their address is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// Deleted by this statement, whose `$1` is the workspace and `$2` the address, and counted under a name.
    Delete(&'static str, &'static str),
    /// Deleted with the row of another table that they refer to.
    Cascade,
    /// Replaced by a keyed hash ([`AddressHash`]).
    Hash,
    /// Changed by code of its own, because the address is inside a value.
    Rewrite,
    /// Kept, for this reason.
    Keep(&'static str),
}

/// A column that holds an address, or a value with an address in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressColumn {
    /// Table of the column.
    pub table: &'static str,
    /// Name of the column.
    pub column: &'static str,
    /// Fate of its rows.
    pub handling: Handling,
}

const fn column(table: &'static str, column: &'static str, handling: Handling) -> AddressColumn {
    AddressColumn { table, column, handling }
}

/// Reason for which the registry of proofs keeps its rows.
const REGISTRY: &str = "an answer for an earlier height never changes";

/// Every column that holds an address, in the order in which rows are deleted.
pub const ADDRESS_COLUMNS: &[AddressColumn] = &[
    column(
        "score_history",
        "address",
        Handling::Delete(
            "score_history",
            "DELETE FROM score_history WHERE scorer_id IN (SELECT id FROM scorers WHERE workspace_id = $1) \
             AND address = $2",
        ),
    ),
    column(
        "scores",
        "address",
        Handling::Delete("scores", "DELETE FROM scores WHERE workspace_id = $1 AND address = $2"),
    ),
    column("stamp_credentials", "credential", Handling::Cascade),
    column("stamp_credentials", "packed", Handling::Cascade),
    column(
        "stamps",
        "address",
        Handling::Delete("stamps", "DELETE FROM stamps WHERE workspace_id = $1 AND address = $2"),
    ),
    column(
        "holders",
        "address",
        Handling::Delete("addresses", "DELETE FROM holders WHERE workspace_id = $1 AND address = $2"),
    ),
    column(
        "score_reviews",
        "address",
        Handling::Delete(
            "score_reviews",
            "DELETE FROM score_reviews WHERE workspace_id = $1 AND address = $2",
        ),
    ),
    column(
        "issued_stamps",
        "address",
        Handling::Delete(
            "issued_stamps",
            "DELETE FROM issued_stamps WHERE workspace_id = $1 AND address = $2",
        ),
    ),
    column(
        "listed_addresses",
        "address",
        Handling::Delete(
            "allow_list_entries",
            "DELETE FROM listed_addresses WHERE workspace_id = $1 AND address = $2",
        ),
    ),
    column(
        "widget_nonces",
        "address",
        Handling::Delete(
            "sign_ins",
            "DELETE FROM widget_nonces WHERE api_key_id IN \
             (SELECT api_key_id FROM publishable_keys WHERE workspace_id = $1) AND address = $2",
        ),
    ),
    column(
        "widget_sessions",
        "address",
        Handling::Delete(
            "sign_ins",
            "DELETE FROM widget_sessions WHERE api_key_id IN \
             (SELECT api_key_id FROM publishable_keys WHERE workspace_id = $1) AND address = $2",
        ),
    ),
    column("claims", "address", Handling::Hash),
    column("erasures", "address_hash", Handling::Hash),
    column("deliveries", "sealed_body", Handling::Rewrite),
    column("activity_chunks", "data", Handling::Rewrite),
    column("activity_wallets", "address", Handling::Rewrite),
    column("activity_parties", "address", Handling::Rewrite),
    column("suspect_groups", "document", Handling::Rewrite),
    column("suspect_groups", "members", Handling::Rewrite),
    column("score_job_chunks", "input", Handling::Rewrite),
    column("score_job_chunks", "result", Handling::Rewrite),
    column("proofs", "subject", Handling::Keep(REGISTRY)),
    column("nullifier_holders", "subject", Handling::Keep(REGISTRY)),
    column("blocked_subjects", "subject", Handling::Keep(REGISTRY)),
    column("proof_log", "subject", Handling::Keep(REGISTRY)),
];

/// First bytes of every hash that stands for an address: `erased` in ASCII, and two zeros.
const TAG: [u8; 8] = *b"erased\0\0";

/// Hash of an address under a key that is not in the database, in the form of an address. Someone with only the
/// database cannot test a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressHash(EvmAddress);

impl AddressHash {
    /// Hash of an address in a workspace.
    pub fn new(keyring: &Keyring, workspace: WorkspaceId, address: EvmAddress) -> Self {
        let mut mac = cipher::hmac(keyring.derive("erased-address").expose());
        mac.update(workspace.to_string().as_bytes());
        mac.update(&address.0);
        let sum = mac.finalize().into_bytes();
        Self(EvmAddress(std::array::from_fn(|index| match TAG.get(index) {
            Some(byte) => *byte,
            None => sum[index - TAG.len()],
        })))
    }

    /// The hash in the place of an address.
    pub const fn as_address(self) -> EvmAddress {
        self.0
    }

    /// True if the value in the place of an address is such a hash.
    pub fn is_hash(address: EvmAddress) -> bool {
        address.0.starts_with(&TAG)
    }
}

/// Numbers of rows by kind.
pub type Counts = BTreeMap<String, i64>;

row! {
    /// A receipt as it is stored.
    StoredErasure: "erasures", erasure_columns {
        id: ErasureId,
        removed: String,
        kept: String,
        erased_at: UnixMillis,
        erased_by: String,
        audit_seq: i64,
        audit_mac: String,
    }
}

/// The receipt of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureRow {
    /// Number of the receipt.
    pub id: ErasureId,
    /// Removed rows by kind.
    pub removed: Counts,
    /// Rows that stay, by kind.
    pub kept: Counts,
    /// Time of the erasure.
    pub erased_at: UnixMillis,
    /// Name of who erased it.
    pub erased_by: String,
    /// Number of the audit record.
    pub audit_seq: i64,
    /// MAC of the audit record, in hex.
    pub audit_mac: String,
}

impl FromRow for ErasureRow {
    const TABLE: &'static str = "erasures";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let stored = StoredErasure::from_row(row)?;
        let counts = |column: &'static str, text: &str| {
            serde_json::from_str::<Counts>(text).map_err(|_| StoreError::Corrupt {
                table: "erasures",
                column,
                row: stored.id.to_string(),
            })
        };
        Ok(Self {
            removed: counts("removed", &stored.removed)?,
            kept: counts("kept", &stored.kept)?,
            id: stored.id,
            erased_at: stored.erased_at,
            erased_by: stored.erased_by,
            audit_seq: stored.audit_seq,
            audit_mac: stored.audit_mac,
        })
    }
}

/// Deletes every row of the address that [`ADDRESS_COLUMNS`] deletes by a statement. Returns the numbers by kind,
/// without zeros. The address must be locked.
pub async fn delete_rows(
    tx: &mut Tx,
    workspace: WorkspaceId,
    address: EvmAddress,
) -> Result<Counts, StoreError> {
    let mut counts = Counts::new();
    for AddressColumn { handling, .. } in ADDRESS_COLUMNS {
        if let Handling::Delete(kind, statement) = handling {
            let count = tx.execute(sql(statement).bind(workspace).bind(address)).await?;
            if count > 0 {
                *counts.entry((*kind).to_owned()).or_default() += i64::try_from(count).unwrap_or(i64::MAX);
            }
        }
    }
    Ok(counts)
}

/// Number of rows about an address in the registry of proofs, which keeps them.
pub async fn count_kept(executor: impl Executor, address: EvmAddress) -> Result<i64, StoreError> {
    let query = sql("SELECT (SELECT count(*) FROM proofs WHERE subject = $1) \
         + (SELECT count(*) FROM nullifier_holders WHERE subject = $1) \
         + (SELECT count(*) FROM blocked_subjects WHERE subject = $1) \
         + (SELECT count(*) FROM proof_log WHERE subject = $1)");
    Ok(executor.optional(query.bind(address)).await?.map_or(0, |(count,)| count))
}

/// Stores a receipt.
pub async fn insert(
    tx: &mut Tx,
    workspace: WorkspaceId,
    hash: AddressHash,
    new: &ErasureRow,
) -> Result<(), StoreError> {
    let json = |counts: &Counts| serde_json::to_string(counts).map_err(StoreError::unavailable);
    let query =
        sql("INSERT INTO erasures (id, workspace_id, address_hash, removed, kept, erased_at, erased_by, \
         audit_seq, audit_mac) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
        .bind(new.id)
        .bind(workspace)
        .bind(hash.as_address())
        .bind(json(&new.removed)?)
        .bind(json(&new.kept)?)
        .bind(new.erased_at)
        .bind(&new.erased_by)
        .bind(new.audit_seq)
        .bind(&new.audit_mac);
    tx.execute(query).await.map(drop)
}

/// Receipts of an address, newest first.
pub async fn list_for(
    executor: impl Executor,
    workspace: WorkspaceId,
    hash: AddressHash,
) -> Result<Vec<ErasureRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        erasure_columns!(),
        " FROM erasures WHERE workspace_id = $1 AND address_hash = $2 ORDER BY erased_at DESC, id DESC"
    ));
    executor.all(query.bind(workspace).bind(hash.as_address())).await
}
