//! Authenticated callers: people, with a session or a personal access token.

use pyxis_core::approval_mode::Role;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::WorkspaceId;
use pyxis_store::access_tokens::AccessTokenRow;
use pyxis_store::users::UserRow;

use crate::approvals::decide::Approver;
use crate::error::{Error, Result};
use pyxis_core::actor::Actor;

/// A person, with the access token used, if it was not a session.
#[derive(Clone, Debug)]
pub struct Caller {
    /// User row at request time.
    pub user: UserRow,
    /// Personal access token; `None` for a session.
    pub token: Option<AccessTokenRow>,
}

impl Caller {
    /// Workspace of the person.
    pub fn workspace(&self) -> WorkspaceId {
        self.user.workspace_id
    }

    /// The actor for changes. With a token, its name is added to the person's.
    pub fn actor(&self) -> Actor {
        let mut actor = Actor::user(self.workspace(), self.user.id, &self.user.email);
        if let Some(token) = &self.token {
            actor.name = format!("{} (token {})", self.user.email, token.name);
        }
        actor
    }

    pub fn approver(&self, surface: DecisionSurface) -> Approver {
        Approver {
            workspace: self.workspace(),
            user: self.user.id,
            email: self.user.email.clone(),
            role: self.user.role,
            surface,
        }
    }

    /// Fails unless the caller is an owner or admin.
    pub fn require_manager(&self) -> Result<()> {
        if self.user.role.is_manager() {
            Ok(())
        } else {
            Err(Error::Forbidden("only owners and admins can do this"))
        }
    }

    pub fn is_owner(&self) -> bool {
        self.user.role == Role::Owner
    }
}
