//! `/admin/proof-issuers`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::{Json, Path};
use pyxis_store::proof_issuers::ProofIssuerRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kind;
use crate::registry::Issuer;
use crate::service::{Error, issuers};
use crate::state::State;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AddProofIssuerRequest)]
pub(super) struct AddIssuerRequest {
    kind: String,
    issuer: String,
    name: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ProofIssuer)]
pub(super) struct IssuerResponse {
    #[schema(example = "gov-id")]
    kind: &'static str,
    #[schema(example = "0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    issuer: String,
    #[schema(example = "Our verifier")]
    name: String,
    #[schema(value_type = Time)]
    created_at: String,
}

impl Listed for IssuerResponse {
    const MEMBER: &'static str = "issuers";
}

pub(super) type IssuerListResponse = CompleteList<IssuerResponse>;

fn issuer_response(row: ProofIssuerRow) -> IssuerResponse {
    let created_at = row.created_at.to_rfc3339();
    IssuerResponse { kind: row.kind.as_str(), issuer: row.issuer, name: row.name, created_at }
}

fn issuer(text: &str) -> Result<Issuer, Error> {
    text.parse().map_err(|error| Error::field("issuer", format!("{error}")))
}

/// List the trusted issuers of proofs.
#[utoipa::path(
    get,
    path = "/admin/proof-issuers",
    tag = "Registry",
    operation_id = "listProofIssuers",
    security(("session" = [])),
    responses((status = 200, description = "By kind.", body = IssuerListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(_): Manager,
) -> Result<Json<IssuerListResponse>> {
    let rows = issuers::list(&state.store).await?;
    Ok(Json(rows.into_iter().map(issuer_response).collect()))
}

/// Trust an issuer for a kind, or rename one.
#[utoipa::path(
    post,
    path = "/admin/proof-issuers",
    tag = "Registry",
    operation_id = "addProofIssuer",
    security(("session" = [])),
    request_body(content = AddIssuerRequest, example = json!({
            "kind": "gov-id",
            "issuer": "0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e",
            "name": "Our verifier"
        })),
    responses(
        (status = 200, description = "It was so.", body = IssuerResponse),
        (status = 201, description = "It is so now.", body = IssuerResponse),
    ),
)]
pub(super) async fn add(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<AddIssuerRequest>,
) -> Result<(StatusCode, Json<IssuerResponse>)> {
    let (kind, issuer) = (kind(&input.kind)?, issuer(&input.issuer)?);
    let (row, changed) = issuers::add(&state.audited, &actor, kind, issuer, &input.name).await?;
    let status = if changed { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(issuer_response(row))))
}

/// Stop trusting an issuer for a kind.
///
/// Proofs that it registered stay.
#[utoipa::path(
    delete,
    path = "/admin/proof-issuers/{kind}/{issuer}",
    tag = "Registry",
    operation_id = "removeProofIssuer",
    security(("session" = [])),
    params(("kind" = String, Path), ("issuer" = String, Path)),
    responses(
        (status = 204, description = "Off the list."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path((named, text)): Path<(String, String)>,
) -> Result<StatusCode> {
    let (kind, issuer) = (kind(&named), issuer(&text));
    let (Ok(kind), Ok(issuer)) = (kind, issuer) else { return Err(Error::not_found("issuer").into()) };
    issuers::remove(&state.audited, &actor, kind, issuer).await?;
    Ok(StatusCode::NO_CONTENT)
}
