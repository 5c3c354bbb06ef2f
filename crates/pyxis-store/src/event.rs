//! Events that other parts of the program wait for.

use pyxis_core::id::{TaskId, TxnId, WorkspaceId};

/// A change notification. It is only a hint to read again; the rows are authoritative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreEvent {
    /// An approval was created, or its state changed.
    Approval {
        /// Workspace of the approval.
        workspace: WorkspaceId,
        /// Transaction id of the approval.
        txn: TxnId,
    },
    /// A task was proposed, or its state changed.
    Task {
        /// Workspace of the task.
        workspace: WorkspaceId,
        task: TaskId,
    },
    /// A task was used. Older nodes read this as [`Self::Unknown`].
    TaskUse {
        /// Workspace of the task.
        workspace: WorkspaceId,
        task: TaskId,
    },
    /// Configuration changed (see [`crate::generations`]).
    Configuration,
    /// Another process changed something, or events may have been missed. Check everything that you wait for.
    Unknown,
}

/// PostgreSQL notification channel.
pub(crate) const CHANNEL: &str = "pyxis";

impl StoreEvent {
    pub(crate) fn to_payload(self) -> String {
        match self {
            Self::Approval { workspace, txn } => format!("approval {workspace} {txn}"),
            Self::Task { workspace, task } => format!("task {workspace} {task}"),
            Self::TaskUse { workspace, task } => format!("task_use {workspace} {task}"),
            Self::Configuration => "configuration".to_owned(),
            Self::Unknown => "unknown".to_owned(),
        }
    }

    pub(crate) fn from_payload(text: &str) -> Self {
        let mut words = text.split(' ');
        let (kind, workspace) = (words.next(), words.next().map(str::parse));
        match (kind, workspace, words.next()) {
            (Some("approval"), Some(Ok(workspace)), Some(txn)) => {
                txn.parse().map_or(Self::Unknown, |txn| Self::Approval { workspace, txn })
            }
            (Some("task"), Some(Ok(workspace)), Some(task)) => {
                task.parse().map_or(Self::Unknown, |task| Self::Task { workspace, task })
            }
            (Some("task_use"), Some(Ok(workspace)), Some(task)) => {
                task.parse().map_or(Self::Unknown, |task| Self::TaskUse { workspace, task })
            }
            (Some("configuration"), None, None) => Self::Configuration,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;

    use super::*;

    #[test]
    fn an_event_is_read_as_it_was_written_and_an_unknown_one_wakes_everything() {
        let (at, entropy) = (UnixMillis(0), SeededEntropy::new(1));
        let (workspace, task) = (WorkspaceId::new(at, &entropy), TaskId::new(at, &entropy));
        let txn = "7b1f9c2e-0000-4000-8000-000000000001".parse().unwrap();
        for event in [
            StoreEvent::Approval { workspace, txn },
            StoreEvent::Task { workspace, task },
            StoreEvent::TaskUse { workspace, task },
            StoreEvent::Configuration,
            StoreEvent::Unknown,
        ] {
            assert_eq!(StoreEvent::from_payload(&event.to_payload()), event);
        }
        for text in ["", "task_use", "task_use x y", "later 1 2"] {
            assert_eq!(StoreEvent::from_payload(text), StoreEvent::Unknown, "{text}");
        }
    }
}
