//! Work that only one process performs at a time, no matter which one was asked.

use std::time::Duration;

use pyxis_core::id::NodeId;
use pyxis_store::{Tx, leases};

use super::Result;
use crate::state::State;

/// Lifetime of a lease that is not renewed. A dead process blocks the work for this long.
const LASTS: Duration = Duration::from_secs(30);
/// Interval between renewals.
const RENEWAL: Duration = Duration::from_secs(10);

/// The lease of work in progress.
pub(super) struct Lease {
    state: State,
    name: String,
    /// Identifies this run of the work, so that a process does not run it twice at once either.
    holder: NodeId,
}

impl Lease {
    /// Acquires the lease once `tx` commits; `None` if another process holds it.
    pub(super) async fn acquire(state: &State, tx: &mut Tx, name: String) -> Result<Option<Self>> {
        let holder = NodeId::new(state.now(), &*state.entropy);
        let now = state.now();
        let ours = leases::acquire(tx, &name, holder, now, now.plus(LASTS)).await?;
        Ok(ours.then(|| Self { state: state.clone(), name, holder }))
    }

    /// Runs `work`, then returns the lease; `None` if the lease was lost and the work canceled.
    pub(super) async fn run_under_lease<T>(self, work: impl Future<Output = T>) -> Option<T> {
        let done = tokio::select! {
            done = work => Some(done),
            () = self.renew_until_lost() => None,
        };
        if let Err(error) = leases::release(&self.state.store, &self.name, self.holder).await {
            tracing::debug!(lease = self.name, %error, "cannot release a lease");
        }
        done
    }

    /// Renews the lease until another process has it.
    async fn renew_until_lost(&self) {
        let Self { state, name, holder } = self;
        loop {
            tokio::time::sleep(RENEWAL).await;
            let now = state.now();
            match leases::acquire(&state.store, name, *holder, now, now.plus(LASTS)).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => tracing::debug!(lease = name, %error, "cannot renew a lease"),
            }
        }
    }
}
