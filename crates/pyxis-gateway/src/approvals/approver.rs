//! The person who decides.

use pyxis_core::approval_mode::Role;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{UserId, WorkspaceId};

/// A deciding person and how they decide.
#[derive(Clone, Debug)]
pub struct Approver {
    /// Workspace of the person. Nothing outside it is visible.
    pub workspace: WorkspaceId,
    pub user: UserId,
    /// Email address.
    pub email: String,
    /// Role in the workspace.
    pub role: Role,
    /// Interface on which the decision was made.
    pub surface: DecisionSurface,
}
