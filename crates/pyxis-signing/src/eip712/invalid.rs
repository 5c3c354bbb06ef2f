//! Why typed data cannot be hashed.

/// What is wrong with typed data. Places are spelled `order.items[0].price`; a name in one may be a stranger's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Not JSON, or not an object with `types`, `primaryType`, `domain` and `message`.
    #[error("not typed data: an object with types, primaryType, domain and message")]
    Form,
    /// Types that cannot be, or could be read in two ways.
    #[error("bad types: {0}")]
    Types(&'static str),
    /// A type that is neither standard nor given.
    #[error("{0} is neither a standard type nor among the types")]
    UnknownType(String),
    /// A member that its type names is not there.
    #[error("{0} is missing")]
    Missing(String),
    /// A name that stands twice in one object: readers disagree on which of the two counts.
    #[error("the key {0} stands twice in one object; keep one of the two")]
    Twice(String),
    /// A value that its type does not allow.
    #[error("{path} must be {expected}")]
    Value {
        /// Where.
        path: String,
        /// What its type asks for.
        expected: &'static str,
    },
    /// A member that the types do not name, so that it would not be signed.
    #[error("{0} is not named by its type, so it would not be signed")]
    Unsigned(String),
    /// More types or members than anybody needs.
    #[error("too many types or members")]
    TooComplex,
    /// Too much to read.
    #[error("more than {most} values: nobody could read them before they approve")]
    TooLong {
        /// Most values.
        most: usize,
    },
}

/// A stranger's name, fit for one line.
pub(super) fn shortened(name: &str) -> String {
    name.chars().take(64).flat_map(char::escape_debug).collect()
}

impl Invalid {
    /// The same, as seen from one level further out.
    pub(super) fn within(mut self, step: &str) -> Self {
        if let Self::Missing(path) | Self::Value { path, .. } | Self::Unsigned(path) = &mut self {
            let joined = path.is_empty() || path.starts_with('[');
            path.insert_str(0, if joined { "" } else { "." });
            path.insert_str(0, step);
        }
        self
    }
}
