//! `/admin/issuers`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::{Json, Path};
use pyxis_store::issuers::IssuerRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::service::issuers::{self, Added};
use crate::state::State;
use crate::values::Label;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddIssuerRequest {
    /// `did:ethr:0x…`, `did:pkh:eip155:<chain>:0x…`, or `did:key` of an Ed25519 or secp256k1 key. An issuer is its
    /// key: any DID of the key identifies it. It is listed as `did:ethr` of the address in lower case, or as
    /// `did:key` in base58.
    did: String,
    #[schema(value_type = Label)]
    name: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Issuer)]
pub(super) struct IssuerResponse {
    #[schema(example = "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    did: String,
    #[schema(example = "Our verifier")]
    name: String,
    #[schema(value_type = Time)]
    created_at: String,
}

impl Listed for IssuerResponse {
    const MEMBER: &'static str = "issuers";
}

pub(super) type IssuerListResponse = CompleteList<IssuerResponse>;

fn issuer_response(row: IssuerRow) -> IssuerResponse {
    IssuerResponse { did: row.did, name: row.name, created_at: row.created_at.to_rfc3339() }
}

/// List trusted issuers.
#[utoipa::path(
    get,
    path = "/admin/issuers",
    tag = "Issuers",
    operation_id = "listIssuers",
    security(("session" = [])),
    responses((status = 200, description = "By DID.", body = IssuerListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<IssuerListResponse>> {
    let rows = issuers::list(&state.store, actor.workspace).await?;
    Ok(Json(rows.into_iter().map(issuer_response).collect()))
}

/// Trust an issuer, or rename a trusted one.
#[utoipa::path(
    post,
    path = "/admin/issuers",
    tag = "Issuers",
    operation_id = "addIssuer",
    security(("session" = [])),
    request_body(content = AddIssuerRequest, example = json!({
            "did": "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e",
            "name": "Our verifier"
        })),
    responses(
        (status = 200, description = "Already trusted; it has this name now.", body = IssuerResponse),
        (status = 201, description = "Trusted.", body = IssuerResponse),
    ),
)]
pub(super) async fn add(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<AddIssuerRequest>,
) -> Result<(StatusCode, Json<IssuerResponse>)> {
    let (row, added) = issuers::add(&state.audited, &actor, &input.did, &input.name).await?;
    let status = match added {
        Added::New => StatusCode::CREATED,
        Added::Renamed | Added::Unchanged => StatusCode::OK,
    };
    Ok((status, Json(issuer_response(row))))
}

/// Stop trusting an issuer.
///
/// Any DID of the issuer's key identifies it. Stamps that it issued stay until they expire or are revoked.
#[utoipa::path(
    delete,
    path = "/admin/issuers/{did}",
    tag = "Issuers",
    operation_id = "removeIssuer",
    security(("session" = [])),
    params(("did" = String, Path)),
    responses(
        (status = 204, description = "No longer trusted."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(did): Path<String>,
) -> Result<StatusCode> {
    issuers::remove(&state.audited, &actor, &did).await?;
    Ok(StatusCode::NO_CONTENT)
}
