//! The lists of active grants and of proposed policies.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{StagedPolicyId, UserId, WorkspaceId};

use super::{Direction, ListSpec, SortKey};
use crate::StoreError;
use crate::db::{FromRow, Row};
use crate::grants::{GrantRow, grant_columns};

item! {
    /// A grant in a list.
    GrantItem: GrantRow {
        /// Name of its credential. `None` after the credential was removed.
        credential: Option<String>,
        /// Name of the only agent that it covers.
        agent: Option<String>,
    }
}

macro_rules! credential_name {
    () => {
        "(SELECT name FROM credentials WHERE credentials.id = grants.credential_id)"
    };
}

macro_rules! agent_name {
    () => {
        "(SELECT name FROM agents WHERE agents.id = grants.agent_id)"
    };
}

/// Agents in words, as people read and search them.
macro_rules! agent_words {
    () => {
        concat!(
            "CASE WHEN agent_id IS NULL THEN 'any agent' ELSE coalesce(",
            agent_name!(),
            ", '?') || ' only' END"
        )
    };
}

impl GrantItem {
    /// HTTP method.
    pub const METHOD: SortKey<Self> = SortKey::text("method");
    /// Route without `https://`.
    pub const ROUTE: SortKey<Self> = SortKey::text("replace(route, 'https://', '')");
    /// Name of the credential, ignoring case.
    pub const CREDENTIAL: SortKey<Self> = SortKey::text(concat!("coalesce(", credential_name!(), ", '?')"));
    /// Agents in words.
    pub const AGENTS: SortKey<Self> = SortKey::text(agent_words!());
    /// Email address of the user who opened it.
    pub const OPENED_BY: SortKey<Self> = SortKey::text("created_by_email");
    /// Number of uses.
    pub const USES: SortKey<Self> = SortKey::number("uses");
    /// Expiry time.
    pub const EXPIRES: SortKey<Self> = SortKey::number("expires_at");
}

/// Active grants of a workspace, newest first unless sorted.
pub fn grants(workspace: WorkspaceId, now: UnixMillis) -> ListSpec<GrantItem> {
    ListSpec::new(
        concat!(grant_columns!(), ", ", credential_name!(), ", ", agent_name!()),
        " FROM grants WHERE workspace_id = $1 AND ended_at IS NULL AND expires_at > $2",
        &[
            concat!("coalesce(", credential_name!(), ", '?')"),
            "replace(route, 'https://', '')",
            "method",
            concat!("(", agent_words!(), ")"),
            "created_by_email",
        ],
        (SortKey::exact("id"), Direction::Descending),
    )
    .bind(workspace)
    .bind(now)
}

/// A proposed policy in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedItem {
    /// Unique identifier.
    pub id: StagedPolicyId,
    /// Name of its credential.
    pub credential: String,
    /// Email address of the user who proposed it.
    pub by: String,
    /// Creation time.
    pub created_at: UnixMillis,
}

impl FromRow for StagedItem {
    const TABLE: &'static str = "staged_policies";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.take("id")?,
            credential: row.take("name")?,
            by: row.take("email")?,
            created_at: row.take("created_at")?,
        })
    }
}

impl StagedItem {
    /// Name of the credential, ignoring case.
    pub const CREDENTIAL: SortKey<Self> = SortKey::exact("credentials.name_folded");
    /// Email address of the user, ignoring case.
    pub const PROPOSED_BY: SortKey<Self> = SortKey::exact("users.email_folded");
    /// Creation time.
    pub const PROPOSED: SortKey<Self> = SortKey::number("staged_policies.created_at");
}

/// Proposed policies that have not expired, newest first unless sorted; only those of `user`, if one is named.
pub fn staged_policies(
    workspace: WorkspaceId,
    user: Option<UserId>,
    now: UnixMillis,
) -> ListSpec<StagedItem> {
    let list = ListSpec::new(
        "staged_policies.id, credentials.name, users.email, staged_policies.created_at",
        " FROM staged_policies JOIN credentials ON credentials.id = staged_policies.credential_id \
         JOIN users ON users.id = staged_policies.user_id \
         WHERE staged_policies.workspace_id = $1 AND staged_policies.expires_at > $2",
        &["credentials.name", "users.email"],
        (SortKey::exact("staged_policies.id"), Direction::Descending),
    );
    list.bind(workspace).bind(now).only(" AND staged_policies.user_id = ?", user)
}
