//! `/admin/scorers/{id}/merkle`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_http::admin::{Manager, Result};
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::{Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::problems::NobodyPasses;
use crate::address;
use crate::merkle::AddressTree;
use crate::service::Error;
use crate::service::score_lists::{self, PassingList};
use crate::state::State;
use crate::values::AnyObject;

/// Header with the root of a streamed list.
const ROOT: HeaderName = HeaderName::from_static("px-merkle-root");

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct MerkleParams {
    /// A moment that is over: the list is made of the history, as it was then. Without it, of the scores as they stand.
    #[param(format = "date-time")]
    at: Option<String>,
    /// Answer the root and the proof of this address only.
    address: Option<String>,
}

/// Proof that an address is on a list.
#[derive(Serialize, ToSchema)]
struct MerkleProof {
    root: String,
    #[schema(value_type = crate::values::Address)]
    address: String,
    /// Hashes from the leaf to the root; null if the address is not on the list.
    #[schema(required)]
    proof: Option<Vec<String>>,
    /// Addresses on the list.
    count: usize,
}

/// List the addresses that pass, as a Merkle tree.
///
/// The dump of `StandardMerkleTree` of `@openzeppelin/merkle-tree`, with leaves `["address"]`; its root is also in the
/// header `PX-Merkle-Root`. On it are the addresses that the scorer has scored. Keep the file: a later list has another
/// root. With `address`, the answer has `root`, `proof` and `count`.
#[utoipa::path(
    get,
    path = "/admin/scorers/{id}/merkle",
    tag = "Scorers",
    operation_id = "listPassing",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1), MerkleParams),
    responses(
        (status = 200, description = "The list, or the proof.", body = AnyObject, example = json!({
            "format": "standard-v1",
            "leafEncoding": ["address"],
            "tree": ["0x7c89c34480c69f89c81c18ed9cb269e050dd0e62d7456e89f2511945d56d9a4f"],
            "values": [{"value": ["0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1"], "treeIndex": 0}]
        })),
        (status = 404, response = NotFound),
        (status = 409, response = NobodyPasses),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
    Query(asked): Query<MerkleParams>,
) -> Result<Response> {
    let scorer: ScorerId = scorer.parse().map_err(|_| Error::not_found("scorer"))?;
    let at = asked.at.as_deref().map(parse_time).transpose()?;
    let address = asked.address.as_deref().map(address::read).transpose();
    let address = address
        .map_err(|_| Error::field("address", "0x and 40 hex digits, in lower case or with checksum"))?;
    let PassingList { tree, .. } = score_lists::passing(&state, &actor, scorer, at).await?;
    let tree = tree.ok_or(Error::Conflict("no address passes, so there is no list"))?;
    match address {
        Some(address) => Ok(Json(MerkleProof {
            root: tree.root(),
            address: address.to_string(),
            proof: tree.proof(address),
            count: tree.count(),
        })
        .into_response()),
        None => streamed(tree),
    }
}

fn parse_time(text: &str) -> Result<UnixMillis, Error> {
    pyxis_core::clock::parse_rfc3339_of_query(text)
        .ok_or_else(|| Error::field("at", "a time, for example 2026-01-31T09:05:00Z"))
}

fn streamed(tree: AddressTree) -> Result<Response> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ROOT, HeaderValue::from_str(&tree.root()).map_err(Error::internal)?);
    let tree = Arc::new(tree);
    let chunks = (0..).map_while(move |number| tree.chunk(number).map(Ok::<_, std::convert::Infallible>));
    Ok((headers, Body::from_stream(stream::iter(chunks))).into_response())
}
