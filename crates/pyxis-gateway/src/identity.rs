//! Identities of people: passkey ceremonies, and the voters behind an approval.

pub(crate) mod ceremony;
pub(crate) mod voters;
