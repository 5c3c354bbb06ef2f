//! Refusals of managers' operations, the same for every interface.

use std::fmt;

use crate::BoxError;
use crate::nearest::suggestion;

/// Outcome of a manager's operation.
pub type Result<T, E = AdminError> = std::result::Result<T, E>;

/// A failed operation of a manager. Each variant is something that the caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// No such item in this workspace.
    #[error("not found: {0}")]
    NotFound(Missing),
    /// The person may not do this.
    #[error("forbidden: {0}")]
    Forbidden(&'static str),
    /// The item's state does not allow this.
    #[error("conflict: {0}")]
    Conflict(&'static str),
    /// Someone else changed the item since it was read.
    #[error("changed in the meantime: revision {revision} is in force; read it and try again")]
    Changed {
        /// The current revision.
        revision: i64,
    },
    /// A well-formed request with an invalid value.
    #[error("invalid field {field}: {detail}")]
    InvalidField {
        /// Name of the field.
        field: String,
        /// The problem and how to fix it.
        detail: String,
    },
    /// Other transactions kept changing the same rows.
    #[error("too busy: others are changing the same item; try again")]
    Busy,
    /// A chain's indexer returned no activity.
    #[error("the indexer of {0} does not respond; try again later")]
    Source(&'static str),
    /// Something that the change needs does not respond. Nothing was changed.
    #[error("{what} does not respond")]
    Unavailable {
        /// With its article, for example `the database`.
        what: &'static str,
        /// Reason, for the log.
        source: BoxError,
    },
    /// A fault of the server.
    #[error("internal error")]
    Internal(#[source] BoxError),
}

impl AdminError {
    /// No item of this kind has the id that the caller sent.
    pub fn not_found(kind: &'static str) -> Self {
        Self::NotFound(Missing::new(kind))
    }

    /// The value of `field` is invalid.
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::InvalidField { field: field.into(), detail: detail.into() }
    }

    /// A fault of the server with this cause.
    pub fn internal(cause: impl Into<BoxError>) -> Self {
        Self::Internal(cause.into())
    }
}

/// An item that does not exist, or belongs to another workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    kind: &'static str,
    /// The requested name with its suggestion, if the caller sent a name.
    name: Option<String>,
}

impl Missing {
    /// An item of a kind, for example `agent`.
    pub const fn new(kind: &'static str) -> Self {
        Self { kind, name: None }
    }

    /// An item with a name, and the nearest of the names that exist.
    pub fn with_name<'k>(kind: &'static str, name: &str, known: impl IntoIterator<Item = &'k str>) -> Self {
        Self { kind, name: Some(format!("{name}{}", suggestion(name, known))) }
    }

    /// An item with an id that people do not spell, such as a number, and the items that exist.
    pub fn among(kind: &'static str, id: impl fmt::Display, known: impl IntoIterator<Item = String>) -> Self {
        let known: Vec<String> = known.into_iter().collect();
        let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Self { kind, name: Some(format!("{id}; known: {list}")) }
    }

    /// Kind of the item.
    pub const fn kind(&self) -> &'static str {
        self.kind
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} {name}", self.kind),
            None => f.write_str(self.kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_item_is_named_with_the_nearest_one_that_exists() {
        assert_eq!(AdminError::not_found("agent").to_string(), "not found: agent");
        let named = |name| Missing::with_name("credential", name, ["stripe", "github"]);
        let missing = AdminError::NotFound(named("strpe")).to_string();
        assert_eq!(missing, "not found: credential strpe (did you mean stripe?)");
        assert_eq!(named("mail").to_string(), "credential mail");
        let numbered = |known: &[&str]| Missing::among("scorer", 9, known.iter().map(|&one| one.to_owned()));
        assert_eq!(numbered(&["1 (main)", "2 (test)"]).to_string(), "scorer 9; known: 1 (main), 2 (test)");
        assert_eq!(numbered(&[]).to_string(), "scorer 9; known: none");
    }
}
