//! Verification (Spec 2): who has proved what, answered from the registry of proofs and from contracts.
//!
//! [`checker`] answers questions, [`registry`] takes in what issuers sign, [`heights`] says which block it
//! is, `routes` is the public interface, [`service`] is what managers do.

mod admission;
mod api;
pub mod attestation;
mod chains;
pub mod checker;
pub mod contracts;
mod error;
pub mod heights;
pub mod network;
pub mod registry;
mod routes;
pub mod service;
mod state;

pub use admission::Admission;
pub use error::{BoxError, Error, Result};
pub use routes::router;
pub use state::{Config, Parts, State};
