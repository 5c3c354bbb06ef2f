//! `/admin/proof-issuers`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_http::{Json, Path};
use pyxis_store::proof_issuers::ProofIssuerRow;
use serde::{Deserialize, Serialize};

use super::{Manager, kind};
use crate::registry::Issuer;
use crate::service::{Error, Result, issuers};
use crate::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddIssuerRequest {
    kind: String,
    issuer: String,
    name: String,
}

#[derive(Serialize)]
pub(super) struct IssuerResponse {
    kind: &'static str,
    issuer: String,
    name: String,
    created_at: String,
}

#[derive(Serialize)]
pub(super) struct IssuerListResponse {
    issuers: Vec<IssuerResponse>,
}

fn shown(row: ProofIssuerRow) -> IssuerResponse {
    let created_at = row.created_at.to_rfc3339();
    IssuerResponse { kind: row.kind.as_str(), issuer: row.issuer, name: row.name, created_at }
}

fn issuer(text: &str) -> Result<Issuer> {
    text.parse().map_err(|error| Error::field("issuer", format!("{error}")))
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(_): Manager,
) -> Result<Json<IssuerListResponse>> {
    let rows = issuers::list(&state).await?;
    Ok(Json(IssuerListResponse { issuers: rows.into_iter().map(shown).collect() }))
}

/// 201 if that changed something, 200 otherwise.
pub(super) async fn add(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<AddIssuerRequest>,
) -> Result<(StatusCode, Json<IssuerResponse>)> {
    let (kind, issuer) = (kind(&input.kind)?, issuer(&input.issuer)?);
    let (row, changed) = issuers::add(&state, &actor, kind, issuer, &input.name).await?;
    let status = if changed { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(shown(row))))
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path((named, text)): Path<(String, String)>,
) -> Result<StatusCode> {
    let (kind, issuer) = (kind(&named), issuer(&text));
    let (Ok(kind), Ok(issuer)) = (kind, issuer) else { return Err(Error::NotFound("issuer")) };
    issuers::remove(&state, &actor, kind, issuer).await?;
    Ok(StatusCode::NO_CONTENT)
}
