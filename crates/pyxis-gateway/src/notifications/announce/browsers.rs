//! Notifications of browsers: rows, written with the change that they tell of; [`crate::notifications::push`] sends them.

use pyxis_core::approval_mode::Channel;
use pyxis_store::Tx;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::push::{self, PushMessageRow};

use crate::error::Result;
use crate::identity::voters::eligible_among;
use crate::runtime::state::State;

/// Writes the messages about a request that waits in the dashboard: one for each browser of those who may
/// decide it.
pub(super) async fn announce(state: &State, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
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
            next_at: state.now(),
            expires_at: row.expires_at,
        })
        .collect();
    Ok(push::enqueue(tx, &new).await?)
}
