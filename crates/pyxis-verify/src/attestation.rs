//! Attestations: answers that a contract can check offline (decisions, Endpoints).

pub mod keys;
pub mod sui;
pub mod typed;
