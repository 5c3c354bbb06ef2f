//! `/admin/tokens`: personal access tokens of the caller.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::AccessTokenId;
use pyxis_http::{Json, Path, Query};
use pyxis_store::access_tokens::AccessTokenRow;
use serde::{Deserialize, Serialize};

use super::SignedIn;
use crate::admin::tokens::{self, Scopes};
use crate::error::{Error, Result};
use crate::runtime::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateTokenRequest {
    name: String,
    scopes: Vec<String>,
    expires_in_days: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct TokenListParams {
    /// Everybody's, for managers.
    #[serde(default)]
    all: bool,
}

#[derive(Serialize)]
pub(super) struct TokenResponse {
    id: String,
    user_id: String,
    name: String,
    scopes: Vec<&'static str>,
    hint: String,
    created_at: String,
    /// Null: it has no end.
    expires_at: Option<String>,
    last_used_at: Option<String>,
    /// Only when it was just made.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

#[derive(Serialize)]
pub(super) struct TokenListResponse {
    tokens: Vec<TokenResponse>,
}

fn shown(row: AccessTokenRow, token: Option<String>) -> TokenResponse {
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

pub(super) async fn list(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
    Query(which): Query<TokenListParams>,
) -> Result<Json<TokenListResponse>> {
    if which.all {
        person.require_manager()?;
    }
    let whose = (!which.all).then_some(person.user.id);
    let rows = tokens::list(&state, person.workspace(), whose).await?;
    Ok(Json(TokenListResponse { tokens: rows.into_iter().map(|row| shown(row, None)).collect() }))
}

pub(super) async fn create(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
    Json(input): Json<CreateTokenRequest>,
) -> Result<(StatusCode, Json<TokenResponse>)> {
    let scopes = Scopes::parse(input.scopes.iter().map(String::as_str))?;
    let (row, token) = tokens::create(&state, &person, &input.name, scopes, input.expires_in_days).await?;
    Ok((StatusCode::CREATED, Json(shown(row, Some(token.expose().clone())))))
}

pub(super) async fn revoke(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    let id: AccessTokenId = id.parse().map_err(|_| Error::NotFound("token"))?;
    tokens::revoke(&state, &person, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
