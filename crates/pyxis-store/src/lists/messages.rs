//! The list of chat messages that could not be shown as desired.

use pyxis_core::id::WorkspaceId;

use super::{Direction, ListSpec, SortKey};
use crate::chat_messages::{ChatMessageRow, chat_message_columns};

impl ChatMessageRow {
    /// Name of the platform.
    pub const PLATFORM: SortKey<Self> = SortKey::text("platform");
    /// Chat, ignoring case.
    pub const CHAT: SortKey<Self> = SortKey::text("chat");
    /// Problem, ignoring case.
    pub const ERROR: SortKey<Self> = SortKey::text("error");
    /// Request or task that it is about.
    pub const SUBJECT: SortKey<Self> = SortKey::exact("subject_id");
    /// Creation time.
    pub const CREATED: SortKey<Self> = SortKey::number("created_at");
}

/// Messages of a workspace that could not be shown as desired, newest first unless sorted.
pub fn failing_messages(workspace: WorkspaceId) -> ListSpec<ChatMessageRow> {
    ListSpec::new(
        chat_message_columns!("subject, subject_id"),
        concat!(
            " FROM (SELECT ",
            chat_message_columns!("'request' AS subject, txn_id AS subject_id"),
            " FROM chat_messages WHERE workspace_id = $1 AND error IS NOT NULL UNION ALL SELECT ",
            chat_message_columns!("'task' AS subject, task_id AS subject_id"),
            " FROM task_messages WHERE workspace_id = $1 AND error IS NOT NULL) AS messages WHERE error IS NOT NULL",
        ),
        &["platform", "chat", "subject_id", "error"],
        (SortKey::exact("id"), Direction::Descending),
    )
    .bind(workspace)
}
