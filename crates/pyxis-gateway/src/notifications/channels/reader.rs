//! What the readers of all platforms have in common: one node reads, and trouble is waited out.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::NodeId;
use pyxis_store::{Store, leases};

use super::platform::DeliveryError;
use crate::error::Result;
use crate::runtime::work::Stop;

/// The wait after trouble, and between looks at a lease that another node holds.
pub(super) const WAIT: Duration = Duration::from_secs(3);

/// Reads until told to stop, then hands the lease of the one node that reads back.
pub(super) async fn poll_loop(
    store: &Store,
    node: NodeId,
    lease: &'static str,
    mut stop: Stop,
    reading: impl Future<Output = ()>,
) {
    tokio::select! {
        () = reading => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
    if let Err(error) = leases::release(store, lease, node).await {
        tracing::debug!(lease, %error, "cannot release a lease");
    }
}

/// True if this node is the one that reads, for so long; if it is not, after a wait.
pub(super) async fn is_ours(
    store: &Store,
    node: NodeId,
    now: UnixMillis,
    lease: &'static str,
    hold: Duration,
) -> Result<bool> {
    let ours = leases::acquire(store, lease, node, now, now.plus(hold)).await?;
    if !ours {
        tokio::time::sleep(WAIT).await;
    }
    Ok(ours)
}

/// Waits as long as the platform says, or a while.
pub(super) async fn back_off(error: &DeliveryError) {
    let wait = match error {
        DeliveryError::Later(wait) => *wait,
        DeliveryError::Failed(_) | DeliveryError::Refused(_) | DeliveryError::Moved(_) => WAIT,
    };
    tokio::time::sleep(wait).await;
}
