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
    /// Request that it is about.
    pub const TXN: SortKey<Self> = SortKey::exact("txn_id");
    /// Creation time.
    pub const CREATED: SortKey<Self> = SortKey::number("created_at");
}

/// Messages of a workspace that could not be shown as desired, newest first unless sorted.
pub fn failing_messages(workspace: WorkspaceId) -> ListSpec<ChatMessageRow> {
    ListSpec::new(
        chat_message_columns!(),
        " FROM chat_messages WHERE workspace_id = $1 AND error IS NOT NULL",
        &["platform", "chat", "txn_id", "error"],
        (SortKey::exact("id"), Direction::Descending),
    )
    .bind(workspace)
}
