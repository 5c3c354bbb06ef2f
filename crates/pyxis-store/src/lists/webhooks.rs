//! The list of webhook endpoints.

use pyxis_core::id::WorkspaceId;

use super::{Direction, ListSpec, SortKey};
use crate::webhooks::{WebhookRow, webhook_columns};

item! {
    /// An endpoint in a list, with its numbers of deliveries.
    WebhookItem: WebhookRow {
        /// Deliveries that will be attempted.
        pending: i64,
        /// Deliveries that the endpoint accepted.
        delivered: i64,
        /// Deliveries that were given up.
        failed: i64,
    }
}

macro_rules! deliveries {
    ($status:literal) => {
        concat!(
            "(SELECT count(*) FROM deliveries WHERE deliveries.workspace_id = webhooks.workspace_id \
             AND deliveries.webhook_id = webhooks.id AND status = '",
            $status,
            "')"
        )
    };
}

impl WebhookItem {
    /// URL, ignoring case.
    pub const URL: SortKey<Self> = SortKey::text("url");
    /// Description, ignoring case.
    pub const DESCRIPTION: SortKey<Self> = SortKey::text("description");
    /// Disabled endpoints, then enabled ones.
    pub const STATE: SortKey<Self> = SortKey::number("disabled_at IS NULL");
    /// Subscribed events.
    pub const EVENTS: SortKey<Self> = SortKey::text("events");
    /// Accepted deliveries.
    pub const DELIVERED: SortKey<Self> = SortKey::number(deliveries!("delivered"));
    /// Pending deliveries.
    pub const PENDING: SortKey<Self> = SortKey::number(deliveries!("pending"));
    /// Failed deliveries.
    pub const FAILED: SortKey<Self> = SortKey::number(deliveries!("failed"));
    /// Creation time.
    pub const CREATED: SortKey<Self> = SortKey::number("created_at");
}

/// Endpoints of a workspace.
pub fn webhooks(workspace: WorkspaceId) -> ListSpec<WebhookItem> {
    ListSpec::new(
        concat!(
            webhook_columns!(),
            ", ",
            deliveries!("pending"),
            ", ",
            deliveries!("delivered"),
            ", ",
            deliveries!("failed")
        ),
        " FROM webhooks WHERE workspace_id = $1",
        &["url", "description"],
        (SortKey::exact("id"), Direction::Ascending),
    )
    .bind(workspace)
}
