//! Attestations: answers that a contract can check offline (`docs/reference/behavior/verification.md#attestations`).

pub mod keys;
pub mod sui;
pub mod typed;
