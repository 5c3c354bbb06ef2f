//! Reasons that typed data cannot be hashed.

/// A problem with typed data. Positions are written `order.items[0].price`; names in them may come from an untrusted
/// source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Not JSON, or not an object with `types`, `primaryType`, `domain` and `message`.
    #[error("not typed data: an object with types, primaryType, domain and message")]
    Form,
    /// The types are invalid or ambiguous.
    #[error("bad types: {0}")]
    Types(&'static str),
    /// The type is neither standard nor defined.
    #[error("{0} is neither a standard type nor defined in types")]
    UnknownType(String),
    /// A member of the type is missing.
    #[error("{0} is missing")]
    Missing(String),
    /// A name occurs twice in one object. Parsers disagree on which one counts.
    #[error("the key {0} occurs twice in one object; keep one of the two")]
    Twice(String),
    /// The value is not allowed by its type.
    #[error("{path} must be {expected}")]
    Value {
        /// Position of the value.
        path: String,
        /// Description of the expected value.
        expected: &'static str,
    },
    /// The types do not name the member, so it would not be signed.
    #[error("{0} is not part of its type, so it would not be signed; remove it or add it to the type")]
    Unsigned(String),
    /// Too many types or members.
    #[error("too many types or members")]
    TooComplex,
    /// Too long to be read by a person.
    #[error("more than {most} values: an approver could not read them all")]
    TooLong {
        /// Maximum number of values.
        most: usize,
    },
}

/// Shortens an untrusted name to fit on one line.
pub(super) fn shortened(name: &str) -> String {
    name.chars().take(64).flat_map(char::escape_debug).collect()
}

impl Invalid {
    /// Prefixes the position with an outer step.
    pub(super) fn within(mut self, step: &str) -> Self {
        if let Self::Missing(path) | Self::Value { path, .. } | Self::Unsigned(path) = &mut self {
            let joined = path.is_empty() || path.starts_with('[');
            path.insert_str(0, if joined { "" } else { "." });
            path.insert_str(0, step);
        }
        self
    }
}
