//! Authors of changes and of other recorded events.

use std::fmt;

use crate::id::{AgentId, UserId, WorkspaceId};

/// The author of a change, within one workspace.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The workspace being changed.
    pub workspace: WorkspaceId,
    pub id: ActorId,
    /// E-mail address, or the name of a non-person author, such as `command line`.
    pub name: String,
}

impl Actor {
    /// A signed-in person.
    pub fn user(workspace: WorkspaceId, user: UserId, email: &str) -> Self {
        Self { workspace, id: ActorId::User(user), name: email.to_owned() }
    }

    /// The person; `None` for the command line.
    pub const fn user_id(&self) -> Option<UserId> {
        match self.id {
            ActorId::User(user) => Some(user),
            ActorId::Agent(_) | ActorId::Cli | ActorId::System | ActorId::Other(_) => None,
        }
    }

    pub fn agent(workspace: WorkspaceId, agent: AgentId, name: &str) -> Self {
        Self { workspace, id: ActorId::Agent(agent), name: name.to_owned() }
    }

    /// The command line on the server's machine.
    pub fn cli(workspace: WorkspaceId) -> Self {
        Self { workspace, id: ActorId::Cli, name: "command line".to_owned() }
    }
}

/// The id of an author, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActorId {
    /// A person: `user:<id>`.
    User(UserId),
    /// An agent: `agent:<id>`.
    Agent(AgentId),
    /// The command line: `cli`.
    Cli,
    /// The server itself: `system`.
    System,
    /// An account of a chat platform, an issuer, or an author that only a newer version knows.
    Other(String),
}

impl Default for ActorId {
    /// No author.
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(id) => write!(f, "user:{id}"),
            Self::Agent(id) => write!(f, "agent:{id}"),
            Self::Cli => f.write_str("cli"),
            Self::System => f.write_str("system"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<String> for ActorId {
    /// Every text is an author, and is written again as it was: the audit trail covers its bytes.
    fn from(text: String) -> Self {
        let known = match text.split_once(':') {
            Some(("user", id)) => id.parse().ok().map(Self::User),
            Some(("agent", id)) => id.parse().ok().map(Self::Agent),
            None if text == "cli" => Some(Self::Cli),
            None if text == "system" => Some(Self::System),
            _ => None,
        };
        // An id is read in either case, and written in lower case.
        match known {
            Some(known) if !text.bytes().any(|byte| byte.is_ascii_uppercase()) => known,
            _ => Self::Other(text),
        }
    }
}

impl From<&str> for ActorId {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_written_again_as_it_was_read() {
        const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
        let (user, agent) = (format!("user:{ID}"), format!("agent:{ID}"));
        assert_eq!(ActorId::from(user.as_str()), ActorId::User(ID.parse().unwrap()));
        assert_eq!(ActorId::from(agent.as_str()), ActorId::Agent(ID.parse().unwrap()));
        assert_eq!((ActorId::from("cli"), ActorId::from("system")), (ActorId::Cli, ActorId::System));
        let upper = format!("user:{}", ID.to_uppercase());
        for text in [&user, &agent, &upper, "cli", "CLI", "system", "telegram:42", "user:x", "robot:1", ""] {
            assert_eq!(ActorId::from(text).to_string(), text);
        }
    }
}
