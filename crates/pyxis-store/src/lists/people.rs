//! The lists of people, and of a member's rights.

use pyxis_core::id::{UserId, WorkspaceId};

use super::{Direction, ListSpec, SortKey};
use crate::StoreError;
use crate::db::{FromRow, Row};
use crate::users::{UserRow, user_columns};

item! {
    /// A person in a list.
    PersonItem: UserRow {
        /// Number of credentials on which a member has rights.
        rights: i64,
    }
}

macro_rules! rights_count {
    () => {
        "(SELECT count(*) FROM member_rights WHERE member_rights.user_id = users.id)"
    };
}

impl PersonItem {
    /// Email address, ignoring case.
    pub const EMAIL: SortKey<Self> = SortKey::exact("email_folded");
    /// Name of the role.
    pub const ROLE: SortKey<Self> = SortKey::exact("role");
    /// Disabled people, then enabled ones.
    pub const STATE: SortKey<Self> = SortKey::number("disabled_at IS NULL");
    /// Managers, who may decide everything, then members by their number of credentials.
    pub const RIGHTS: SortKey<Self> =
        SortKey::number(concat!("CASE WHEN role = 'member' THEN ", rights_count!(), " ELSE -1 END"));
    /// Time of the last sign-in.
    pub const LAST_SIGN_IN: SortKey<Self> = SortKey::number("last_sign_in_at");
    /// Creation time.
    pub const CREATED: SortKey<Self> = SortKey::number("created_at");
}

/// Everyone in a workspace.
pub fn people(workspace: WorkspaceId) -> ListSpec<PersonItem> {
    ListSpec::new(
        concat!(user_columns!(), ", ", rights_count!()),
        " FROM users WHERE workspace_id = $1",
        &["email"],
        (SortKey::exact("id"), Direction::Ascending),
    )
    .bind(workspace)
}

/// Rights of a member on a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RightItem {
    /// Name of the credential.
    pub credential: String,
    /// True if the member may decide its approval requests.
    pub can_approve: bool,
    /// True if the member may propose policy changes.
    pub can_edit_policy: bool,
}

impl FromRow for RightItem {
    const TABLE: &'static str = "member_rights";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            credential: row.take("name")?,
            can_approve: row.take("can_approve")?,
            can_edit_policy: row.take("can_edit_policy")?,
        })
    }
}

/// Rights of a member. A search looks at the credential's name.
pub fn rights(workspace: WorkspaceId, user: UserId) -> ListSpec<RightItem> {
    ListSpec::new(
        "credentials.name, can_approve, can_edit_policy",
        " FROM member_rights JOIN credentials ON credentials.id = member_rights.credential_id \
         WHERE member_rights.workspace_id = $1 AND member_rights.user_id = $2",
        &["credentials.name"],
        (SortKey::exact("credentials.id"), Direction::Ascending),
    )
    .bind(workspace)
    .bind(user)
}
