//! `/admin/credentials`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::auth::{Auth, Connector};
use pyxis_http::{Json, Path};
use pyxis_store::credentials::CredentialRow;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Manager;
use crate::admin::credentials::{self, CredentialInput, CredentialPatch};
use crate::credentials::tokens::connect;
use crate::error::Result;
use crate::runtime::resolve::CredentialOptions;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateCredentialRequest {
    name: String,
    #[serde(default)]
    description: String,
    connector: Option<Connector>,
    api_base: Option<String>,
    auth: Option<Auth>,
    #[serde(default)]
    allowed_hosts: Vec<String>,
    #[serde(default)]
    allow_http: bool,
    #[serde(default)]
    options: CredentialOptions,
    secret: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateCredentialRequest {
    description: Option<String>,
    api_base: Option<String>,
    auth: Option<Auth>,
    allowed_hosts: Option<Vec<String>>,
    allow_http: Option<bool>,
    options: Option<CredentialOptions>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplaceSecret {
    secret: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Verify {
    url: Option<String>,
}

#[derive(Serialize)]
pub(super) struct VerifyResponse {
    status: u16,
    ok: bool,
}

#[derive(Serialize)]
pub(super) struct SecretVersion {
    name: String,
    version: i64,
    /// What to be careful about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct CredentialResponse {
    id: String,
    name: String,
    description: String,
    connector: Connector,
    api_base: Option<String>,
    auth: Option<Value>,
    allowed_hosts: Value,
    allow_http: bool,
    options: Value,
    has_secret: bool,
    version: i64,
    created_at: String,
    updated_at: String,
    last_used_at: Option<String>,
    verified_at: Option<String>,
    verified_status: Option<i64>,
    /// What to be careful about; only with one credential.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// Only where it is not the one asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    granted_scope: Option<String>,
}

#[derive(Serialize)]
pub(super) struct CredentialListResponse {
    credentials: Vec<CredentialResponse>,
}

async fn shown(state: &State, row: CredentialRow) -> Result<CredentialResponse> {
    let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let granted_scope = connect::granted_scope(state, &row).await?;
    Ok(CredentialResponse {
        id: row.id.to_string(),
        name: row.name,
        description: row.description,
        connector: row.connector,
        api_base: row.api_base,
        auth: row.auth.as_deref().map(json),
        allowed_hosts: json(&row.allowed_hosts),
        allow_http: row.allow_http,
        options: json(&row.options),
        has_secret: row.sealed_secret.is_some(),
        version: row.version,
        created_at: row.created_at.to_rfc3339(),
        updated_at: row.updated_at.to_rfc3339(),
        last_used_at: row.last_used_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
        verified_at: row.verified_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
        verified_status: row.verified_status,
        granted_scope,
        warnings: Vec::new(),
    })
}

async fn shown_with_warnings(state: &State, row: CredentialRow) -> Result<CredentialResponse> {
    let warnings = credentials::warnings(state, &row);
    Ok(CredentialResponse { warnings, ..shown(state, row).await? })
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(person): Manager,
) -> Result<Json<CredentialListResponse>> {
    let rows = credentials::list(&state, person.workspace()).await?;
    let mut credentials = Vec::with_capacity(rows.len());
    for row in rows {
        credentials.push(shown(&state, row).await?);
    }
    Ok(Json(CredentialListResponse { credentials }))
}

pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Json(input): Json<CreateCredentialRequest>,
) -> Result<(StatusCode, Json<CredentialResponse>)> {
    let input = CredentialInput {
        name: input.name,
        description: input.description,
        connector: input.connector.unwrap_or(Connector::Direct),
        api_base: input.api_base,
        auth: input.auth,
        allowed_hosts: input.allowed_hosts,
        allow_http: input.allow_http,
        options: input.options,
        secret: input.secret.map(SecretValue::from_json).transpose()?,
    };
    let row = credentials::create(&state, &person.actor(), input).await?;
    Ok((StatusCode::CREATED, Json(shown_with_warnings(&state, row).await?)))
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(name): Path<String>,
) -> Result<Json<CredentialResponse>> {
    let row = credentials::get(&state, person.workspace(), &name).await?;
    Ok(Json(shown_with_warnings(&state, row).await?))
}

pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(name): Path<String>,
    Json(input): Json<UpdateCredentialRequest>,
) -> Result<Json<CredentialResponse>> {
    let patch = CredentialPatch {
        description: input.description,
        api_base: input.api_base,
        auth: input.auth,
        allowed_hosts: input.allowed_hosts,
        allow_http: input.allow_http,
        options: input.options,
    };
    let row = credentials::update(&state, &person.actor(), &name, patch).await?;
    Ok(Json(shown_with_warnings(&state, row).await?))
}

pub(super) async fn replace_secret(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(name): Path<String>,
    Json(input): Json<ReplaceSecret>,
) -> Result<Json<SecretVersion>> {
    let secret = SecretValue::from_json(input.secret)?;
    let version = credentials::replace_secret(&state, &person.actor(), &name, secret).await?;
    let warnings = credentials::warnings(&state, &credentials::get(&state, person.workspace(), &name).await?);
    Ok(Json(SecretVersion { name, version, warnings }))
}

pub(super) async fn verify(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(name): Path<String>,
    Json(input): Json<Verify>,
) -> Result<Json<VerifyResponse>> {
    let status = credentials::verify(&state, &person.actor(), &name, input.url.as_deref()).await?;
    Ok(Json(VerifyResponse { status, ok: (200..400).contains(&status) }))
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(name): Path<String>,
) -> Result<StatusCode> {
    credentials::remove(&state, &person.actor(), &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
