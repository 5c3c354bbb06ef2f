//! Subjects of notifications: requests and tasks that wait for a decision.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TaskId, UserId, WorkspaceId};
use pyxis_store::Store;
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::push::PushMessageRow;
use pyxis_store::tasks::{self, TaskRow};

use crate::approvals::announce::approval_subject::ApprovalSubject;
use crate::approvals::announce::tasks as task_announcements;
use crate::error::Result;

/// A request or a task that waits.
pub(super) enum Subject {
    /// A single request.
    Request(Box<ApprovalRow>),
    Task(Box<TaskRow>),
}

impl Subject {
    /// The subject of a message; `None` if it no longer waits.
    pub(super) async fn load(
        store: &Store,
        message: &PushMessageRow,
        now: UnixMillis,
    ) -> Result<Option<Self>> {
        let workspace = message.workspace_id;
        if message.expires_at <= now {
            return Ok(None);
        }
        if let Some(row) = approvals::find(store, workspace, message.txn_id).await? {
            return Ok((row.state == ApprovalState::Pending).then(|| Self::Request(Box::new(row))));
        }
        let task = tasks::find(store, workspace, TaskId::from_subject(message.txn_id)).await?;
        let waiting = task.filter(|row| task_announcements::is_waiting(row, now));
        Ok(waiting.map(|row| Self::Task(Box::new(row))))
    }

    pub(super) fn workspace(&self) -> WorkspaceId {
        match self {
            Self::Request(row) => row.workspace_id,
            Self::Task(row) => row.workspace_id,
        }
    }

    pub(super) fn created_at(&self) -> UnixMillis {
        match self {
            Self::Request(row) => row.created_at,
            Self::Task(row) => row.created_at,
        }
    }

    /// End of the time to decide.
    pub(super) fn expires_at(&self) -> UnixMillis {
        match self {
            Self::Request(row) => row.expires_at,
            Self::Task(row) => row.expires_at,
        }
    }

    /// Name by which a later notification about the same subject replaces this one.
    pub(super) fn tag(&self) -> String {
        match self {
            Self::Request(row) => row.txn_id.to_string(),
            Self::Task(row) => row.id.to_string(),
        }
    }

    /// Path of the page where a person decides.
    pub(super) fn path(&self) -> String {
        match self {
            Self::Request(row) => format!("/approve/{}", row.txn_id),
            Self::Task(row) => format!("/app/tasks/{}", row.id),
        }
    }

    /// One sentence, without the content of the request and without the purpose.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Request(row) => format!(
                "{} wants to use {}: {} {}",
                row.agent_name, row.credential_name, row.method, row.target_host
            ),
            Self::Task(row) => format!("{} proposes a task", row.agent_name),
        }
    }

    /// True if this person may decide now.
    pub(super) async fn may_be_decided_by(&self, store: &Store, person: UserId) -> Result<bool> {
        let mut tx = store.begin().await?;
        let subject = match self {
            Self::Request(row) => row.txn_id.into(),
            Self::Task(row) => row.id.into(),
        };
        ApprovalSubject::may_be_decided_by(&mut tx, self.workspace(), subject, person).await
    }
}
