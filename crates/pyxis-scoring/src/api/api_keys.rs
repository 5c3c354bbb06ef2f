//! `/admin/api-keys`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ApiKeyId;
use pyxis_http::{Json, Path, Query};
use pyxis_store::api_keys::{ApiKeyChange, ApiKeyRow, Tier};
use pyxis_store::usage::Surface;
use serde::{Deserialize, Serialize};

use super::Manager;
use crate::service::api_keys::{self, ApiKeyInput, FIRST_TIER};
use crate::service::{Error, Result};
use crate::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateApiKeyRequest {
    name: String,
    stamps_tier: Option<i64>,
    stamps_limit: Option<i64>,
    models_tier: Option<i64>,
    models_limit: Option<i64>,
    can_read: Option<bool>,
    can_write: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateApiKeyRequest {
    name: Option<String>,
    stamps_tier: Option<i64>,
    stamps_limit: Option<i64>,
    models_tier: Option<i64>,
    models_limit: Option<i64>,
    can_read: Option<bool>,
    can_write: Option<bool>,
    can_read_history: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct Span {
    hours: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct ApiKeyResponse {
    id: ApiKeyId,
    name: String,
    key_hint: String,
    stamps_tier: i64,
    stamps_limit: Option<i64>,
    models_tier: i64,
    models_limit: Option<i64>,
    can_read: bool,
    can_write: bool,
    can_read_history: bool,
    created_at: String,
    last_used_at: Option<String>,
    revoked_at: Option<String>,
    /// Present only in the response that creates the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

#[derive(Serialize)]
pub(super) struct ApiKeyListResponse {
    api_keys: Vec<ApiKeyResponse>,
}

#[derive(Serialize)]
pub(super) struct UsageResponse {
    from: String,
    to: String,
    stamps_limit: i64,
    models_limit: i64,
    windows: Vec<Window>,
}

#[derive(Serialize)]
struct Window {
    surface: &'static str,
    start: String,
    admitted: i64,
    refused: i64,
    last_at: String,
}

fn shown(row: ApiKeyRow, key: Option<String>) -> ApiKeyResponse {
    ApiKeyResponse {
        id: row.id,
        name: row.name,
        key_hint: row.key_hint,
        stamps_tier: row.stamps_tier,
        stamps_limit: row.stamps_limit,
        models_tier: row.models_tier,
        models_limit: row.models_limit,
        can_read: row.can_read,
        can_write: row.can_write,
        can_read_history: row.can_read_history,
        created_at: row.created_at.to_rfc3339(),
        last_used_at: row.last_used_at.map(UnixMillis::to_rfc3339),
        revoked_at: row.revoked_at.map(UnixMillis::to_rfc3339),
        key,
    }
}

fn id(text: &str) -> Result<ApiKeyId> {
    text.parse().map_err(|_| Error::NotFound("API key"))
}

/// Requires the two fields of a tier together.
fn tier(limit_field: &str, tier: Option<i64>, limit: Option<i64>) -> Result<Option<Tier>> {
    match (tier, limit) {
        (Some(tier), limit) => Ok(Some(Tier { tier, limit })),
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(Error::field(limit_field, "set the tier with it: only tier 4 has its own limit"))
        }
    }
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<ApiKeyListResponse>> {
    let rows = api_keys::list(&state, actor.workspace).await?;
    Ok(Json(ApiKeyListResponse { api_keys: rows.into_iter().map(|row| shown(row, None)).collect() }))
}

pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<CreateApiKeyRequest>,
) -> Result<(StatusCode, Json<ApiKeyResponse>)> {
    let stamps = tier("stamps_limit", input.stamps_tier, input.stamps_limit)?;
    let models = tier("models_limit", input.models_tier, input.models_limit)?;
    let input = ApiKeyInput {
        name: input.name,
        stamps: stamps.unwrap_or(FIRST_TIER),
        models: models.unwrap_or(FIRST_TIER),
        can_read: input.can_read.unwrap_or(true),
        can_write: input.can_write.unwrap_or(false),
    };
    let (row, key) = api_keys::create(&state, &actor, input).await?;
    Ok((StatusCode::CREATED, Json(shown(row, Some(key.expose().clone())))))
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(key): Path<String>,
) -> Result<Json<ApiKeyResponse>> {
    Ok(Json(shown(api_keys::get(&state, actor.workspace, id(&key)?).await?, None)))
}

pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(key): Path<String>,
    Json(input): Json<UpdateApiKeyRequest>,
) -> Result<Json<ApiKeyResponse>> {
    let change = ApiKeyChange {
        name: input.name,
        stamps: tier("stamps_limit", input.stamps_tier, input.stamps_limit)?,
        models: tier("models_limit", input.models_tier, input.models_limit)?,
        can_read: input.can_read,
        can_write: input.can_write,
        can_read_history: input.can_read_history,
    };
    Ok(Json(shown(api_keys::update(&state, &actor, id(&key)?, change).await?, None)))
}

/// Idempotent: revoking a key again succeeds.
pub(super) async fn revoke(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(key): Path<String>,
) -> Result<StatusCode> {
    api_keys::revoke(&state, &actor, id(&key)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn usage(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(key): Path<String>,
    Query(span): Query<Span>,
) -> Result<Json<UsageResponse>> {
    let found = api_keys::usage(&state, actor.workspace, id(&key)?, span.hours.unwrap_or(24)).await?;
    let windows = found.windows.into_iter().map(|row| Window {
        surface: match row.surface {
            Surface::Stamps => "stamps",
            Surface::Models => "models",
        },
        start: row.window_start_at.to_rfc3339(),
        admitted: row.admitted,
        refused: row.refused,
        last_at: row.last_at.to_rfc3339(),
    });
    Ok(Json(UsageResponse {
        from: found.from.to_rfc3339(),
        to: found.to.to_rfc3339(),
        stamps_limit: found.stamps_limit,
        models_limit: found.models_limit,
        windows: windows.collect(),
    }))
}
