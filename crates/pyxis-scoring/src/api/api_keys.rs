//! `/admin/api-keys`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, ScorerId};
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::{Json, Path, Query};
use pyxis_store::api_keys::{ApiKeyChange, ApiKeyRow, Tier};
use pyxis_store::publishable_keys::PublishableKey;
use pyxis_store::usage::Surface;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::problems::KeyRevoked;
use crate::service::Error;
use crate::service::api_keys::{self, ApiKeyInput, FIRST_TIER};
use crate::state::State;
use crate::values::{Label, SurfaceName, TierLimit, TierNumber};

/// Place of a key.
#[derive(Clone, Copy, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ApiKeyKind)]
enum Kind {
    /// Secret, on a server.
    #[default]
    Server,
    /// In pages, for the widget.
    Publishable,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateApiKeyRequest {
    #[schema(value_type = Label)]
    name: String,
    /// `publishable` for a key in pages, which needs `scorer_id` and `origins`.
    #[schema(nullable = false)]
    kind: Option<Kind>,
    /// The scorer of a publishable key.
    #[schema(nullable = false, minimum = 1)]
    scorer_id: Option<i64>,
    /// Origins of a publishable key's pages, exactly as browsers send them; or `http://localhost:*`.
    #[schema(nullable = false, max_items = 50)]
    origins: Option<Vec<String>>,
    #[schema(value_type = Option<TierNumber>, nullable = false)]
    stamps_tier: Option<i64>,
    #[schema(value_type = Option<TierLimit>)]
    stamps_limit: Option<i64>,
    #[schema(value_type = Option<TierNumber>, nullable = false)]
    models_tier: Option<i64>,
    #[schema(value_type = Option<TierLimit>)]
    models_limit: Option<i64>,
    /// Read scores and Stamps; false for a publishable key.
    #[schema(nullable = false, default = true)]
    can_read: Option<bool>,
    /// Add and remove Stamps.
    #[schema(nullable = false, default = false)]
    can_write: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateApiKeyRequest {
    #[schema(value_type = Option<Label>, nullable = false)]
    name: Option<String>,
    #[schema(value_type = Option<TierNumber>, nullable = false)]
    stamps_tier: Option<i64>,
    #[schema(value_type = Option<TierLimit>)]
    stamps_limit: Option<i64>,
    #[schema(value_type = Option<TierNumber>, nullable = false)]
    models_tier: Option<i64>,
    #[schema(value_type = Option<TierLimit>)]
    models_limit: Option<i64>,
    #[schema(nullable = false)]
    can_read: Option<bool>,
    #[schema(nullable = false)]
    can_write: Option<bool>,
    #[schema(nullable = false)]
    can_read_history: Option<bool>,
    /// Origins of a publishable key; they replace those before.
    #[schema(nullable = false, max_items = 50)]
    origins: Option<Vec<String>>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Span {
    /// Hours to look back.
    #[param(minimum = 1, maximum = 168, default = 24)]
    hours: Option<u32>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub(super) struct ApiKeyResponse {
    #[schema(value_type = String, example = "key_0123456789abcdef")]
    id: ApiKeyId,
    #[schema(example = "website")]
    name: String,
    kind: Kind,
    /// The scorer of a publishable key; null for a server key.
    #[schema(value_type = Option<i64>, required, example = json!(null))]
    scorer_id: Option<ScorerId>,
    /// Origins of a publishable key.
    #[schema(example = json!(["https://app.example.org"]))]
    origins: Vec<String>,
    /// The first characters of the key.
    #[schema(example = "px_api_0a1b2c")]
    key_hint: String,
    #[schema(example = 2)]
    stamps_tier: i64,
    #[schema(required, example = json!(null))]
    stamps_limit: Option<i64>,
    #[schema(example = 1)]
    models_tier: i64,
    #[schema(required, example = json!(null))]
    models_limit: Option<i64>,
    can_read: bool,
    can_write: bool,
    can_read_history: bool,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Option<Time>, required)]
    last_used_at: Option<String>,
    #[schema(value_type = Option<Time>, required)]
    revoked_at: Option<String>,
    /// Present only in the response that creates the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    key: Option<String>,
}

impl Listed for ApiKeyResponse {
    const MEMBER: &'static str = "api_keys";
}

pub(super) type ApiKeyListResponse = CompleteList<ApiKeyResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = ApiKeyUsage)]
pub(super) struct UsageResponse {
    #[schema(value_type = Time)]
    from: String,
    #[schema(value_type = Time)]
    to: String,
    /// Current limit of a window of the Stamps endpoints.
    stamps_limit: i64,
    /// Current limit of a window of the models endpoint.
    models_limit: i64,
    windows: Vec<Window>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ApiKeyUsageWindow)]
