//! `/admin/proofs`.

use axum::extract::State as Extract;
use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{Kind, NetworkName};
use pyxis_http::admin::{Listed, Manager, PageSize, Paged, PagedList, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::{Json, Query};
use pyxis_store::proof_log::LogRow;
use pyxis_store::proofs::{Ended, Filter, ProofRow};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{kind, subject};
use crate::service::Error;
use crate::service::proofs::{self, ProofKey};
use crate::state::State;
use crate::values::{LogChange, ProofEnd, RevokedWord};

const PAGE_SIZE: PageSize = PageSize { default: 100, most: 1000 };

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ProofListParams {
    /// Of this network.
    network: Option<String>,
    /// Of this kind.
    kind: Option<String>,
    /// Of this address.
    address: Option<String>,
    /// Older than this number.
    before: Option<i64>,
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct After {
    /// After this entry.
    after: Option<i64>,
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RevokeProofRequest {
    network: String,
    kind: String,
    address: String,
    action_id: String,
    reason: String,
}

impl Listed for ProofResponse {
    const MEMBER: &'static str = "proofs";
}

impl Paged for ProofResponse {
    type Cursor = i64;
    const NEXT: &'static str = "next";

    fn cursor(&self) -> i64 {
        self.id
    }
}

pub(super) type ProofListResponse = PagedList<ProofResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = Proof, example = json!({
    "id": 1,
    "network": "optimism",
    "kind": "gov-id",
    "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
    "action_id": "123456789",
    "nullifier": "20742354",
    "issuer": "0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e",
    "issued_at": "2026-01-31T09:05:00.000Z",
    "expires_at": "2027-01-31T09:05:00.000Z",
    "from_height": 146_000_000,
    "until_height": null,
    "ended": null,
    "registered_at": "2026-01-31T09:05:42.250Z"
}))]
pub(super) struct ProofResponse {
    #[schema(example = 1)]
    id: i64,
    #[schema(example = "optimism")]
    network: String,
    #[schema(example = "gov-id")]
    kind: &'static str,
    #[schema(example = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1")]
    address: String,
    #[schema(example = "123456789")]
    action_id: String,
    #[schema(example = "20742354")]
    nullifier: String,
    #[schema(example = "0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    issuer: String,
    #[schema(value_type = Time)]
    issued_at: String,
    #[schema(value_type = Time)]
    expires_at: String,
    #[schema(example = 146_000_000)]
    from_height: i64,
    /// The first block in which it no longer held.
    #[schema(required, example = json!(null))]
    until_height: Option<i64>,
    #[schema(value_type = Option<ProofEnd>, required)]
    ended: Option<&'static str>,
    #[schema(value_type = Time)]
    registered_at: String,
}

impl Listed for ProofLogEntry {
    const MEMBER: &'static str = "entries";
    const LIST_SCHEMA: Option<&'static str> = Some("ProofLogResponse");
}

impl Paged for ProofLogEntry {
    type Cursor = i64;
    const NEXT: &'static str = "next";
    const PARAMETER: &'static str = "after";

    fn cursor(&self) -> i64 {
        self.id
    }
}

pub(super) type ProofLogResponse = PagedList<ProofLogEntry>;

#[derive(Serialize, ToSchema)]
pub(super) struct ProofLogEntry {
    #[schema(example = 1)]
    id: i64,
    #[schema(value_type = LogChange)]
    change: &'static str,
    #[schema(example = "optimism")]
    network: String,
    #[schema(example = 146_000_000)]
    height: i64,
    #[schema(value_type = Time)]
    at: String,
    #[schema(required, example = "gov-id")]
    kind: Option<&'static str>,
    #[schema(example = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1")]
    address: String,
    #[schema(required, example = "123456789")]
    action_id: Option<String>,
    #[schema(required, example = "20742354")]
    nullifier: Option<String>,
    #[schema(required, example = "2027-01-31T09:05:00.000Z")]
    expires_at: Option<String>,
    #[schema(required, example = json!(null))]
    reason: Option<String>,
    #[schema(example = "0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    by: String,
}

#[derive(Serialize, ToSchema)]
pub(super) struct Revoked {
    #[schema(value_type = RevokedWord)]
    status: &'static str,
    #[schema(example = 146_000_000)]
    height: i64,
}

fn proof_response(row: ProofRow) -> ProofResponse {
    ProofResponse {
        id: row.id,
        network: row.network.to_string(),
        kind: row.kind.as_str(),
        address: row.subject.to_string(),
        action_id: row.action_id.to_string(),
        nullifier: row.nullifier.to_string(),
        issuer: row.issuer,
        issued_at: row.issued_at.to_rfc3339(),
        expires_at: row.expires_at.to_rfc3339(),
        from_height: row.from_height,
        until_height: row.until_height,
        ended: row.ended.map(Ended::as_str),
        registered_at: row.registered_at.to_rfc3339(),
    }
}

fn entry(row: LogRow) -> ProofLogEntry {
    ProofLogEntry {
        id: row.id,
        change: row.change.as_str(),
        network: row.network.to_string(),
        height: row.height,
        at: row.at.to_rfc3339(),
        kind: row.kind.map(Kind::as_str),
        address: row.subject.to_string(),
        action_id: row.action_id.map(|id| id.to_string()),
        nullifier: row.nullifier.map(|nullifier| nullifier.to_string()),
        expires_at: row.expires_at.map(UnixMillis::to_rfc3339),
        reason: row.reason,
        by: row.made_by.to_string(),
    }
}

fn network(text: &str) -> Result<NetworkName, Error> {
    text.parse().map_err(|error| Error::field("network", format!("{error}")))
}

/// List proofs, newest first.
#[utoipa::path(
    get,
    path = "/admin/proofs",
    tag = "Registry",
    operation_id = "listProofs",
    security(("session" = [])),
    params(ProofListParams),
    responses(
        (status = 200, description = "A page; `next` is the `before` of the next one.", body = ProofListResponse),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(_): Manager,
    Query(wanted): Query<ProofListParams>,
) -> Result<Json<ProofListResponse>> {
    let limit = PAGE_SIZE.require(wanted.limit)?;
    let filter = Filter {
        network: wanted.network.as_deref().map(network).transpose()?,
        kind: wanted.kind.as_deref().map(kind).transpose()?,
        subject: wanted
            .address
            .as_deref()
            .map(|text| subject("address", text, wanted.network.as_deref()))
            .transpose()?,
        before: wanted.before,
    };
    let rows = proofs::list(&state.store, &filter, limit).await?;
    Ok(Json(PagedList::new(rows.into_iter().map(proof_response).collect(), limit)))
}

/// Read the registry's log, oldest first.
#[utoipa::path(
    get,
    path = "/admin/proofs/log",
    tag = "Registry",
    operation_id = "readProofLog",
    security(("session" = [])),
    params(After),
    responses(
        (status = 200, description = "A page; `next` is the `after` of the next one.", body = ProofLogResponse),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn log(
    Extract(state): Extract<State>,
    Manager(_): Manager,
    Query(wanted): Query<After>,
) -> Result<Json<ProofLogResponse>> {
    let limit = PAGE_SIZE.require(wanted.limit)?;
    let rows = proofs::log(&state.store, wanted.after.unwrap_or(0), limit).await?;
    Ok(Json(PagedList::new(rows.into_iter().map(entry).collect(), limit)))
}

/// Revoke a proof of any issuer.
#[utoipa::path(
    post,
    path = "/admin/proofs/revoke",
    tag = "Registry",
    operation_id = "revokeProof",
    security(("session" = [])),
    request_body(content = RevokeProofRequest, example = json!({
            "network": "optimism",
            "kind": "gov-id",
            "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
            "action_id": "123456789",
            "reason": "the passport was forged"
        })),
    responses(
        (status = 200, description = "Revoked in this block.", body = Revoked),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn revoke(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<RevokeProofRequest>,
) -> Result<Json<Revoked>> {
    let action_id = input.action_id.parse();
    let place = ProofKey {
        network: network(&input.network)?,
        kind: kind(&input.kind)?,
        subject: subject("address", &input.address, Some(&input.network))?,
        action_id: action_id.map_err(|error| Error::field("action_id", format!("{error}")))?,
    };
    let height = proofs::revoke(&state, &actor, &place, &input.reason).await?;
    Ok(Json(Revoked { status: "revoked", height }))
}
