//! The list of trusted issuers.

use pyxis_core::id::WorkspaceId;

use super::{Direction, ListSpec, SortKey};
use crate::issuers::{IssuerRow, issuer_columns};

impl IssuerRow {
    /// Name, ignoring case.
    pub const NAME: SortKey<Self> = SortKey::text("name");
    /// DID, ignoring case.
    pub const DID: SortKey<Self> = SortKey::text("did");
    /// Creation time.
    pub const CREATED: SortKey<Self> = SortKey::number("created_at");
}

/// Issuers that a workspace trusts.
pub fn issuers(workspace: WorkspaceId) -> ListSpec<IssuerRow> {
    ListSpec::new(
        issuer_columns!(),
        " FROM issuers WHERE workspace_id = $1",
        &["name", "did"],
        (SortKey::exact("did"), Direction::Ascending),
    )
    .bind(workspace)
}
