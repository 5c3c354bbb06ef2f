//! Subjects of messages and announcements: single requests, and proposed tasks.
//!
//! Rows about requests and about tasks are in tables of their own with the same columns. A statement is written once, for
//! requests, and the names in it are replaced for tasks.

use std::borrow::Cow;

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::id::{TaskId, TxnId};
use pyxis_core::task::TaskState;

use crate::StoreError;
use crate::db::{Bind, Row, SqlQuery, Value, stored_enum};

stored_enum! {
    pub SubjectKind {
        /// A single request.
        Request = "request",
        /// A proposed task.
        Task = "task",
    }
}

stored_enum! {
    /// State of a subject, as messages about it show it.
    pub MessageState {
        /// Waits for a person.
        Pending = "pending",
        /// Approved, whatever came of it.
        Approved = "approved",
        Denied = "denied",
        /// No one decided in time, or the agent withdrew a single request.
        Expired = "expired",
        /// The agent withdrew the proposal of a task.
        Withdrawn = "withdrawn",
        /// A running task that ended early.
        Stopped = "stopped",
    }
}

impl From<ApprovalState> for MessageState {
    fn from(state: ApprovalState) -> Self {
        match state {
            ApprovalState::Pending => Self::Pending,
            ApprovalState::Approved => Self::Approved,
            ApprovalState::Denied => Self::Denied,
            ApprovalState::Expired => Self::Expired,
        }
    }
}

impl From<TaskState> for MessageState {
    fn from(state: TaskState) -> Self {
        match state {
            TaskState::Proposed => Self::Pending,
            TaskState::Approved | TaskState::Ended => Self::Approved,
            TaskState::Denied => Self::Denied,
            TaskState::Withdrawn => Self::Withdrawn,
            TaskState::Expired => Self::Expired,
            TaskState::Stopped => Self::Stopped,
        }
    }
}

impl PartialEq<ApprovalState> for MessageState {
    fn eq(&self, other: &ApprovalState) -> bool {
        *self == Self::from(*other)
    }
}

/// A request or a task that is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageSubject {
    /// A single request, by its transaction.
    Request(TxnId),
    /// A proposed task.
    Task(TaskId),
}

impl From<TxnId> for MessageSubject {
    fn from(txn: TxnId) -> Self {
        Self::Request(txn)
    }
}

impl From<TaskId> for MessageSubject {
    fn from(task: TaskId) -> Self {
        Self::Task(task)
    }
}

impl std::fmt::Display for MessageSubject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Request(txn) => txn.fmt(f),
            Self::Task(task) => task.fmt(f),
        }
    }
}

impl MessageSubject {
    pub const fn kind(self) -> SubjectKind {
        match self {
            Self::Request(_) => SubjectKind::Request,
            Self::Task(_) => SubjectKind::Task,
        }
    }

    /// Reads the next two columns: the kind and the id.
    pub(crate) fn read(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(match row.take("subject")? {
            SubjectKind::Request => Self::Request(row.take("txn_id")?),
            SubjectKind::Task => Self::Task(row.take("task_id")?),
        })
    }
}

impl Bind for MessageSubject {
    const NULL: Value = Value::Text(None);

    fn bind(self) -> Value {
        match self {
            Self::Request(txn) => txn.bind(),
            Self::Task(task) => task.bind(),
        }
    }
}

impl SubjectKind {
    /// Names in a statement about requests, and their replacements.
    const fn names(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Request => &[],
            Self::Task => &[
                ("chat_messages", "task_messages"),
                ("announcements", "task_announcements"),
                ("txn_id", "task_id"),
                ("'request'", "'task'"),
            ],
        }
    }

    /// The statement about this kind, from the one about requests.
    pub(crate) fn statement(self, about_requests: SqlQuery) -> SqlQuery {
        about_requests.renamed(self.names())
    }

    /// The text about this kind, from the one about requests.
    pub(crate) fn text(self, about_requests: &'static str) -> Cow<'static, str> {
        self.names()
            .iter()
            .fold(Cow::Borrowed(about_requests), |text, (from, to)| text.replace(from, to).into())
    }
}
