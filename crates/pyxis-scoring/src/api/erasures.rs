//! `/admin/addresses`.

use std::collections::BTreeMap;

use axum::extract::State as Extract;
use pyxis_core::address::EvmAddress;
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::responses::InvalidField;
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path};
use serde::Serialize;
use utoipa::ToSchema;

use super::problems::Busy;
use crate::address;
use crate::service::Error;
use crate::service::erasures::{self, Erasure};
use crate::state::State;
use crate::values::AddressPath;

/// Receipt of an erasure.
#[derive(Serialize, ToSchema)]
#[schema(as = Erasure)]
pub(super) struct ErasureResponse {
    #[schema(value_type = Id)]
    id: String,
    /// Number of removed rows by kind, for example `stamps`, `scores`, `score_history`, `transfers`; also
    /// `claims_hashed`, the claims that stay under a hash.
    #[schema(example = json!({"addresses": 1, "scores": 1, "stamps": 2}))]
    removed: BTreeMap<String, i64>,
    /// Number of rows that stay by kind: `proof_registry`, whose answers for earlier heights never change.
    #[schema(example = json!({}))]
    kept: BTreeMap<String, i64>,
    #[schema(value_type = Time)]
    erased_at: String,
    /// Name of who erased it.
    #[schema(example = "ada@example.org")]
    erased_by: String,
    /// Number of the audit record.
    #[schema(example = 812)]
    audit_seq: i64,
    /// MAC of the audit record, in hex.
    #[schema(example = "5c1f0d6f4a2b9e8877665544332211000102030405060708090a0b0c0d0e0f10")]
    audit_mac: String,
}

impl Listed for ErasureResponse {
    const MEMBER: &'static str = "erasures";
}

pub(super) type ErasureListResponse = CompleteList<ErasureResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = ErasureOutcome)]
pub(super) struct OutcomeResponse {
    /// False if nothing was left to erase.
    erased: bool,
    /// The new receipt, or the last one if nothing was left; null if there is none.
    #[schema(required)]
    receipt: Option<ErasureResponse>,
}

fn erasure_response(row: Erasure) -> ErasureResponse {
    ErasureResponse {
        id: row.id.to_string(),
        removed: row.removed,
        kept: row.kept,
        erased_at: row.erased_at.to_rfc3339(),
        erased_by: row.erased_by,
        audit_seq: row.audit_seq,
        audit_mac: row.audit_mac,
    }
}

fn read(text: &str) -> Result<EvmAddress, Error> {
    address::read(text).map_err(|error| Error::field("address", error.to_string()))
}

/// Erase an address.
///
/// Removes its Stamps, scores, score history, claims that ended and queued webhook events; for managers of the
/// first workspace also its wallet activity. Active claims stay under a keyed hash, so that another address cannot use
/// the same account. There is no undo. A later import of the address starts fresh.
#[utoipa::path(
    post,
    path = "/admin/addresses/{address}/erase",
    tag = "Issuers",
    operation_id = "eraseAddress",
    security(("session" = [])),
    params(AddressPath),
    responses(
        (status = 200, description = "Erased, or nothing was left.", body = OutcomeResponse, example = json!({
            "erased": true,
            "receipt": {
                "id": "01950000-0000-7000-8000-000000000001",
                "removed": {"addresses": 1, "claims_hashed": 2, "score_history": 4, "scores": 1, "stamps": 2},
                "kept": {},
                "erased_at": "2026-01-31T09:00:00.000Z",
                "erased_by": "ada@example.org",
                "audit_seq": 812,
                "audit_mac": "5c1f0d6f4a2b9e8877665544332211000102030405060708090a0b0c0d0e0f10"
            }
        })),
        (status = 422, response = InvalidField),
        (status = 503, response = Busy),
    ),
)]
pub(super) async fn erase(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
) -> Result<Json<OutcomeResponse>> {
    let address = read(&text)?;
    // Runs to the end, even if no one waits for the response any more.
    let (work, workspace) = (state.clone(), actor.workspace);
    let running = tokio::spawn(async move { erasures::erase(&work, &actor, address).await });
    if let Some(receipt) = running.await.map_err(Error::internal)?? {
        return Ok(Json(OutcomeResponse { erased: true, receipt: Some(erasure_response(receipt)) }));
    }
    let last = erasures::receipts(&state.db, workspace, address).await?.into_iter().next();
    Ok(Json(OutcomeResponse { erased: false, receipt: last.map(erasure_response) }))
}

/// List the receipts of an erased address, newest first.
#[utoipa::path(
    get,
    path = "/admin/addresses/{address}/erasures",
    tag = "Issuers",
    operation_id = "listErasures",
    security(("session" = [])),
    params(AddressPath),
    responses(
        (status = 200, description = "The receipts; empty if the address was never erased.", body = ErasureListResponse),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
) -> Result<Json<ErasureListResponse>> {
    let found = erasures::receipts(&state.db, actor.workspace, read(&text)?).await?;
    Ok(Json(found.into_iter().map(erasure_response).collect()))
}
