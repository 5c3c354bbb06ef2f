//! `/admin/history-requests`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, HistoryRequestId};
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path, Query};
use pyxis_store::history_requests::{HistoryRequestRow, RequestState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::problems::{NothingToRequest, RequestDecided};
use crate::service::{Error, history_requests};
use crate::state::State;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateHistoryRequest {
    api_key_id: String,
    /// Purpose of the access.
    #[schema(max_length = 4000, min_length = 1)]
    use_case: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryRequestListParams {
    /// Only requests in this state.
    #[param(inline)]
    state: Option<HistoryDecision>,
}

/// Decisions by name.
#[derive(Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum HistoryDecision {
    Pending,
    Approved,
    Refused,
}

#[derive(Serialize, ToSchema)]
#[schema(as = HistoryRequest, example = json!({
    "id": "019c1234-5678-7abc-8def-0123456789ab",
    "api_key_id": "key_0123456789abcdef",
    "use_case": "We compare scores at the snapshot of a vote.",
    "state": "approved",
    "requested_by": "grace@example.org",
    "created_at": "2026-01-31T09:05:00.250Z",
    "decided_by": "ada@example.org",
    "decided_at": "2026-01-31T14:20:30.125Z"
}))]
pub(super) struct HistoryRequestResponse {
    #[schema(value_type = Id)]
    id: HistoryRequestId,
    #[schema(value_type = String, example = "key_0123456789abcdef")]
    api_key_id: ApiKeyId,
    #[schema(example = "We compare scores at the snapshot of a vote.")]
    use_case: String,
    state: HistoryDecision,
    #[schema(example = "grace@example.org")]
    requested_by: String,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(required, example = "ada@example.org")]
    decided_by: Option<String>,
    #[schema(value_type = Option<Time>, required)]
    decided_at: Option<String>,
}

impl Listed for HistoryRequestResponse {
    const MEMBER: &'static str = "history_requests";
}

pub(super) type HistoryRequestListResponse = CompleteList<HistoryRequestResponse>;

fn history_request_response(row: HistoryRequestRow) -> HistoryRequestResponse {
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

/// List requests for access to history.
#[utoipa::path(
    get,
    path = "/admin/history-requests",
    tag = "API keys",
    operation_id = "listHistoryRequests",
    security(("session" = [])),
    params(HistoryRequestListParams),
    responses(
        (status = 200, description = "Newest first.", body = HistoryRequestListResponse),
        (status = 422, response = InvalidField),
    ),
)]
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
    let rows = history_requests::list(&state.store, actor.workspace, only).await?;
    Ok(Json(rows.into_iter().map(history_request_response).collect()))
}

/// Request access to history for a key.
#[utoipa::path(
    post,
    path = "/admin/history-requests",
    tag = "API keys",
    operation_id = "createHistoryRequest",
    security(("session" = [])),
    request_body(content = CreateHistoryRequest, example = json!({
            "api_key_id": "key_0123456789abcdef",
            "use_case": "We compare scores at the snapshot of a vote."
        })),
    responses(
        (status = 201, description = "It waits for a decision.", body = HistoryRequestResponse),
        (status = 409, response = NothingToRequest),
    ),
)]
pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<CreateHistoryRequest>,
) -> Result<(StatusCode, Json<HistoryRequestResponse>)> {
    let key: Result<ApiKeyId, _> = input.api_key_id.parse();
    let key = key.map_err(|error| Error::field("api_key_id", error.to_string()))?;
    let row = history_requests::create(&state, &actor, key, &input.use_case).await?;
    Ok((StatusCode::CREATED, Json(history_request_response(row))))
}

/// Approve access to history.
#[utoipa::path(
    post,
    path = "/admin/history-requests/{id}/approve",
    tag = "API keys",
    operation_id = "approveHistoryRequest",
    security(("session" = [])),
    params(("id" = inline(Id), Path)),
    responses(
        (status = 200, description = "Approved.", body = HistoryRequestResponse),
        (status = 404, response = NotFound),
        (status = 409, response = RequestDecided),
    ),
)]
pub(super) async fn approve(
    state: Extract<State>,
    manager: Manager,
    path: Path<String>,
) -> Result<Json<HistoryRequestResponse>> {
    decide(state, manager, path, true).await
}

/// Refuse a request for access to history.
#[utoipa::path(
    post,
    path = "/admin/history-requests/{id}/refuse",
    tag = "API keys",
    operation_id = "refuseHistoryRequest",
    security(("session" = [])),
    params(("id" = inline(Id), Path)),
    responses(
        (status = 200, description = "Refused.", body = HistoryRequestResponse),
        (status = 404, response = NotFound),
        (status = 409, response = RequestDecided),
    ),
)]
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
    let id: HistoryRequestId = request.parse().map_err(|_| Error::not_found("history request"))?;
    Ok(Json(history_request_response(history_requests::decide(&state.audited, &actor, id, approve).await?)))
}
