//! Locks on values that need not have a row. On SQLite the single writer is the lock, so these do nothing.
//!
//! Transactions of the scoring side acquire locks in one order, to rule out deadlocks:
//!
//! 1. digests (`revocations`), all of them together,
//! 2. addresses (`holders`), ascending,
//! 3. names of nullifier sets (`nullifier_sets`), all of them together.
//!
//! Rows that are marked on the way, such as scores of other addresses, have no order. If two transactions collide
//! there, one of them fails with `StoreError::is_contended` and starts again.

use std::collections::BTreeSet;

use pyxis_core::id::WorkspaceId;
use sha2::{Digest, Sha256};

use crate::db::{Bind, Value};
use crate::{Executor, StoreError, Tx};

/// Maximum number of values locked one by one. Each held lock is an entry in the server's lock table. A server with
/// default settings has room for 6,400, which suffices for a process's sixteen connections with this many each.
const MOST: usize = 256;

/// Locks `values` until the transaction ends, in an order that all callers share. Call it once per transaction.
///
/// A caller with more than a few hundred values locks their whole kind instead. That way no number of values fills the
/// server's lock table, and all other callers wait meanwhile. Two values with the same hash only wait for each other.
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
    tx.execute_each(text.into(), vec![vec![kind_key(kind, workspace).bind(), keys]]).await?;
    Ok(())
}

/// Locks all values of a kind until the transaction ends. Waits for anyone who holds or shares some of them, and they
/// for it.
pub(crate) async fn hold_all(
    tx: &mut Tx,
    kind: &'static str,
    workspace: WorkspaceId,
) -> Result<(), StoreError> {
    lock_whole(tx, "SELECT pg_advisory_xact_lock($1)", kind, workspace).await
}

/// Takes a shared lock on a kind until the transaction ends. It excludes only [`hold_all`].
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
        tx.execute_each(text.into(), vec![vec![kind_key(kind, workspace).bind()]]).await?;
    }
    Ok(())
}

/// Lock key for all values of a kind.
fn kind_key(kind: &str, workspace: WorkspaceId) -> i64 {
    first_bytes(Sha256::new_with_prefix(format!("pyxis all of {kind} {workspace}")))
}

fn first_bytes(hash: Sha256) -> i64 {
    let digest = hash.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}
