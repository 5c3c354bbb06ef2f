//! Verification's `/admin/*` endpoints for managers and their scripts. Errors are problem bodies (RFC 9457).
//!
//! Each route only reads the request, calls one service function and builds the response.

mod attestation_keys;
mod blocklist;
mod issuers;
mod networks;
mod proofs;

use pyxis_core::proof::{Kind, Subject};
use pyxis_http::openapi::DescribedRouter;
use utoipa_axum::routes;

use crate::network::SUI;
use crate::service::{Error, Result};
use crate::state::State;

/// All routes for managers.
pub(crate) fn router() -> DescribedRouter<State> {
    DescribedRouter::default()
        .routes(routes!(networks::list))
        .routes(routes!(proofs::list))
        .routes(routes!(proofs::log))
        .routes(routes!(proofs::revoke))
        .routes(routes!(issuers::list, issuers::add))
        .routes(routes!(issuers::remove))
        .routes(routes!(attestation_keys::rotate))
        .routes(routes!(blocklist::list, blocklist::block))
        .routes(routes!(blocklist::unblock))
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
