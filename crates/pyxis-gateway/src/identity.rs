//! Identities: passkey ceremonies and the voters behind an approval, and programs that act as an agent.

pub(crate) mod ceremony;
pub mod connections;
pub(crate) mod voters;
