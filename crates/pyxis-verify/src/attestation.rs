//! Attestations: answers that a contract can check without asking (decisions, Endpoints).

pub mod keys;
pub mod sui;
pub mod typed;
