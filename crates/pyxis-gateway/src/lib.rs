//! The credential proxy (`docs/reference/behavior/proxy.md`): forwarding with stored credentials, approvals, grants,
//! and the JSON interface around them.
//!
//! Surface crates export `State`, `Error` and `router`. The dashboard and the command line call [`admin`] and
//! [`approvals`] directly instead of routes.

pub mod admin;
pub mod approvals;
mod config;
pub mod credentials;
mod error;
pub mod forwarding;
mod identity;
pub mod notifications;
mod problems;
mod runtime;
mod values;
pub mod workers;

use axum::Router;
use axum::routing::any;
use forwarding::endpoints;
use pyxis_http::openapi::{Clash, DescribedRouter};
use utoipa::openapi::OpenApi;
use utoipa_axum::routes;

pub use approvals::{receipts, tasks};
pub use config::{ChatSettings, Config};
pub use credentials::requests::entry_point::EntryPoint;
pub use credentials::requests::presence::ClientPresence;
pub use error::{BoxError, Error, ReceiptWait, Result};
pub use forwarding::agent_tools;
pub use forwarding::entry_points;
pub use forwarding::forward::base_url_proxy;
pub use forwarding::forward::forward;
pub use forwarding::long_responses;
pub use identity::connections;
pub use notifications::channels;
pub use pyxis_core::actor::Actor;
pub use runtime::mtls_clients::{expiring_client_certificates, first_client_certificate_expiry};
pub use runtime::resolve::CredentialOptions;
pub use runtime::secret_value::SecretValue;
pub use runtime::state::{GatewayDependencies, State};

/// Path of [`forward`]. The routes below spell it out, so that every path can be read there.
pub const FORWARD: &str = "/forward";

/// All routes of the proxy.
pub fn router(state: State) -> Router {
    let chats = channels::routes(&state);
    let through_base_url = any(endpoints::through_base_url).with_state(state.clone());
    describe_routes()
        .into_router()
        .merge(chats)
        .nest_service(base_url_proxy::PREFIX, through_base_url)
        .with_state(state)
}

/// The description of all routes.
pub fn openapi() -> Result<OpenApi, Clash> {
    let all = channels::describe_routes()
        .fold(describe_routes(), DescribedRouter::with_descriptions)
        .with_descriptions(routes!(endpoints::through_base_url))
        .schema::<pyxis_core::auth::HeaderFormat>();
    all.into_description(problems::all())
}

/// Every problem of this crate.
pub use error::kinds::ALL as PROBLEMS;

fn describe_routes() -> DescribedRouter<State> {
    // Other methods reach the handlers too, which explain the refusal.
    DescribedRouter::default()
        .routes_with(routes!(endpoints::post_forward), |router| router.fallback(endpoints::post_forward))
        .routes_with(routes!(endpoints::post_sign), |router| router.fallback(endpoints::post_sign))
        .routes(routes!(approvals::agent_response::poll, approvals::agent_response::withdraw))
        .routes(routes!(tasks::agent_api::propose))
        .routes(routes!(tasks::agent_api::show))
        .routes(routes!(tasks::agent_api::withdraw))
        .routes(routes!(admin::api::receipts::of_agent))
        .routes(routes!(forwarding::agent_api::services))
        .routes(routes!(forwarding::agent_api::instructions))
        .merge(admin::api::router())
}
