//! Releases requests that dead processes reserved and did not spend.

use std::fs::File;

use pyxis_core::id::NodeId;
use pyxis_store::{Store, usage};

use super::spent_log;
use crate::error::{Error, Result};

/// Releases what a node that is known to be dead reserved and did not spend, according to its
/// [`SpentLog`](super::SpentLog). A log from an earlier boot of the machine says nothing; windows then stay as strict
/// as they are until they end.
pub async fn release_unspent(store: &Store, node: NodeId, ledger: &File) -> Result<()> {
    let spent = spent_log::read(ledger).map_err(|error| Error::Internal(error.into()))?;
    let Some(spent) = spent else { return Ok(()) };
    for slot in usage::slots_of(store, node).await? {
        let spent = usize::try_from(slot).ok().and_then(|slot| spent.get(slot));
        let Some(spent) = spent.and_then(|spent| i64::try_from(*spent).ok()) else { continue };
        let mut tx = store.begin().await?;
        usage::give_back(&mut tx, node, slot, spent).await?;
        tx.commit().await?;
    }
    Ok(())
}
