//! The end of the time to decide about proposed tasks.

use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::metric;
use pyxis_store::{Store, tasks};

use crate::error::Result;

/// Tasks expired per round.
const BATCH: u32 = 500;

/// Expires all proposed tasks whose time has ended. Returns the time of the next expiry.
pub(crate) async fn expire_due(store: &Store, clock: &dyn Clock) -> Result<Option<UnixMillis>> {
    loop {
        let now = clock.now();
        let due = tasks::due(store, now, BATCH).await?;
        if due.is_empty() {
            return Ok(tasks::next_expiry(store).await?);
        }
        for (workspace, id) in due {
            let mut tx = store.begin().await?;
            let is_expired = tasks::expire(&mut tx, workspace, id, now).await?;
            tx.commit().await?;
            if is_expired {
                metrics::counter!(metric::TASKS.name, "outcome" => "expired").increment(1);
            }
        }
    }
}
