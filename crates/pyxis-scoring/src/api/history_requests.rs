//! `/admin/history-requests`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, HistoryRequestId};
use pyxis_http::{Json, Path, Query};
use pyxis_store::history_requests::{HistoryRequestRow, RequestState};
use serde::{Deserialize, Serialize};

use super::Manager;
use crate::service::{Error, Result, history_requests};
use crate::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateHistoryRequest {
    api_key_id: String,
    use_case: String,
}

#[derive(Deserialize)]
pub(super) struct HistoryRequestListParams {
    state: Option<HistoryDecision>,
}

/// Decisions by name.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum HistoryDecision {
    Pending,
    Approved,
    Refused,
}

#[derive(Serialize)]
pub(super) struct HistoryRequestResponse {
    id: HistoryRequestId,
    api_key_id: ApiKeyId,
    use_case: String,
    state: HistoryDecision,
    requested_by: String,
    created_at: String,
    decided_by: Option<String>,
    decided_at: Option<String>,
}

#[derive(Serialize)]
pub(super) struct HistoryRequestListResponse {
    history_requests: Vec<HistoryRequestResponse>,
}

fn shown(row: HistoryRequestRow) -> HistoryRequestResponse {
    HistoryRequestResponse {
        id: row.id,
        api_key_id: row.api_key_id,
        use_case: row.use_case,
        state: match row.state {
            RequestState::Pending => HistoryDecision::Pending,
            RequestState::Approved => HistoryDecision::Approved,
            RequestState::Refused => HistoryDecision::Refused,
        },
        requested_by: row.requested_by,
        created_at: row.created_at.to_rfc3339(),
        decided_by: row.decided_by,
        decided_at: row.decided_at.map(UnixMillis::to_rfc3339),
    }
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Query(which): Query<HistoryRequestListParams>,
) -> Result<Json<HistoryRequestListResponse>> {
    let only = which.state.map(|word| match word {
        HistoryDecision::Pending => RequestState::Pending,
        HistoryDecision::Approved => RequestState::Approved,
        HistoryDecision::Refused => RequestState::Refused,
    });
    let rows = history_requests::list(&state, actor.workspace, only).await?;
    Ok(Json(HistoryRequestListResponse { history_requests: rows.into_iter().map(shown).collect() }))
}

pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<CreateHistoryRequest>,
) -> Result<(StatusCode, Json<HistoryRequestResponse>)> {
    let key: Result<ApiKeyId, _> = input.api_key_id.parse();
    let key = key.map_err(|error| Error::field("api_key_id", error.to_string()))?;
    let row = history_requests::create(&state, &actor, key, &input.use_case).await?;
    Ok((StatusCode::CREATED, Json(shown(row))))
}

pub(super) async fn approve(
    state: Extract<State>,
    manager: Manager,
    path: Path<String>,
) -> Result<Json<HistoryRequestResponse>> {
    decide(state, manager, path, true).await
}

pub(super) async fn refuse(
    state: Extract<State>,
    manager: Manager,
    path: Path<String>,
) -> Result<Json<HistoryRequestResponse>> {
    decide(state, manager, path, false).await
}

async fn decide(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(request): Path<String>,
    approve: bool,
) -> Result<Json<HistoryRequestResponse>> {
    let id: HistoryRequestId = request.parse().map_err(|_| Error::NotFound("history request"))?;
    Ok(Json(shown(history_requests::decide(&state, &actor, id, approve).await?)))
}
