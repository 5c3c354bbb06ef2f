//! Scoring's `/admin/*` endpoints for managers and their scripts. Errors are problem bodies (RFC 9457).
//!
//! Each route only reads the request, calls one service function and builds the response.

mod api_keys;
mod catalogue;
mod history_requests;
mod issuers;
mod models;
mod scorers;
mod stamps;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::response::Response;
use axum::routing::{delete, get, post};
use http::request::Parts;
use pyxis_core::actor::Actor;

use crate::state::State;

/// A signed-in owner or admin, recorded as the author of changes.
struct Manager(Actor);

impl FromRequestParts<State> for Manager {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Response> {
        state.managers.manager(&parts.headers).await.map(Self)
    }
}

pub(crate) fn router() -> Router<State> {
    Router::new()
        .route("/admin/scorers", get(scorers::list).post(scorers::create))
        .route("/admin/scorers/{id}", get(scorers::show).patch(scorers::update).delete(scorers::remove))
        .route("/admin/scorers/{id}/preview", post(scorers::preview))
        .route("/admin/scorers/{id}/rescore", get(scorers::progress).post(scorers::rescore))
        .route("/admin/api-keys", get(api_keys::list).post(api_keys::create))
        .route("/admin/api-keys/{id}", get(api_keys::show).patch(api_keys::update).delete(api_keys::revoke))
        .route("/admin/api-keys/{id}/usage", get(api_keys::usage))
        .route("/admin/issuers", get(issuers::list).post(issuers::add))
        .route("/admin/issuers/{did}", delete(issuers::remove))
        .route("/admin/stamps/{address}", get(stamps::show))
        .route("/admin/stamps/revoke", post(stamps::revoke))
        .route("/admin/catalogue", get(catalogue::show).put(catalogue::replace).delete(catalogue::reset))
        .route("/admin/models", get(models::show))
        .route("/admin/models/groups", get(models::groups))
        .route("/admin/history-requests", get(history_requests::list).post(history_requests::create))
        .route("/admin/history-requests/{id}/approve", post(history_requests::approve))
        .route("/admin/history-requests/{id}/refuse", post(history_requests::refuse))
}
