//! Locks on values that need not have a row. On SQLite the one writer is the lock, and these do nothing.
//!
//! Transactions of the scoring side take their locks in one order, so that none waits for another in a
//! circle: digests (`revocations`), then addresses (`holders`, ascending; of several those that are known before
//! those that are new), then nullifiers (`claims`), all at once. Rows that are marked on the way, such as the scores of
//! others, have no order: where two meet there, one of them is told so (`StoreError::is_contended`) and begins again.

use std::collections::BTreeSet;

use pyxis_core::id::WorkspaceId;
use sha2::{Digest, Sha256};

use crate::db::{Bind, Rows};
use crate::{Executor, StoreError, Tx};

/// Locks `values` until the transaction ends, in an order that every caller shares.
///
/// Each is a slot of the server's lock table while it is held, so keep the values of one transaction to
/// hundreds. Two values that share a hash only wait for each other.
pub(crate) async fn hold<'a>(
    tx: &mut Tx,
    kind: &'static str,
    workspace: WorkspaceId,
    values: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(), StoreError> {
    if tx.is_sqlite() {
        return Ok(());
    }
    let keys: BTreeSet<i64> = values.into_iter().map(|value| key(kind, workspace, value)).collect();
    let rows: Rows = keys.into_iter().map(|key| vec![key.bind()]).collect();
    tx.execute_each("SELECT pg_advisory_xact_lock($1)".into(), rows).await?;
    Ok(())
}

fn key(kind: &str, workspace: WorkspaceId, value: &[u8]) -> i64 {
    let digest =
        Sha256::new().chain_update(format!("pyxis {kind} {workspace} ")).chain_update(value).finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}
