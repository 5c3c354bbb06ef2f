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
mod problems;
mod requests;
mod runtime;
mod values;
pub mod workers;

use axum::Router;
use axum::routing::any;
use forwarding::endpoints;
use pyxis_http::openapi::{Clash, DescribedRouter};
use utoipa::openapi::OpenApi;
use utoipa_axum::routes;

pub use config::{Config, MatrixConfig, TelegramConfig};
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
    // The webhook route exists only if it is used.
    let by_webhook = state.config.telegram.as_ref().is_some_and(|bot| bot.webhook_secret.is_some());
    let chat = if by_webhook { chat().into_router() } else { Router::new() };
    let through_base_url = any(endpoints::through_base_url).with_state(state.clone());
    described()
        .into_router()
        .merge(chat)
        .nest_service(base_url_proxy::PREFIX, through_base_url)
        .with_state(state)
}

/// The description of all routes.
pub fn openapi() -> Result<OpenApi, Clash> {
    let all = described().merge(chat()).described(routes!(endpoints::through_base_url));
    all.into_description(problems::all())
}

/// Every problem of this crate.
pub use error::kinds::ALL as PROBLEMS;

fn chat() -> DescribedRouter<State> {
    DescribedRouter::default().routes(routes!(channels::telegram::webhook))
}

fn described() -> DescribedRouter<State> {
    // Other methods reach the handlers too, which explain the refusal.
    DescribedRouter::default()
        .routes_with(routes!(endpoints::post_forward), |router| router.fallback(endpoints::post_forward))
        .routes_with(routes!(endpoints::post_sign), |router| router.fallback(endpoints::post_sign))
        .routes(routes!(approvals::agent_response::poll, approvals::agent_response::withdraw))
        .routes(routes!(forwarding::agent_api::services))
        .routes(routes!(forwarding::agent_api::instructions))
        .merge(admin::api::router())
}
