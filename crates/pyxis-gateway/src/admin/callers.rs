//! Who asks: a person, by a session or by a token of theirs.

use pyxis_core::approval_mode::Role;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::WorkspaceId;
use pyxis_store::access_tokens::AccessTokenRow;
use pyxis_store::users::UserRow;

use crate::approvals::decide::Approver;
use crate::error::{Error, Result};
use crate::identity::actor::Actor;

/// A person, and the token by which they ask, if it is not a session.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who it is, as of now.
    pub user: UserRow,
    /// The personal access token; `None` is a session.
    pub token: Option<AccessTokenRow>,
}

impl Caller {
    /// Their workspace.
    pub fn workspace(&self) -> WorkspaceId {
        self.user.workspace_id
    }

    /// As the maker of changes. A token is named beside the person.
    pub fn actor(&self) -> Actor {
        let mut actor = Actor::user(self.workspace(), self.user.id, &self.user.email);
        if let Some(token) = &self.token {
            actor.name = format!("{} (token {})", self.user.email, token.name);
        }
        actor
    }

    /// As a decider.
    pub fn approver(&self, surface: DecisionSurface) -> Approver {
        Approver {
            workspace: self.workspace(),
            user: self.user.id,
            email: self.user.email.clone(),
            role: self.user.role,
            surface,
        }
    }

    /// Refuses whoever is not an owner or admin.
    pub fn require_manager(&self) -> Result<()> {
        if self.user.role.is_manager() { Ok(()) } else { Err(Error::Forbidden("for owners and admins")) }
    }

    /// True if this is an owner.
    pub fn is_owner(&self) -> bool {
        self.user.role == Role::Owner
    }
}
