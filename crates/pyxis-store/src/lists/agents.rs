//! The list of agents.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use super::{Direction, ListSpec, SortKey};
use crate::agents::{AgentRow, agent_columns};

item! {
    /// An agent in a list.
    AgentItem: AgentRow {
        /// Requests counted against its limit in the current hour.
        used: i64,
        /// Names of the credentials assigned to it: `billing-api, mail`. `None` if there are none.
        credentials: Option<String>,
    }
}

macro_rules! credential_names {
    () => {
        "(SELECT string_agg(credentials.name, ', ' ORDER BY credentials.name_folded) FROM agent_credentials \
         JOIN credentials ON credentials.id = agent_credentials.credential_id \
         WHERE agent_credentials.agent_id = agents.id)"
    };
}

impl AgentItem {
    /// Name, ignoring case.
    pub const NAME: SortKey<Self> = SortKey::exact("name_folded");
    /// Start of the key.
    pub const KEY: SortKey<Self> = SortKey::text("key_hint");
    /// Disabled agents, then enabled ones.
    pub const STATE: SortKey<Self> = SortKey::number("disabled_at IS NULL");
    /// Agents with all credentials, then agents with none, then others by the names.
    pub const CREDENTIALS: SortKey<Self> = SortKey::text(concat!(
        "CASE WHEN all_credentials THEN '' ELSE coalesce(",
        credential_names!(),
        ", ' ') END"
    ));
    /// Requests in the current hour.
    pub const USED: SortKey<Self> = SortKey::number("coalesce(used, 0)");
    /// Requests per hour; agents without a limit first.
    pub const LIMIT: SortKey<Self> = SortKey::number("rate_limit_per_hour");
    /// Time of the last request.
    pub const LAST_USED: SortKey<Self> = SortKey::number("last_used_at");
}

/// Agents of a workspace. `hour_start` is the start of the current hour.
pub fn agents(workspace: WorkspaceId, hour_start: UnixMillis) -> ListSpec<AgentItem> {
    ListSpec::new(
        concat!(agent_columns!(), ", coalesce(used, 0), ", credential_names!()),
        " FROM agents LEFT JOIN (SELECT agent_id, count AS used FROM rate_windows WHERE window_start_at = $1) \
         AS counted ON counted.agent_id = agents.id WHERE workspace_id = $2",
        &["name", "key_hint"],
        (SortKey::exact("id"), Direction::Ascending),
    )
    .bind(hour_start)
    .bind(workspace)
}
