//! `/admin/issuers`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_http::{Json, Path};
use pyxis_store::issuers::IssuerRow;
use serde::{Deserialize, Serialize};

use super::Manager;
use crate::service::Result;
use crate::service::issuers::{self, Added};
use crate::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddIssuerRequest {
    did: String,
    name: String,
}

#[derive(Serialize)]
pub(super) struct IssuerResponse {
    did: String,
    name: String,
    created_at: String,
}

#[derive(Serialize)]
pub(super) struct IssuerListResponse {
    issuers: Vec<IssuerResponse>,
}

fn shown(row: IssuerRow) -> IssuerResponse {
    IssuerResponse { did: row.did, name: row.name, created_at: row.created_at.to_rfc3339() }
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<IssuerListResponse>> {
    let rows = issuers::list(&state, actor.workspace).await?;
    Ok(Json(IssuerListResponse { issuers: rows.into_iter().map(shown).collect() }))
}

/// 201 for a new issuer, 200 for a listed one, which may have a new name now.
pub(super) async fn add(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<AddIssuerRequest>,
) -> Result<(StatusCode, Json<IssuerResponse>)> {
    let (row, added) = issuers::add(&state, &actor, &input.did, &input.name).await?;
    let status = match added {
        Added::New => StatusCode::CREATED,
        Added::Renamed | Added::Unchanged => StatusCode::OK,
    };
    Ok((status, Json(shown(row))))
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(did): Path<String>,
) -> Result<StatusCode> {
    issuers::remove(&state, &actor, &did).await?;
    Ok(StatusCode::NO_CONTENT)
}
