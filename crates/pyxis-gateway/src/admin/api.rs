//! The JSON API for people and scripts: sessions, `/admin/*`, `/approvals`.
//!
//! Routes only parse the request, call one service function and build the response.

mod agents;
mod approvals;
mod audit;
mod brand;
mod caller;
mod credentials;
mod grants;
mod people;
mod policies;
mod session;
mod settings;
mod staged;
mod tokens;
mod webhooks;

use axum::Router;
use axum::routing::{delete, get, post, put};

use crate::runtime::state::State;
pub use caller::{Approving, Editing, Manager, SignedIn};

/// All routes of the admin API.
pub(crate) fn router() -> Router<State> {
    Router::new()
        .route("/session", post(session::sign_in).delete(session::sign_out))
        .route("/approvals", get(approvals::list))
        .route("/approvals/{txn_id}", get(approvals::show))
        .route("/approvals/{txn_id}/approve", post(approvals::approve))
        .route("/approvals/{txn_id}/deny", post(approvals::deny))
        .route("/admin/agents", get(agents::list).post(agents::create))
        .route("/admin/agents/{id}", get(agents::show).patch(agents::update).delete(agents::remove))
        .route("/admin/agents/{id}/rotate", post(agents::rotate))
        .route("/admin/agents/{id}/deny-all", post(agents::deny_all))
        .route("/admin/credentials", get(credentials::list).post(credentials::create))
        .route(
            "/admin/credentials/{name}",
            get(credentials::show).patch(credentials::update).delete(credentials::remove),
        )
        .route("/admin/credentials/{name}/secret", put(credentials::replace_secret))
        .route("/admin/credentials/{name}/verify", post(credentials::verify))
        .route(
            "/admin/policies/{credential}",
            get(policies::show).put(policies::put).delete(policies::remove),
        )
        .route("/admin/policies/{credential}/explain", post(policies::explain))
        .route("/admin/policies/{credential}/replay", post(policies::replay))
        .route("/admin/policies/{credential}/staged", get(staged::list))
        .route("/admin/policies/{credential}/staged/{id}", delete(staged::withdraw))
        .route("/admin/grants", get(grants::list))
        .route("/admin/grants/{id}", delete(grants::revoke))
        .route("/admin/members", get(people::list).post(people::add))
        .route("/admin/members/{id}", get(people::show).patch(people::update))
        .route("/admin/members/{id}/link", post(people::link))
        .route(
            "/admin/members/{id}/credentials/{name}",
            put(people::put_rights).delete(people::remove_rights),
        )
        .route("/admin/invitations", get(people::invitations).post(people::add))
        .route("/admin/invitations/{id}", delete(people::withdraw_invitation))
        .route("/admin/tokens", get(tokens::list).post(tokens::create))
        .route("/admin/tokens/{id}", delete(tokens::revoke))
        .route("/admin/settings", get(settings::show).patch(settings::update).put(settings::update))
        .route("/admin/audit", get(audit::search))
        .route("/admin/brand", get(brand::show))
        .route("/admin/webhooks", get(webhooks::list).post(webhooks::create))
        .route("/admin/webhooks/{id}", get(webhooks::show).patch(webhooks::update).delete(webhooks::remove))
        .route("/admin/webhooks/{id}/rotate-secret", post(webhooks::rotate))
        .route("/admin/webhooks/{id}/deliveries", get(webhooks::deliveries_of))
        .route("/admin/deliveries", get(webhooks::deliveries))
        .route("/admin/deliveries/{id}", get(webhooks::show_delivery))
        .route("/admin/deliveries/{id}/resend", post(webhooks::resend))
}
