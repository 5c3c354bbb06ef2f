//! The end of the time to decide about proposed tasks.

use pyxis_core::clock::UnixMillis;
use pyxis_core::metric;
use pyxis_store::tasks;

use crate::error::Result;
use crate::runtime::state::State;

/// Tasks expired per round.
const BATCH: u32 = 500;

/// Expires all proposed tasks whose time has ended. Returns the time of the next expiry.
pub(crate) async fn expire_due(state: &State) -> Result<Option<UnixMillis>> {
    loop {
        let now = state.now();
        let due = tasks::due(&state.store, now, BATCH).await?;
        if due.is_empty() {
            return Ok(tasks::next_expiry(&state.store).await?);
        }
        for (workspace, id) in due {
            let mut tx = state.store.begin().await?;
            let is_expired = tasks::expire(&mut tx, workspace, id, now).await?;
            tx.commit().await?;
            if is_expired {
                metrics::counter!(metric::TASKS.name, "outcome" => "expired").increment(1);
            }
        }
    }
}
