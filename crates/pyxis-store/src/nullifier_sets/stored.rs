//! Builds sets from Stamps that were stored before sets existed.

use std::collections::BTreeMap;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::stamp::Nullifier;

use super::{lock, tie};
use crate::db::sql;
use crate::stamps::Listed;
use crate::{Executor, Store, StoreError};

/// Stamps read at a time.
const PAGE: u32 = 256;
/// Attempts on a page that other transactions keep changing, before giving up.
const ATTEMPTS: usize = 8;

/// Ties the nullifiers of every stored Stamp, once in the life of a database. An interrupted run continues where it
/// stopped.
pub(crate) async fn read_stored(store: &Store) -> Result<(), StoreError> {
    while let Some(after) = unread(store).await? {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match read_page(store, after).await {
                Ok(true) => break,
                Ok(false) if attempts < ATTEMPTS => {}
                Err(error) if error.is_contended() && attempts < ATTEMPTS => {}
                Ok(false) => return Err(StoreError::Aborted),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Number of the last processed Stamp; `None` after the last page.
async fn unread(store: &Store) -> Result<Option<i64>, StoreError> {
    let query = sql("SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'nullifier_sets_unread'");
    Ok(store.optional(query).await?.map(|(after,)| after))
}

/// Ties the nullifiers of one page of Stamps. `false` means: start again.
async fn read_page(store: &Store, after: i64) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    // Only lists of several nullifiers tie anything.
    let query = sql("SELECT id, workspace_id, nullifiers FROM stamps \
         WHERE id > $1 AND nullifiers LIKE '%\",\"%' ORDER BY id");
    let page: Vec<(i64, WorkspaceId, Listed)> = (&mut tx).all(query.bind(after).limit(PAGE)).await?;
    let Some(last) = page.last().map(|(id, ..)| *id) else {
        (&mut tx).execute(sql("DELETE FROM meta WHERE key = 'nullifier_sets_unread'")).await?;
        tx.commit().await?;
        return Ok(true);
    };
    let mut lists: BTreeMap<WorkspaceId, Vec<Vec<Nullifier>>> = BTreeMap::new();
    for (_, workspace, Listed(nullifiers)) in page {
        lists.entry(workspace).or_default().extend(nullifiers);
    }
    for (workspace, lists) in lists {
        let Some(mut sets) = lock(&mut tx, workspace, lists.iter().flatten().collect()).await? else {
            return Ok(false);
        };
        // Claims from that time have no start date. The one that lasts longest stays; if any is active, that one is.
        let lists: Vec<&[Nullifier]> = lists.iter().map(Vec::as_slice).collect();
        if !tie(&mut tx, workspace, &mut sets, &lists, UnixMillis(i64::MIN)).await? {
            return Ok(false);
        }
    }
    let read = sql("UPDATE meta SET value = $1 WHERE key = 'nullifier_sets_unread'");
    (&mut tx).execute(read.bind(last.to_string())).await?;
    tx.commit().await?;
    Ok(true)
}
