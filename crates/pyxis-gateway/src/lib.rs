//! The credential proxy (`docs/reference/behavior/proxy.md`): forwarding with stored credentials, approvals, grants,
//! and the JSON interface around them.
//!
//! Surface crates export `State`, `Error` and `router`. The dashboard and the command line call [`admin`] and
//! [`approvals`] directly instead of routes.

pub mod admin;
pub mod approvals;
pub mod channels;
mod config;
pub mod credentials;
mod error;
pub mod forwarding;
mod identity;
pub mod notifications;
mod requests;
mod runtime;
pub mod workers;

use axum::Router;
use axum::extract::State as Extract;
use axum::routing::{any, get};

pub use config::{ChatSettings, Config};
pub use error::{BoxError, Error, Result};
pub use forwarding::forward::base_url_proxy;
pub use forwarding::forward::forward;
pub use identity::actor::Actor;
pub use runtime::resolve::CredentialOptions;
pub use runtime::secret_value::SecretValue;
pub use runtime::state::{Parts, State};

/// Path of [`forward`]. The routes below spell it out, so that every path can be read there.
pub const FORWARD: &str = "/forward";

/// All routes of the proxy.
pub fn router(state: State) -> Router {
    Router::new()
        .merge(channels::routes(&state))
        .route("/forward", any(|Extract(state), request| async move { forward(&state, request).await }))
        .route(
            "/sign",
            any(|Extract(state), request| async move { forwarding::sign::sign(&state, request).await }),
        )
        .route(
            "/agent/approvals/{txn_id}",
            get(approvals::agent_response::poll).delete(approvals::agent_response::withdraw),
        )
        .nest_service(
            base_url_proxy::PREFIX,
            any(|Extract(state), request| async move { base_url_proxy::entrance(&state, request).await })
                .with_state(state.clone()),
        )
        .route("/agent/services", get(forwarding::agent_api::services))
        .route("/instructions", get(forwarding::agent_api::instructions))
        .merge(admin::api::router())
        .with_state(state)
}
