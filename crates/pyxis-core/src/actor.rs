//! Authors of administrative changes.

use crate::id::{UserId, WorkspaceId};

/// The author of a change, within one workspace.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The workspace being changed.
    pub workspace: WorkspaceId,
    /// `user:<id>` or `cli`.
    pub id: String,
    /// E-mail address, or the name of a non-person author, such as `command line`.
    pub name: String,
}

impl Actor {
    /// A signed-in person.
    pub fn user(workspace: WorkspaceId, user: UserId, email: &str) -> Self {
        Self { workspace, id: format!("user:{user}"), name: email.to_owned() }
    }

    /// The person; `None` for the command line.
    pub fn user_id(&self) -> Option<UserId> {
        self.id.strip_prefix("user:")?.parse().ok()
    }

    /// The command line on the server's machine.
    pub fn cli(workspace: WorkspaceId) -> Self {
        Self { workspace, id: "cli".to_owned(), name: "command line".to_owned() }
    }
}
