//! The credential proxy (Spec 3): forwarding with stored credentials, approvals, grants, and the
//! JSON interface around them.
//!
//! Surface crates export `State`, `Error` and `router`; the dashboard and the command line call
//! [`service`] and [`approvals`] instead of routes.

mod actor;
mod agent_side;
mod anchor;
pub mod api;
pub mod approvals;
mod control;
mod error;
mod forward;
mod idempotency;
mod judge;
mod limits;
mod meters;
mod outcome;
mod records;
mod resolve;
mod sealing;
mod secret_value;
pub mod service;
pub mod sign;
mod signing_keys;
mod state;
mod stored;
mod touch;
mod wait;
pub mod workers;

use axum::Router;
use axum::extract::State as Extract;
use axum::routing::{any, get};

pub use actor::Actor;
pub use error::{BoxError, Error, Result};
pub use forward::forward;
pub use resolve::CredentialOptions;
pub use secret_value::SecretValue;
pub use state::{Config, Parts, State};

/// The path of [`forward`]. The routes below spell it out: whoever reads them should see every path.
pub const FORWARD: &str = "/forward";

/// Every route of the proxy.
pub fn router(state: State) -> Router {
    Router::new()
        .route("/forward", any(|Extract(state), request| async move { forward(&state, request).await }))
        .route("/sign", any(|Extract(state), request| async move { sign::sign(&state, request).await }))
        .route("/agent/approvals/{txn_id}", get(approvals::reply::poll).delete(approvals::reply::withdraw))
        .route("/agent/services", get(agent_side::services))
        .route("/instructions", get(agent_side::instructions))
        .merge(api::router())
        .with_state(state)
}
