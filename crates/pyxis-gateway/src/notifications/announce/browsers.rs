//! Browser notifications: stored with the change that they announce, and sent by [`crate::notifications::push`].

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::PushSubscriptionId;
use pyxis_store::Tx;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::push::{self, PushMessageRow};

use crate::error::Result;

/// Stores messages about a pending request, each to be sent to a browser from its time on.
pub(super) async fn notify(
    tx: &mut Tx,
    row: &ApprovalRow,
    browsers: &[(PushSubscriptionId, UnixMillis)],
) -> Result<()> {
    let new: Vec<_> = browsers
        .iter()
        .map(|(subscription_id, due)| PushMessageRow {
            subscription_id: *subscription_id,
            txn_id: row.txn_id,
            workspace_id: row.workspace_id,
            attempts: 0,
            next_at: *due,
            expires_at: row.expires_at,
        })
        .collect();
    Ok(push::enqueue(tx, &new).await?)
}
