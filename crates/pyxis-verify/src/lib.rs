//! Verification (`docs/reference/behavior/verification.md`): proofs by address, answered from the registry and from
//! contracts.
//!
//! [`checker`] answers questions. [`registry`] applies what issuers sign, and [`block_height`] determines the current
//! block. `routes` is the public API, and [`service`] implements the managers' operations.

mod api;
pub mod attestation;
pub mod block_height;
mod chains;
pub mod checker;
mod clocks;
mod config;
pub mod contract_wallets;
pub mod contracts;
mod error;
pub mod index;
pub mod network;
pub mod registry;
mod routes;
pub mod score_source;
pub mod service;
mod state;
pub mod strategies;
mod values;
mod verdict;

pub use config::{AccessRules, Attestations, Config};
pub use error::{BoxError, Error, Result};
pub use routes::router;
pub use state::{State, VerificationDependencies};

/// The description of all routes.
pub fn openapi() -> Result<utoipa::openapi::OpenApi, pyxis_http::openapi::Clash> {
    routes::describe_routes().merge(api::router()).into_description(routes::responses::all())
}
