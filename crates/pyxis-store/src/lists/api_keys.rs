//! The lists of API keys and of requests for access to history.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, WorkspaceId};

use super::{Direction, ListSpec, SortKey};
use crate::api_keys::{ApiKeyRow, key_columns};
use crate::history_requests::{HistoryRequestRow, history_request_columns};

item! {
    /// An API key in a list.
    ApiKeyItem: ApiKeyRow {
        /// Requests to the Stamps endpoints in the current window.
        used: i64,
    }
}

impl ApiKeyItem {
    /// Name, ignoring case.
    pub const NAME: SortKey<Self> = SortKey::text("name");
    /// Start of the key.
    pub const HINT: SortKey<Self> = SortKey::text("key_hint");
    /// Live keys, then revoked ones.
    pub const STATE: SortKey<Self> = SortKey::number("revoked_at IS NOT NULL");
    /// Permissions: keys without any, then by history, reading and writing.
    pub const PERMISSIONS: SortKey<Self> = SortKey::number(
        "CASE WHEN can_read THEN 4 ELSE 0 END + CASE WHEN can_write THEN 2 ELSE 0 END \
         + CASE WHEN can_read_history THEN 1 ELSE 0 END",
    );
    /// Tier of the Stamps endpoints, then the key's own limit: by the number of requests that it stands for.
    pub const BUDGET: SortKey<Self> =
        SortKey::number("stamps_tier * 1000000000000 + coalesce(stamps_limit, 0)");
    /// Requests in the current window.
    pub const USED: SortKey<Self> = SortKey::number("coalesce(used, 0)");
    /// Time of the last request.
    pub const LAST_USED: SortKey<Self> = SortKey::number(
        "coalesce((SELECT max(last_at) FROM usage_windows WHERE api_key_id = api_keys.id), last_used_at)",
    );
    /// Creation time.
    pub const CREATED: SortKey<Self> = SortKey::number("created_at");
}

/// API keys of a workspace. `window_start` is the start of the current window.
pub fn api_keys(workspace: WorkspaceId, window_start: UnixMillis) -> ListSpec<ApiKeyItem> {
    ListSpec::new(
        concat!(key_columns!(), ", coalesce(used, 0)"),
        " FROM api_keys LEFT JOIN (SELECT api_key_id, admitted AS used FROM usage_windows \
         WHERE surface = 'stamps' AND window_start_at = $1) AS counted ON counted.api_key_id = api_keys.id \
         WHERE workspace_id = $2",
        &["name", "key_hint"],
        (SortKey::exact("id"), Direction::Ascending),
    )
    .bind(window_start)
    .bind(workspace)
}

item! {
    /// A request for access to history in a list.
    HistoryRequestItem: HistoryRequestRow {
        /// Name of the API key.
        key: String,
    }
}

macro_rules! key_name {
    () => {
        "(SELECT name FROM api_keys WHERE api_keys.id = history_requests.api_key_id)"
    };
}

impl HistoryRequestItem {
    /// Name of the API key, ignoring case.
    pub const KEY: SortKey<Self> = SortKey::text(key_name!());
    /// Use case, ignoring case.
    pub const USE_CASE: SortKey<Self> = SortKey::text("use_case");
    /// Person who requested it.
    pub const REQUESTED_BY: SortKey<Self> = SortKey::text("requested_by");
    /// Creation time.
    pub const REQUESTED: SortKey<Self> = SortKey::number("created_at");
    /// Name of the state.
    pub const STATE: SortKey<Self> = SortKey::exact("state");
    /// Person who decided it.
    pub const DECIDED_BY: SortKey<Self> = SortKey::text("coalesce(decided_by, '')");
    /// Time of the decision.
    pub const DECIDED: SortKey<Self> = SortKey::number("decided_at");
}

/// Requests for access to history in a workspace, decided or not, newest first unless sorted; only those of `key`, if
/// one is named.
pub fn history_requests(workspace: WorkspaceId, key: Option<ApiKeyId>) -> ListSpec<HistoryRequestItem> {
    ListSpec::new(
        concat!(history_request_columns!(), ", ", key_name!()),
        " FROM history_requests WHERE workspace_id = $1",
        &[key_name!(), "use_case", "requested_by"],
        (SortKey::exact("id"), Direction::Descending),
    )
    .bind(workspace)
    .only(" AND api_key_id = ?", key)
}