struct Window {
    #[schema(value_type = SurfaceName)]
    surface: &'static str,
    #[schema(value_type = Time)]
    start: String,
    admitted: i64,
    refused: i64,
    #[schema(value_type = Time)]
    last_at: String,
}

fn api_key_response(
    row: ApiKeyRow,
    publishable: Option<PublishableKey>,
    key: Option<String>,
) -> ApiKeyResponse {
    let kind = if publishable.is_some() { Kind::Publishable } else { Kind::Server };
    let (scorer_id, origins) = match publishable {
        Some(PublishableKey { scorer, origins }) => (Some(scorer), origins),
        None => (None, Vec::new()),
    };
    ApiKeyResponse {
        id: row.id,
        name: row.name,
        kind,
        scorer_id,
        origins,
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

fn id(text: &str) -> Result<ApiKeyId, Error> {
    text.parse().map_err(|_| Error::not_found("API key"))
}

/// Requires the two fields of a tier together.
fn tier(limit_field: &str, tier: Option<i64>, limit: Option<i64>) -> Result<Option<Tier>, Error> {
    match (tier, limit) {
        (Some(tier), limit) => Ok(Some(Tier { tier, limit })),
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(Error::field(limit_field, "set the tier with it: only tier 4 has its own limit"))
        }
    }
}

/// Requires scorer and origins of a publishable key, and of no other.
fn publishable(
    kind: Kind,
    scorer: Option<i64>,
    origins: Option<Vec<String>>,
) -> Result<Option<PublishableKey>, Error> {
    match (kind, scorer, origins) {
        (Kind::Server, None, None) => Ok(None),
        (Kind::Server, Some(_), _) => Err(Error::field("scorer_id", "only with kind publishable")),
        (Kind::Server, None, Some(_)) => Err(Error::field("origins", "only with kind publishable")),
        (Kind::Publishable, None, _) => Err(Error::field("scorer_id", "a publishable key needs its scorer")),
        (Kind::Publishable, Some(id), origins) => {
            let scorer =
                ScorerId::try_from(id).map_err(|_| Error::field("scorer_id", format!("no scorer {id}")))?;
            Ok(Some(PublishableKey { scorer, origins: origins.unwrap_or_default() }))
        }
    }
}

/// List API keys.
#[utoipa::path(
    get,
    path = "/admin/api-keys",
    tag = "API keys",
    operation_id = "listApiKeys",
    security(("session" = [])),
    responses(
        (status = 200, description = "Including revoked ones; without the keys themselves.", body = ApiKeyListResponse),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<ApiKeyListResponse>> {
    let rows = api_keys::list(&state.store, actor.workspace).await?;
    let mut publishable = api_keys::publishable(&state.store, actor.workspace).await?;
    let shown = |row: ApiKeyRow| {
        let publishable = publishable.remove(&row.id);
        api_key_response(row, publishable, None)
    };
    Ok(Json(rows.into_iter().map(shown).collect()))
}

/// Create an API key.
///
/// By default the key reads and has tier 1. Access to history is granted on request. A publishable key stands in pages:
/// it serves the widget for one scorer, in pages of its origins.
#[utoipa::path(
    post,
    path = "/admin/api-keys",
    tag = "API keys",
    operation_id = "createApiKey",
    security(("session" = [])),
    request_body(content = CreateApiKeyRequest, example = json!({"name": "website", "stamps_tier": 2})),
    responses(
        (status = 201, description = "Created. `key` is shown only in this response.", body = ApiKeyResponse),
    ),
)]
pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<CreateApiKeyRequest>,
) -> Result<(StatusCode, Json<ApiKeyResponse>)> {
    let stamps = tier("stamps_limit", input.stamps_tier, input.stamps_limit)?;
    let models = tier("models_limit", input.models_tier, input.models_limit)?;
    let publishable = publishable(input.kind.unwrap_or_default(), input.scorer_id, input.origins)?;
    let input = ApiKeyInput {
        name: input.name,
        stamps: stamps.unwrap_or(FIRST_TIER),
        models: models.unwrap_or(FIRST_TIER),
        can_read: input.can_read.unwrap_or(publishable.is_none()),
        can_write: input.can_write.unwrap_or(false),
        publishable,
    };
    let (row, key) = api_keys::create(&state, &actor, input).await?;
    let publishable = api_keys::publishable_of(&state.store, actor.workspace, row.id).await?;
    Ok((StatusCode::CREATED, Json(api_key_response(row, publishable, Some(key.expose().clone())))))
}

