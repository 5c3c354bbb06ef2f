//! Locks on values that need not have a row. On SQLite the one writer is the lock, and these do nothing.
//!
//! Transactions of the scoring side take their locks in one order, so that none waits for another in a
//! circle: digests (`revocations`, all that there are), then addresses (`holders`, ascending), then the names of sets of
//! nullifiers (`nullifier_sets`), all at once. Rows that are marked on the way, such as the scores of others, have no order: where two meet
//! there, one of them is told so (`StoreError::is_contended`) and begins again.

use std::collections::BTreeSet;

use pyxis_core::id::WorkspaceId;
use sha2::{Digest, Sha256};

use crate::db::{Bind, Value};
use crate::{Executor, StoreError, Tx};

/// Most values that are locked one by one. Each is an entry of the server's lock table while it is held, and that of
/// a server with its defaults has room for 6,400, of all connections together: for a process's sixteen connections
/// with as many as this.
const MOST: usize = 256;

/// Locks `values` until the transaction ends, in an order that every caller shares. Call it once in a transaction.
///
/// Whoever brings more than a few hundred locks all of their kind in their place: no number of values fills the
/// server's lock table, and everybody else waits meanwhile. Two values that share a hash only wait for each other.
pub(crate) async fn hold<'a>(
    tx: &mut Tx,
    kind: &'static str,
    workspace: WorkspaceId,
    values: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(), StoreError> {
    if tx.is_sqlite() {
        return Ok(());
    }
    let of_kind = Sha256::new_with_prefix(format!("pyxis {kind} {workspace} "));
    let key = |value: &[u8]| first_bytes(of_kind.clone().chain_update(value));
    let keys: BTreeSet<i64> = values.into_iter().map(key).collect();
    if keys.len() > MOST {
        return hold_all(tx, kind, workspace).await;
    }
    let keys = Value::List(keys.into_iter().map(Bind::bind).collect());
    let text = "SELECT pg_advisory_xact_lock_shared($1), pg_advisory_xact_lock(keys.key) \
         FROM unnest(CAST($2 AS BIGINT[])) AS keys (key)";
    tx.execute_each(text.into(), vec![vec![whole(kind, workspace).bind(), keys]]).await?;
    Ok(())
}

/// Locks every value of a kind until the transaction ends: it waits for whoever holds or shares some, and they for it.
pub(crate) async fn hold_all(
    tx: &mut Tx,
    kind: &'static str,
    workspace: WorkspaceId,
) -> Result<(), StoreError> {
    lock_whole(tx, "SELECT pg_advisory_xact_lock($1)", kind, workspace).await
}

/// Locks a kind until the transaction ends, beside others who do the same: only [`hold_all`] is kept out.
pub(crate) async fn share(tx: &mut Tx, kind: &'static str, workspace: WorkspaceId) -> Result<(), StoreError> {
    lock_whole(tx, "SELECT pg_advisory_xact_lock_shared($1)", kind, workspace).await
}

async fn lock_whole(
    tx: &mut Tx,
    text: &'static str,
    kind: &str,
    workspace: WorkspaceId,
) -> Result<(), StoreError> {
    if !tx.is_sqlite() {
        tx.execute_each(text.into(), vec![vec![whole(kind, workspace).bind()]]).await?;
    }
    Ok(())
}

/// The key of all values of a kind.
fn whole(kind: &str, workspace: WorkspaceId) -> i64 {
    first_bytes(Sha256::new_with_prefix(format!("pyxis all of {kind} {workspace}")))
}

fn first_bytes(hash: Sha256) -> i64 {
    let digest = hash.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}
