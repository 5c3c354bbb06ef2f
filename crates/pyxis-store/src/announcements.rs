//! Rooms and people that a request or a task was announced to.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{UserId, WorkspaceId};

use crate::db::{Bind, FromRow, Row, Rows, Value, sql, stored_enum};
use crate::message_subject::{MessageSubject, SubjectKind};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    pub RecipientKind {
        /// A room that several people read.
        Room = "room",
        Person = "person",
    }
}

/// An announcement to one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncementRow {
    /// The announced request or task.
    pub subject: MessageSubject,
    /// Name of a chat platform, or `push`.
    pub channel: String,
    pub kind: RecipientKind,
    /// Id of a room on its platform, or of a user.
    pub recipient: String,
    /// Time from which it is sent.
    pub at: UnixMillis,
    /// Workspace of the subject.
    pub workspace_id: WorkspaceId,
}

impl FromRow for AnnouncementRow {
    const TABLE: &'static str = "announcements";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            subject: MessageSubject::read(row)?,
            channel: row.take("channel")?,
            kind: row.take("kind")?,
            recipient: row.take("recipient")?,
            at: row.take("at")?,
            workspace_id: row.take("workspace_id")?,
        })
    }
}

/// Adds announcements; those that exist stay as they are.
pub async fn insert(tx: &mut Tx, new: &[AnnouncementRow]) -> Result<(), StoreError> {
    for kind in SubjectKind::ALL {
        let of_kind = new.iter().filter(|new| new.subject.kind() == *kind);
        let rows: Rows = of_kind.map(values).collect();
        if rows.is_empty() {
            continue;
        }
        let text = "INSERT INTO announcements (txn_id, channel, kind, recipient, at, workspace_id) \
                    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        tx.execute_each(kind.text(text), rows).await?;
    }
    Ok(())
}

fn values(new: &AnnouncementRow) -> Vec<Value> {
    vec![
        new.subject.bind(),
        new.channel.clone().bind(),
        new.kind.bind(),
        new.recipient.clone().bind(),
        new.at.bind(),
        new.workspace_id.bind(),
    ]
}

/// Announcements of a request or a task, oldest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    subject: impl Into<MessageSubject>,
) -> Result<Vec<AnnouncementRow>, StoreError> {
    let subject = subject.into();
    let query = sql("SELECT 'request' AS subject, txn_id, channel, kind, recipient, at, workspace_id \
         FROM announcements WHERE workspace_id = $1 AND txn_id = $2 ORDER BY at, channel, kind, recipient");
    executor.all(subject.kind().statement(query.bind(workspace).bind(subject))).await
}

/// Removes an announcement that is sent later than `new`, which is in its place.
pub async fn replace_later(tx: &mut Tx, new: &AnnouncementRow) -> Result<(), StoreError> {
    let query = sql("DELETE FROM announcements WHERE workspace_id = $1 AND txn_id = $2 AND channel = $3 \
         AND kind = $4 AND recipient = $5 AND at > $6")
    .bind(new.workspace_id)
    .bind(new.subject)
    .bind(&new.channel)
    .bind(new.kind)
    .bind(&new.recipient)
    .bind(new.at);
    tx.execute(new.subject.kind().statement(query)).await?;
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
    let mut count = 0;
    for kind in SubjectKind::ALL {
        count += tx.execute(kind.statement(query.clone())).await?;
    }
    Ok(count)
}
