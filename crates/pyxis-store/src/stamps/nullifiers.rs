//! Index of Stamps by nullifier, for addresses with a score; nothing depends on other addresses. The lists in `stamps`
//! are authoritative. For each nullifier the index contains a number derived from it, which leads to the Stamps that
//! may have it. Entries are written when a single Stamp arrives and whenever a score is stored, so bulk-inserted Stamps
//! have none at first.

use std::collections::{BTreeSet, HashSet};

use pyxis_core::address::EvmAddress;
use pyxis_core::id::WorkspaceId;
use pyxis_core::stamp::Nullifier;
use sha2::{Digest, Sha256};

use super::StampRow;
use crate::db::{Bind, Cell, Column, Rows, sql};
use crate::{Executor, StoreError, Tx};

/// Half of the SHA-256 of a workspace's nullifier, long enough to rule out collisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NullifierHash(pub(crate) [u8; 16]);

impl NullifierHash {
    /// Hashes of the given nullifiers, in order.
    pub fn hash_all<'a>(
        workspace: WorkspaceId,
        nullifiers: impl IntoIterator<Item = &'a Nullifier>,
    ) -> Vec<Self> {
        let of_workspace = Sha256::new_with_prefix(workspace.to_string());
        let hash = |nullifier: &Nullifier| of_workspace.clone().chain_update(nullifier.as_str()).finalize();
        let half = |nullifier| Self(std::array::from_fn(|index| hash(nullifier)[index]));
        nullifiers.into_iter().map(half).collect()
    }

    /// Index number of the nullifier: 48 bits of the hash, which SQLite stores in six bytes.
    fn key(self) -> i64 {
        key_of(&self.0)
    }
}

/// Index number of a nullifier in a workspace.
pub(crate) fn key(workspace: &str, nullifier: &str) -> i64 {
    key_of(&Sha256::new_with_prefix(workspace).chain_update(nullifier).finalize())
}

fn key_of(hash: &[u8]) -> i64 {
    hash[..6].iter().fold(0, |key, byte| key << 8 | i64::from(*byte)) - (1 << 47)
}

/// One index row per nullifier of a Stamp.
fn rows(workspace: WorkspaceId, stamp: i64, nullifiers: &[Nullifier]) -> Rows {
    let hashes = NullifierHash::hash_all(workspace, nullifiers).into_iter();
    hashes.map(|hash| vec![hash.key().bind(), stamp.bind()]).collect()
}

/// Indexes the nullifiers of the Stamps with these numbers. Their holder must be locked.
pub async fn note_nullifiers<'a>(
    tx: &mut Tx,
    workspace: WorkspaceId,
    stamps: impl Iterator<Item = (i64, &'a [Nullifier])>,
) -> Result<(), StoreError> {
    let rows = stamps.flat_map(|(stamp, nullifiers)| rows(workspace, stamp, nullifiers)).collect();
    // Some may be indexed already, and two nullifiers of one Stamp may have the same number.
    let text =
        "INSERT INTO stamp_nullifiers (nullifier_key, stamp_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    tx.execute_each(text.into(), rows).await.map(drop)
}

/// Removes the index rows of a Stamp.
pub(super) async fn forget(tx: &mut Tx, workspace: WorkspaceId, stamp: &StampRow) -> Result<(), StoreError> {
    let text = "DELETE FROM stamp_nullifiers WHERE nullifier_key = $1 AND stamp_id = $2";
    tx.execute_each(text.into(), rows(workspace, stamp.id, &stamp.nullifiers)).await.map(drop)
}

/// Addresses other than `address` with a Stamp that has one of the given nullifiers, in order. Includes all that have a
/// score, and some that have none. A Stamp with unreadable nullifiers counts as a match.
pub async fn others_with_nullifiers(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: Option<EvmAddress>,
    nullifiers: &[NullifierHash],
) -> Result<Vec<EvmAddress>, StoreError> {
    if nullifiers.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql("SELECT address, nullifiers FROM stamp_nullifiers CROSS JOIN stamps \
         WHERE id = stamp_id AND workspace_id = $1")
    .bind(workspace)
    .push_if(" AND address <> ?", address)
    .and_in(engine, "nullifier_key", nullifiers.iter().map(|hash| hash.key()));
    let wanted: HashSet<&NullifierHash> = nullifiers.iter().collect();
    let has_one = |Listed(theirs): &Listed| {
        let Some(theirs) = theirs else { return true };
        NullifierHash::hash_all(workspace, theirs).iter().any(|hash| wanted.contains(hash))
    };
    let found: Vec<(EvmAddress, Listed)> = executor.all(query).await?;
    let others: BTreeSet<EvmAddress> =
        found.into_iter().filter(|(_, theirs)| has_one(theirs)).map(|(other, _)| other).collect();
    Ok(others.into_iter().collect())
}

/// Nullifiers of a Stamp, if readable.
pub(crate) struct Listed(pub(crate) Option<Vec<Nullifier>>);

impl Column for Listed {
    fn read(cell: Cell<'_>) -> Option<Self> {
        Some(Self(Column::read(cell)))
    }
}
