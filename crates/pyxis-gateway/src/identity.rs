//! Identities of people: actors of changes, passkey ceremonies, and the voters behind an approval.

pub(crate) mod actor;
pub(crate) mod ceremony;
pub(crate) mod voters;