/// Show an API key.
#[utoipa::path(
    get,
    path = "/admin/api-keys/{id}",
    tag = "API keys",
    operation_id = "showApiKey",
    security(("session" = [])),
    params(("id" = String, Path, pattern = "^key_[0-9a-f]{16}$")),
    responses(
        (status = 200, description = "The key's settings, without the key itself.", body = ApiKeyResponse, example = json!({
            "id": "key_0123456789abcdef",
            "name": "website",
            "kind": "server",
            "scorer_id": null,
            "origins": [],
            "key_hint": "px_api_0a1b2c",
            "stamps_tier": 2,
            "stamps_limit": null,
            "models_tier": 1,
            "models_limit": null,
            "can_read": true,
            "can_write": false,
            "can_read_history": false,
            "created_at": "2026-01-31T09:00:00.000Z",
            "last_used_at": null,
            "revoked_at": null
        })),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(key): Path<String>,
) -> Result<Json<ApiKeyResponse>> {
    let row = api_keys::get(&state.store, actor.workspace, id(&key)?).await?;
    let publishable = api_keys::publishable_of(&state.store, actor.workspace, row.id).await?;
    Ok(Json(api_key_response(row, publishable, None)))
}

/// Change an API key.
///
/// Members that are left out stay unchanged. A limit is sent together with its tier.
#[utoipa::path(
    patch,
    path = "/admin/api-keys/{id}",
    tag = "API keys",
    operation_id = "updateApiKey",
    security(("session" = [])),
    params(("id" = String, Path, pattern = "^key_[0-9a-f]{16}$")),
    request_body(content = Option<UpdateApiKeyRequest>, example = json!({"stamps_tier": 4, "stamps_limit": 10000})),
    responses(
        (status = 200, description = "The key after the change.", body = ApiKeyResponse),
        (status = 404, response = NotFound),
        (status = 409, response = KeyRevoked),
    ),
)]
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
    let row = api_keys::update(&state.audited, &actor, id(&key)?, change, input.origins).await?;
    let publishable = api_keys::publishable_of(&state.store, actor.workspace, row.id).await?;
    Ok(Json(api_key_response(row, publishable, None)))
}

/// Revoke an API key permanently.
#[utoipa::path(
    delete,
    path = "/admin/api-keys/{id}",
    tag = "API keys",
    operation_id = "revokeApiKey",
    security(("session" = [])),
    params(("id" = String, Path, pattern = "^key_[0-9a-f]{16}$")),
    responses(
        (status = 204, description = "Revoked, now or earlier."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn revoke(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(key): Path<String>,
) -> Result<StatusCode> {
    api_keys::revoke(&state.audited, &actor, id(&key)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List a key's requests by window.
#[utoipa::path(
    get,
    path = "/admin/api-keys/{id}/usage",
    tag = "API keys",
    operation_id = "showApiKeyUsage",
    security(("session" = [])),
    params(("id" = String, Path, pattern = "^key_[0-9a-f]{16}$"), Span),
    responses(
        (status = 200, description = "The windows of 15 minutes in which there were requests, oldest first.", body = UsageResponse, example = json!({
            "from": "2026-01-30T09:15:00.000Z",
            "to": "2026-01-31T09:15:00.000Z",
            "stamps_limit": 125,
            "models_limit": 15,
            "windows": [
                {
                    "surface": "stamps",
                    "start": "2026-01-31T09:00:00.000Z",
                    "admitted": 125,
                    "refused": 4,
                    "last_at": "2026-01-31T09:11:20.000Z"
                }
            ]
        })),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn usage(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(key): Path<String>,
    Query(span): Query<Span>,
) -> Result<Json<UsageResponse>> {
    let found =
        api_keys::usage(&state.store, actor.workspace, id(&key)?, span.hours.unwrap_or(24), state.now())
            .await?;
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
