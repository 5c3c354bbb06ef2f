//! Endpoints (`docs/reference/behavior/verification.md`).

mod admission;
mod attestation;
mod parameters;
mod registry;
mod residence;
mod scan;
mod snapshot;
mod sybil;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use pyxis_http::cors;

use crate::error::Error;
use crate::state::State;

/// Every route of verification, including the managers'.
pub fn router(state: State) -> Router {
    let router = Router::new()
        .route("/sybil-resistance/{credential_type}/{network}", get(sybil::check))
        .route("/residence/country/{country}/{network}", get(residence::check))
        .route(
            "/snapshot-strategies/residence/country/{country}",
            get(snapshot::residence).post(snapshot::residence_posted),
        )
        .route(
            "/snapshot-strategies/sybil-resistance/{credential_type}",
            get(snapshot::sybil).post(snapshot::sybil_posted),
        )
        .route("/registry/proofs", post(registry::submit))
        .route("/attestation/sbts/clean-hands", get(attestation::on_sui))
        .route("/attestation/clean-hands/{address}", get(attestation::by_index))
        .route("/attestation/evm/{credential_type}/{network}", get(attestation::on_evm))
        .route("/attestation/keys", get(attestation::list_keys))
        .route("/api/scan/addresses/{address}/attestations", get(scan::attestations));
    let router = if state.config.admission.is_open() {
        router
    } else {
        router.layer(from_fn_with_state(state.clone(), admission::admit))
    };
    // With its own fallback a path answers preflights of other origins; otherwise the program-wide fallback would. Any
    // page may ask: there is nothing to steal.
    let cors = cors::open([Method::GET, Method::HEAD, Method::POST]);
    let open = router.method_not_allowed_fallback(async || Error::MethodNotAllowed).layer(cors);
    open.merge(crate::api::router()).with_state(state)
}

/// Response with a body that is already JSON.
fn json(body: impl Into<Bytes>) -> Response {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    let mut response = Response::new(axum::body::Body::from(body.into()));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// The response for an outcome.
fn answer(outcome: crate::error::Result<String>) -> Response {
    outcome.map_or_else(IntoResponse::into_response, json)
}
