//! The list of stored credentials with their policies.

use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::id::{CredentialId, WorkspaceId};

use super::{Direction, ListSpec, SortKey};
use crate::Engine;
use crate::credentials::{CredentialRow, credential_columns};

item! {
    /// A credential in a list.
    CredentialItem: CredentialRow {
        /// Its policy as JSON.
        policy: Option<String>,
        /// Mode of the workspace, which applies without a policy.
        mode: ApprovalMode,
    }
}

macro_rules! policy {
    () => {
        "(SELECT document FROM policies WHERE policies.credential_id = credentials.id)"
    };
}

impl CredentialItem {
    /// Name, ignoring case.
    pub const NAME: SortKey<Self> = SortKey::exact("name_folded");
    /// Description, ignoring case.
    pub const DESCRIPTION: SortKey<Self> = SortKey::text("description");
    /// Kind, then its configuration.
    pub const KIND: SortKey<Self> = SortKey::text("connector || ' ' || coalesce(auth, '')");
    /// Allowed hosts.
    pub const HOSTS: SortKey<Self> = SortKey::text("allowed_hosts");
    /// Credentials with a policy, then those without one.
    pub const POLICY: SortKey<Self> = SortKey::number(concat!(policy!(), " IS NULL"));
    /// The policy as stored.
    pub const RULES: SortKey<Self> = SortKey::text(concat!("coalesce(", policy!(), ", '')"));
    /// Time of the last request.
    pub const LAST_USED: SortKey<Self> = SortKey::number("last_used_at");
    /// Creation time.
    pub const CREATED: SortKey<Self> = SortKey::number("created_at");
}

/// Credentials of a workspace; only those in `among`, if any are named.
pub fn credentials(
    engine: Engine,
    workspace: WorkspaceId,
    among: Option<Vec<CredentialId>>,
) -> ListSpec<CredentialItem> {
    ListSpec::new(
        concat!(
            credential_columns!(),
            ", ",
            policy!(),
            ", (SELECT mode FROM workspaces WHERE workspaces.id = credentials.workspace_id)"
        ),
        " FROM credentials WHERE workspace_id = $1",
        &["name", "description", "allowed_hosts"],
        (SortKey::exact("id"), Direction::Ascending),
    )
    .bind(workspace)
    .among(engine, "id", among)
}
