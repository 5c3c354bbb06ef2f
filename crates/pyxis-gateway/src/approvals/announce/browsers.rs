//! Browser notifications: stored with the change that they announce, and sent by [`crate::notifications::push`].

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{PushSubscriptionId, TxnId};
use pyxis_store::Tx;
use pyxis_store::message_subject::MessageSubject;
use pyxis_store::push::{self, PushMessageRow};

use super::approval_subject::ApprovalSubject;
use crate::error::Result;

/// Stores messages about a pending request or task, each to be sent to a browser from its time on.
pub(super) async fn notify(
    tx: &mut Tx,
    subject: &ApprovalSubject,
    browsers: &[(PushSubscriptionId, UnixMillis)],
) -> Result<()> {
    let new: Vec<_> = browsers
        .iter()
        .map(|(subscription_id, due)| PushMessageRow {
            subscription_id: *subscription_id,
            txn_id: push_id(subject.id),
            workspace_id: subject.workspace,
            attempts: 0,
            next_at: *due,
            expires_at: subject.expires_at,
        })
        .collect();
    Ok(push::enqueue(tx, &new).await?)
}

/// Id of a subject among those of notifications.
pub(super) const fn push_id(subject: MessageSubject) -> TxnId {
    match subject {
        MessageSubject::Request(txn) => txn,
        MessageSubject::Task(task) => task.as_subject(),
    }
}
