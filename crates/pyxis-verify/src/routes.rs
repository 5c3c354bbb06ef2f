//! Endpoints (`docs/reference/behavior/verification.md`).

mod admission;
mod attestation;
mod parameters;
mod registry;
mod residence;
pub(crate) mod responses;
mod scan;
mod score_strategy;
mod shared;
mod snapshot;
mod sybil;
mod vote_request;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use pyxis_core::proof::Kind;
use pyxis_http::cors;
use pyxis_http::openapi::DescribedRouter;
use utoipa_axum::routes;

use crate::error::{Error, Result};
use crate::state::State;

/// The open routes.
pub(crate) fn describe_routes() -> DescribedRouter<State> {
    DescribedRouter::default()
        .routes(routes!(sybil::check))
        .routes(routes!(residence::check))
        .routes(routes!(snapshot::residence, snapshot::residence_posted))
        .routes(routes!(snapshot::sybil, snapshot::sybil_posted))
        .routes(routes!(score_strategy::score, score_strategy::score_posted))
        .routes(routes!(registry::submit))
        .routes(routes!(attestation::on_sui))
        .routes(routes!(attestation::by_index))
        .routes(routes!(attestation::on_evm))
        .routes(routes!(attestation::list_keys))
        .routes(routes!(scan::attestations))
}

/// Every route of verification, including the managers'.
pub fn router(state: State) -> Router {
    let router = describe_routes().into_router();
    let router = if state.config.admission.is_open() {
        router
    } else {
        router.layer(from_fn_with_state(state.clone(), admission::admit))
    };
    // With its own fallback a path answers preflights of other origins; otherwise the program-wide fallback would. Any
    // page may ask: there is nothing to steal.
    let cors = cors::open([Method::GET, Method::HEAD, Method::POST]);
    let open = router.method_not_allowed_fallback(async || Error::MethodNotAllowed).layer(cors);
    open.merge(crate::api::router().into_router()).with_state(state)
}

/// Body of the answer of a strategy that asks for proofs.
pub(crate) async fn proof_strategy(state: &State, kind: Kind, query: &str) -> Result<String> {
    snapshot::from_query(state, Ok(kind), Some(query)).await
}

/// Body of the answer of the score strategy.
pub(crate) async fn score_strategy(state: &State, query: &str) -> Result<String> {
    score_strategy::from_query(state, Some(query)).await
}

/// Response with a body that is already JSON.
fn json(body: impl Into<Bytes>) -> Response {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    let mut response = Response::new(axum::body::Body::from(body.into()));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

fn answer(outcome: Result<String>) -> Response {
    outcome.map_or_else(IntoResponse::into_response, json)
}
