//! `/admin/grants`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::id::GrantId;
use pyxis_http::admin::{CompleteList, Listed, Manager};
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path, Query};
use pyxis_store::grants::GrantRow;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::admin::grants;
use crate::error::{Error, Result};
use crate::problems::GrantOver;
use crate::runtime::state::State;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct GrantListParams {
    /// Include ended grants.
    #[serde(default)]
    #[param(default = false)]
    ended: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Grant, example = json!({
    "id": "019c1234-9abc-7def-8012-3456789abcde",
    "credential_id": "0190a2b4-7c00-7000-8000-000000000002",
    "method": "POST",
    "route": "https://api.github.com:443/repos/example/site/issues",
    "agent_id": "0190a2b4-7c00-7000-8000-000000000001",
    "txn_id": "019c1234-5678-7abc-8def-0123456789ab",
    "created_by": "ada@example.org",
    "created_at": "2026-01-31T09:07:30.125Z",
    "expires_at": "2026-01-31T10:07:30.125Z",
    "max_uses": null,
    "uses": 2,
    "last_used_at": "2026-01-31T09:20:00.500Z",
    "ended_at": null,
    "ended_reason": null
}))]
pub(super) struct GrantResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    credential_id: String,
    #[schema(example = "POST")]
    method: String,
    /// Scheme, host, port and path, exactly.
    #[schema(example = "https://api.github.com:443/repos/example/site/issues")]
    route: String,
    /// Null: all agents that may use the credential.
    #[schema(value_type = Option<Id>, required)]
    agent_id: Option<String>,
    /// The transaction that opened it.
    #[schema(value_type = Option<Id>, required)]
    txn_id: Option<String>,
    #[schema(example = "ada@example.org")]
    created_by: String,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Time)]
    expires_at: String,
    #[schema(required, example = json!(null))]
    max_uses: Option<i64>,
    #[schema(minimum = 0, example = 2)]
    uses: i64,
    #[schema(value_type = Option<Time>, required)]
    last_used_at: Option<String>,
    #[schema(value_type = Option<Time>, required)]
    ended_at: Option<String>,
    #[schema(required, example = json!(null))]
    ended_reason: Option<String>,
}

impl Listed for GrantResponse {
    const MEMBER: &'static str = "grants";
}

pub(super) type GrantListResponse = CompleteList<GrantResponse>;

fn grant_response(row: GrantRow) -> GrantResponse {
    GrantResponse {
        id: row.id.to_string(),
        credential_id: row.credential_id.to_string(),
        method: row.method.to_string(),
        route: row.route,
        agent_id: row.agent_id.map(|id| id.to_string()),
        txn_id: row.txn_id.map(|id| id.to_string()),
        created_by: row.created_by_email,
        created_at: row.created_at.to_rfc3339(),
        expires_at: row.expires_at.to_rfc3339(),
        max_uses: row.max_uses,
        uses: row.uses,
        last_used_at: row.last_used_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
        ended_at: row.ended_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
        ended_reason: row.ended_reason,
    }
}

/// List grants.
#[utoipa::path(
    get,
    path = "/admin/grants",
    tag = "Grants",
    operation_id = "listGrants",
    security(("session" = [])),
    params(GrantListParams),
    responses(
        (status = 200, description = "Newest first.", body = GrantListResponse),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Query(which): Query<GrantListParams>,
) -> Result<Json<GrantListResponse>> {
    let rows = grants::list(&state.store, actor.workspace, which.ended, state.now()).await?;
    Ok(Json(rows.into_iter().map(grant_response).collect()))
}

/// Revoke a grant.
///
/// Ends a grant now. A grant that has already been revoked, has expired or was ended by a change of policy or
/// secret is 409 `conflict`.
#[utoipa::path(
    delete,
    path = "/admin/grants/{id}",
    tag = "Grants",
    operation_id = "revokeGrant",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The grant.")),
    responses(
        (status = 204, description = "Revoked."),
        (status = 404, response = NotFound),
        (status = 409, response = GrantOver),
    ),
)]
pub(super) async fn revoke(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    let id: GrantId = id.parse().map_err(|_| Error::not_found("grant"))?;
    grants::revoke(&state.audited, &actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
