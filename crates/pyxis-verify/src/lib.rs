//! Verification (Spec 2): who has proved what, answered from the registry of proofs and from contracts.
//!
//! [`checker`] answers questions, [`registry`] takes in what issuers sign, [`heights`] says which block it
//! is, `routes` is the public interface, [`service`] is what managers do.

mod api;
pub mod attestation;
pub mod block_height;
mod chains;
pub mod checker;
mod clocks;
mod config;
pub mod contracts;
mod error;
pub mod index;
pub mod network;
pub mod registry;
mod routes;
pub mod service;
mod state;
mod verdict;

pub use config::{AccessRules, Attestations, Config};
pub use error::{BoxError, Error, Result};
pub use routes::router;
pub use state::{Parts, State};
