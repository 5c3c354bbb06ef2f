//! The person who decides.

use pyxis_core::approval_mode::Role;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{UserId, WorkspaceId};

/// A person who decides, and the surface that carries the decision.
#[derive(Clone, Debug)]
pub struct Approver {
    /// Their workspace: nothing outside it exists for them.
    pub workspace: WorkspaceId,
    /// The person.
    pub user: UserId,
    /// Their e-mail address.
    pub email: String,
    /// Their role.
    pub role: Role,
    /// The surface.
    pub surface: DecisionSurface,
}
