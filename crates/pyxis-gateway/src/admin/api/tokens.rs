//! `/admin/tokens`: personal access tokens of the caller.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::AccessTokenId;
use pyxis_http::admin::{CompleteList, Listed};
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::openapi::{Id, Time, text_enum};
use pyxis_http::{Json, Path, Query};
use pyxis_store::access_tokens::AccessTokenRow;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::SignedIn;
use crate::admin::tokens::{self, Scopes};
use crate::error::{Error, Result};
use crate::problems::NameTaken;
use crate::runtime::state::State;

pyxis_http::value_schemas! {
    Scope = text_enum([Scopes::APPROVE, Scopes::ADMIN]);
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TokenInput)]
pub(super) struct CreateTokenRequest {
    #[schema(max_length = 64, min_length = 1)]
    name: String,
    #[schema(value_type = Vec<Scope>, min_items = 1)]
    scopes: Vec<String>,
    /// Days until it expires. Absent or null: valid until revoked.
    #[schema(minimum = 1, maximum = 3650)]
    expires_in_days: Option<u32>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TokenListParams {
    /// List all members' tokens; for owners and admins.
    #[serde(default)]
    #[param(default = false)]
    all: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AccessToken)]
pub(super) struct TokenResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    user_id: String,
    #[schema(example = "approval page")]
    name: String,
    #[schema(value_type = Vec<Scope>)]
    scopes: Vec<&'static str>,
    /// Its first characters.
    #[schema(example = "px_pat_0a1b2c")]
    hint: String,
    #[schema(value_type = Time)]
    created_at: String,
    /// Null: it has no end.
    #[schema(value_type = Option<Time>, required)]
    expires_at: Option<String>,
    /// Accurate to the minute.
    #[schema(value_type = Option<Time>, required)]
    last_used_at: Option<String>,
    /// Only in the response that creates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token: Option<String>,
}

impl Listed for TokenResponse {
    const MEMBER: &'static str = "tokens";
    const LIST_SCHEMA: Option<&'static str> = Some("TokenListResponse");
}

pub(super) type TokenListResponse = CompleteList<TokenResponse>;

fn token_response(row: AccessTokenRow, token: Option<String>) -> TokenResponse {
    TokenResponse {
        id: row.id.to_string(),
        user_id: row.user_id.to_string(),
        scopes: tokens::scopes(&row).names(),
        name: row.name,
        hint: row.hint,
        created_at: row.created_at.to_rfc3339(),
        expires_at: row.expires_at.map(UnixMillis::to_rfc3339),
        last_used_at: row.last_used_at.map(UnixMillis::to_rfc3339),
        token,
    }
}

/// List your personal access tokens.
///
/// Requires a session; tokens cannot list tokens.
#[utoipa::path(
    get,
    path = "/admin/tokens",
    tag = "People",
    operation_id = "listTokens",
    security(("session" = [])),
    params(TokenListParams),
    responses(
        (status = 200, description = "Newest first, without the tokens themselves.", body = TokenListResponse),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
    Query(which): Query<TokenListParams>,
) -> Result<Json<TokenListResponse>> {
    if which.all {
        person.require_manager()?;
    }
    let whose = (!which.all).then_some(person.user.id);
    let rows = tokens::list(&state.store, person.workspace(), whose).await?;
    Ok(Json(rows.into_iter().map(|row| token_response(row, None)).collect()))
}

/// Create a personal access token.
///
/// It acts for you and loses every right that you lose. `px:approve` reads and decides requests under
/// `/approvals`, except approvals that need a passkey. `px:admin` is for the rest of this API, for owners and
/// admins, and does not include `px:approve`. Requires a session.
#[utoipa::path(
    post,
    path = "/admin/tokens",
    tag = "People",
    operation_id = "createToken",
    security(("session" = [])),
    request_body(content = CreateTokenRequest, example = json!({"name": "approval page", "scopes": ["px:approve"], "expires_in_days": 90})),
    responses(
        (status = 201, description = "The token, shown once.", body = TokenResponse),
        (status = 409, response = NameTaken),
    ),
)]
pub(super) async fn create(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
    Json(input): Json<CreateTokenRequest>,
) -> Result<(StatusCode, Json<TokenResponse>)> {
    let scopes = Scopes::parse(input.scopes.iter().map(String::as_str))?;
    let (row, token) = tokens::create(&state, &person, &input.name, scopes, input.expires_in_days).await?;
    Ok((StatusCode::CREATED, Json(token_response(row, Some(token.expose().clone())))))
}

/// Revoke a personal access token.
///
/// Your own; owners and admins can also revoke those of others. Requires a session.
#[utoipa::path(
    delete,
    path = "/admin/tokens/{id}",
    tag = "People",
    operation_id = "revokeToken",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The token.")),
    responses(
        (status = 204, description = "The token is no longer valid."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn revoke(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    let id: AccessTokenId = id.parse().map_err(|_| Error::not_found("token"))?;
    tokens::revoke(&state.audited, &person, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
