//! Browser notifications: stored with the change that they announce, and sent by [`crate::notifications::push`].

use pyxis_core::approval_mode::Channel;
use pyxis_core::clock::UnixMillis;
use pyxis_store::Tx;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::push::{self, PushMessageRow};

use crate::error::Result;
use crate::identity::voters::eligible_among;

/// Stores the messages about a request pending in the dashboard, one for each browser of its eligible approvers.
pub(super) async fn announce(now: UnixMillis, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
    if row.channel != Channel::Dashboard {
        return Ok(());
    }
    let browsers = push::list(&mut *tx, row.workspace_id).await?;
    let people = browsers.iter().map(|(_, user)| *user).collect();
    let eligible = eligible_among(tx, row.workspace_id, row.credential_id, people).await?;
    let told = browsers.into_iter().filter(|(_, user)| eligible.contains(user));
    let new: Vec<_> = told
        .map(|(subscription_id, _)| PushMessageRow {
            subscription_id,
            txn_id: row.txn_id,
            workspace_id: row.workspace_id,
            attempts: 0,
            next_at: now,
            expires_at: row.expires_at,
        })
        .collect();
    Ok(push::enqueue(tx, &new).await?)
}
