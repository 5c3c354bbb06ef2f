//! The credential proxy (Spec 3): forwarding with stored credentials, approvals, grants, and the
//! JSON interface around them.
//!
//! Surface crates export `State`, `Error` and `router`; the dashboard and the command line call
//! [`service`] and [`approvals`] instead of routes.

mod actor;
mod agent_api;
mod anchor;
mod announce;
pub mod api;
pub mod approvals;
mod authorize;
pub mod brand;
mod ceremony;
pub mod channels;
mod config;
mod control;
mod error;
mod exchange_metrics;
mod forward;
mod idempotency;
mod last_used;
mod limits;
mod login_throttle;
mod lost_answer;
mod metrics_recorder;
mod mtls_clients;
mod outbound;
mod outcome;
mod push;
mod records;
mod redaction;
mod resolve;
mod sealing;
mod secret_cache;
mod secret_value;
pub mod service;
mod sign;
pub mod signing;
mod signing_keys;
mod state;
mod stored;
mod survival;
mod token_cache;
pub mod tokens;
mod validated_request;
mod voters;
mod wait;
pub mod webhooks;
mod work;
pub mod workers;

use axum::Router;
use axum::extract::State as Extract;
use axum::routing::{any, get, post};

pub use actor::Actor;
pub use config::{Config, MatrixConfig, TelegramConfig};
pub use error::{BoxError, Error, Result};
pub use forward::base_url_proxy;
pub use forward::forward;
pub use resolve::CredentialOptions;
pub use secret_value::SecretValue;
pub use state::{Parts, State};

/// The path of [`forward`]. The routes below spell it out: whoever reads them should see every path.
pub const FORWARD: &str = "/forward";

/// Every route of the proxy.
pub fn router(state: State) -> Router {
    // A door that nobody uses does not exist.
    let by_webhook = state.config.telegram.as_ref().is_some_and(|bot| bot.webhook_secret.is_some());
    let chat = if by_webhook {
        Router::new().route("/telegram/webhook", post(channels::telegram::webhook))
    } else {
        Router::new()
    };
    Router::new()
        .merge(chat)
        .route("/forward", any(|Extract(state), request| async move { forward(&state, request).await }))
        .route("/sign", any(|Extract(state), request| async move { sign::sign(&state, request).await }))
        .route(
            "/agent/approvals/{txn_id}",
            get(approvals::agent_response::poll).delete(approvals::agent_response::withdraw),
        )
        .nest_service(
            base_url_proxy::PREFIX,
            any(|Extract(state), request| async move { base_url_proxy::entrance(&state, request).await })
                .with_state(state.clone()),
        )
        .route("/agent/services", get(agent_api::services))
        .route("/instructions", get(agent_api::instructions))
        .merge(api::router())
        .with_state(state)
}
