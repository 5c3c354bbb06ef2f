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
pub(super) struct Create {
    api_key_id: String,
    use_case: String,
}

#[derive(Deserialize)]
pub(super) struct Which {
    state: Option<Word>,
}

/// The states by name.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Pending,
    Approved,
    Refused,
}

#[derive(Serialize)]
pub(super) struct Shown {
    id: HistoryRequestId,
    api_key_id: ApiKeyId,
    use_case: String,
    state: Word,
    requested_by: String,
    created_at: String,
    decided_by: Option<String>,
    decided_at: Option<String>,
}

#[derive(Serialize)]
pub(super) struct List {
    history_requests: Vec<Shown>,
}

fn shown(row: HistoryRequestRow) -> Shown {
    Shown {
        id: row.id,
        api_key_id: row.api_key_id,
        use_case: row.use_case,
        state: match row.state {
            RequestState::Pending => Word::Pending,
            RequestState::Approved => Word::Approved,
            RequestState::Refused => Word::Refused,
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
    Query(which): Query<Which>,
) -> Result<Json<List>> {
    let only = which.state.map(|word| match word {
        Word::Pending => RequestState::Pending,
        Word::Approved => RequestState::Approved,
        Word::Refused => RequestState::Refused,
    });
    let rows = history_requests::list(&state, actor.workspace, only).await?;
    Ok(Json(List { history_requests: rows.into_iter().map(shown).collect() }))
}

pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<Create>,
) -> Result<(StatusCode, Json<Shown>)> {
    let key: Result<ApiKeyId, _> = input.api_key_id.parse();
    let key = key.map_err(|error| Error::field("api_key_id", error.to_string()))?;
    let row = history_requests::create(&state, &actor, key, &input.use_case).await?;
    Ok((StatusCode::CREATED, Json(shown(row))))
}

pub(super) async fn approve(
    state: Extract<State>,
    manager: Manager,
    path: Path<String>,
) -> Result<Json<Shown>> {
    decide(state, manager, path, true).await
}

pub(super) async fn refuse(
    state: Extract<State>,
    manager: Manager,
    path: Path<String>,
) -> Result<Json<Shown>> {
    decide(state, manager, path, false).await
}

async fn decide(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(request): Path<String>,
    approve: bool,
) -> Result<Json<Shown>> {
    let id: HistoryRequestId = request.parse().map_err(|_| Error::NotFound("history request"))?;
    Ok(Json(shown(history_requests::decide(&state, &actor, id, approve).await?)))
}
