//! `/admin/grants`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::id::GrantId;
use pyxis_http::{Json, Path, Query};
use pyxis_store::grants::GrantRow;
use serde::{Deserialize, Serialize};

use super::Manager;
use crate::admin::grants;
use crate::error::{Error, Result};
use crate::runtime::state::State;

#[derive(Deserialize)]
pub(super) struct GrantListParams {
    #[serde(default)]
    ended: bool,
}

#[derive(Serialize)]
pub(super) struct GrantResponse {
    id: String,
    credential_id: String,
    method: String,
    route: String,
    agent_id: Option<String>,
    txn_id: Option<String>,
    created_by: String,
    created_at: String,
    expires_at: String,
    max_uses: Option<i64>,
    uses: i64,
    last_used_at: Option<String>,
    ended_at: Option<String>,
    ended_reason: Option<String>,
}

#[derive(Serialize)]
pub(super) struct GrantListResponse {
    grants: Vec<GrantResponse>,
}

fn shown(row: GrantRow) -> GrantResponse {
    GrantResponse {
        id: row.id.to_string(),
        credential_id: row.credential_id.to_string(),
        method: row.method,
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

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Query(which): Query<GrantListParams>,
) -> Result<Json<GrantListResponse>> {
    let rows = grants::list(&state, person.workspace(), which.ended).await?;
    Ok(Json(GrantListResponse { grants: rows.into_iter().map(shown).collect() }))
}

pub(super) async fn revoke(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    let id: GrantId = id.parse().map_err(|_| Error::NotFound("grant"))?;
    grants::revoke(&state, &person.actor(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}
