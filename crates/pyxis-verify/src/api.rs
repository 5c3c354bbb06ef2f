//! Verification's `/admin/*` endpoints for managers and their scripts. Errors are problem bodies (RFC 9457).
//!
//! Each route only reads the request, calls one service function and builds the response.

mod attestation_keys;
mod blocklist;
mod issuers;
mod networks;
mod proofs;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::response::Response;
use axum::routing::{delete, get, post};
use http::request::Parts;
use pyxis_core::actor::Actor;
use pyxis_core::proof::{Kind, Subject};

use crate::network::SUI;
use crate::service::{Error, Result};
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
        .route("/admin/networks", get(networks::list))
        .route("/admin/proofs", get(proofs::list))
        .route("/admin/proofs/log", get(proofs::log))
        .route("/admin/proofs/revoke", post(proofs::revoke))
        .route("/admin/proof-issuers", get(issuers::list).post(issuers::add))
        .route("/admin/proof-issuers/{kind}/{issuer}", delete(issuers::remove))
        .route("/admin/attestation-keys/{scheme}/rotate", post(attestation_keys::rotate))
        .route("/admin/blocklist", get(blocklist::list).post(blocklist::block))
        .route("/admin/blocklist/{address}", delete(blocklist::unblock))
}

fn kind(name: &str) -> Result<Kind> {
    Kind::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Kind::ALL.into_iter().map(Kind::as_str).collect();
        Error::field("kind", format!("one of {}", known.join(", ")))
    })
}

/// Parses an address, on a network if one is named.
fn subject(field: &'static str, text: &str, network: Option<&str>) -> Result<Subject> {
    let read = if network == Some(SUI) { Subject::on_sui(text) } else { text.parse() };
    read.map_err(|error| Error::field(field, format!("{error}")))
}
