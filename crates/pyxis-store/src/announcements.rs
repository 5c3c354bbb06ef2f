//! Rooms and people that a request was announced to.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TxnId, UserId, WorkspaceId};

use crate::db::{Bind, Rows, row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    /// Kind of recipient.
    pub RecipientKind {
        /// A room that several people read.
        Room = "room",
        /// A person.
        Person = "person",
    }
}

row! {
    /// An announcement to one recipient.
    pub AnnouncementRow: "announcements", announcement_columns {
        /// Transaction id of the approval.
        txn_id: TxnId,
        /// Name of a chat platform, or `push`.
        channel: String,
        /// Kind of recipient.
        kind: RecipientKind,
        /// Id of a room on its platform, or of a user.
        recipient: String,
        /// Time from which it is sent.
        at: UnixMillis,
        /// Workspace of the approval.
        workspace_id: WorkspaceId,
    }
}

/// Adds announcements; those that exist stay as they are.
pub async fn insert(tx: &mut Tx, new: &[AnnouncementRow]) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    let rows: Rows = new
        .iter()
        .map(|new| {
            vec![
                new.txn_id.bind(),
                new.channel.clone().bind(),
                new.kind.bind(),
                new.recipient.clone().bind(),
                new.at.bind(),
                new.workspace_id.bind(),
            ]
        })
        .collect();
    let text = "INSERT INTO announcements (txn_id, channel, kind, recipient, at, workspace_id) \
                VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    tx.execute_each(text.into(), rows).await?;
    Ok(())
}

/// Announcements of a request, oldest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Vec<AnnouncementRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        announcement_columns!(),
        " FROM announcements WHERE workspace_id = $1 AND txn_id = $2 ORDER BY at, channel, kind, recipient"
    ));
    executor.all(query.bind(workspace).bind(txn)).await
}

/// Removes an announcement that is sent later than `new`, which is in its place.
pub async fn replace_later(tx: &mut Tx, new: &AnnouncementRow) -> Result<(), StoreError> {
    let query = sql("DELETE FROM announcements WHERE workspace_id = $1 AND txn_id = $2 AND channel = $3 \
         AND kind = $4 AND recipient = $5 AND at > $6")
    .bind(new.workspace_id)
    .bind(new.txn_id)
    .bind(&new.channel)
    .bind(new.kind)
    .bind(&new.recipient)
    .bind(new.at);
    tx.execute(query).await?;
    Ok(())
}

/// Removes the announcements to a person on a channel that are sent after `now`. Returns their number.
pub async fn remove_later(
    tx: &mut Tx,
    workspace: WorkspaceId,
    channel: &str,
    person: UserId,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM announcements WHERE workspace_id = $1 AND channel = $2 AND kind = $3 \
         AND recipient = $4 AND at > $5")
    .bind(workspace)
    .bind(channel)
    .bind(RecipientKind::Person)
    .bind(person.to_string())
    .bind(now);
    tx.execute(query).await
}
