//! The JSON interface for people and scripts: sessions, `/admin/*`, `/approvals`.
//!
//! Routes only read the request, call one service function and shape the answer.

mod agents;
mod approvals;
mod audit;
mod brand;
mod credentials;
mod grants;
mod people;
mod policies;
mod session;
mod settings;
mod webhooks;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::response::IntoResponse;
use axum::routing::{delete, get, patch, post, put};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;

use pyxis_http::{Managers, Managing};

use crate::error::{Error, Result};
use crate::service::sessions::{self, Person};
use crate::state::State;

/// A person with a live session: `Authorization: Bearer <SESSION_TOKEN>`.
pub struct SignedIn(pub Person);

/// A signed-in owner or admin.
pub struct Manager(pub Person);

impl FromRequestParts<State> for SignedIn {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self> {
        signed_in(state, &parts.headers).await.map(Self)
    }
}

async fn signed_in(state: &State, headers: &HeaderMap) -> Result<Person> {
    let header = headers.get(AUTHORIZATION).ok_or(Error::Unauthenticated)?;
    let text = header.to_str().map_err(|_| Error::Unauthenticated)?;
    let (scheme, token) = text.split_once(' ').ok_or(Error::Unauthenticated)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Error::Unauthenticated);
    }
    sessions::find(state, token.trim()).await
}

/// Other surfaces keep no people: they ask this one.
impl Managers for State {
    fn manager<'a>(&'a self, headers: &'a HeaderMap) -> Managing<'a> {
        Box::pin(async move {
            let person = signed_in(self, headers).await.map_err(IntoResponse::into_response)?;
            person.require_manager().map_err(IntoResponse::into_response)?;
            Ok(person.actor())
        })
    }
}

impl FromRequestParts<State> for Manager {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self> {
        let SignedIn(person) = SignedIn::from_request_parts(parts, state).await?;
        person.require_manager()?;
        Ok(Self(person))
    }
}

/// The routes.
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
        .route("/admin/grants", get(grants::list))
        .route("/admin/grants/{id}", delete(grants::revoke))
        .route("/admin/members", get(people::list).post(people::add))
        .route("/admin/members/{id}", patch(people::update))
        .route("/admin/members/{id}/link", post(people::link))
        .route("/admin/invitations", post(people::add))
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
