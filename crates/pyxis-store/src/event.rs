//! Events that other parts of the program wait for.

use pyxis_core::id::{TxnId, WorkspaceId};

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
            Self::Configuration => "configuration".to_owned(),
            Self::Unknown => "unknown".to_owned(),
        }
    }

    pub(crate) fn from_payload(text: &str) -> Self {
        let mut words = text.split(' ');
        match (words.next(), words.next().map(str::parse), words.next().map(str::parse)) {
            (Some("approval"), Some(Ok(workspace)), Some(Ok(txn))) => Self::Approval { workspace, txn },
            (Some("configuration"), None, None) => Self::Configuration,
            _ => Self::Unknown,
        }
    }
}
