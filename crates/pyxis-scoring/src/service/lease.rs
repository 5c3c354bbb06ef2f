//! Work that one process at a time does, whichever was asked for it.

use std::time::Duration;

use pyxis_core::id::NodeId;
use pyxis_store::{Tx, leases};

use super::Result;
use crate::state::State;

/// How long a lease lasts that is not renewed: so long does a process that died keep others from the work.
const LASTS: Duration = Duration::from_secs(30);
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(10);

/// The lease of work that is under way.
pub(super) struct Lease {
    state: State,
    name: String,
    /// This run of the work, so that a process does not do it twice at once either.
    holder: NodeId,
}

impl Lease {
    /// Takes the lease once `tx` commits; `None` where somebody else has it.
    pub(super) async fn take(state: &State, tx: &mut Tx, name: String) -> Result<Option<Self>> {
        let holder = NodeId::new(state.now(), &*state.entropy);
        let now = state.now();
        let ours = leases::acquire(tx, &name, holder, now, now.plus(LASTS)).await?;
        Ok(ours.then(|| Self { state: state.clone(), name, holder }))
    }

    /// Works, and hands the lease back; `None` where it was lost on the way and the work broken off.
    pub(super) async fn keep<T>(self, work: impl Future<Output = T>) -> Option<T> {
        let done = tokio::select! {
            done = work => Some(done),
            () = self.lost() => None,
        };
        if let Err(error) = leases::release(&self.state.store, &self.name, self.holder).await {
            tracing::debug!(lease = self.name, %error, "a lease could not be handed back");
        }
        done
    }

    /// Renews the lease until another has it.
    async fn lost(&self) {
        let Self { state, name, holder } = self;
        loop {
            tokio::time::sleep(RENEWAL).await;
            let now = state.now();
            match leases::acquire(&state.store, name, *holder, now, now.plus(LASTS)).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => tracing::debug!(lease = name, %error, "a lease could not be renewed"),
            }
        }
    }
}
