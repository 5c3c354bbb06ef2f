//! `/admin/credentials`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::auth::{Auth, Connector};
use pyxis_core::policy::Policy;
use pyxis_http::admin::{CompleteList, Listed, Manager};
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::openapi::{Id, Name, Time};
use pyxis_http::{Json, Path};
use pyxis_store::Store;
use pyxis_store::cipher::Keyring;
use pyxis_store::credentials::CredentialRow;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::admin::credentials::{self, CredentialInput, CredentialPatch};
use crate::admin::{connected_accounts, policies};
use crate::error::Result;
use crate::problems::{InvalidProbe, NameTaken, ProbeFailed, ProbeRefused, UpstreamTimeout};
use crate::runtime::resolve::CredentialOptions;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;
use crate::values;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CredentialInput)]
pub(super) struct CreateCredentialRequest {
    #[schema(value_type = Name)]
    name: String,
    /// For people and agents. At most 2000 bytes.
    #[serde(default)]
    #[schema(max_length = 2000, default = "")]
    description: String,
    #[schema(nullable = false, default = "direct")]
    connector: Option<Connector>,
    /// Address of the sidecar, for example `http://127.0.0.1:8080`.
    #[schema(format = "uri", nullable = false, example = "http://127.0.0.1:8080")]
    api_base: Option<String>,
    #[schema(value_type = Option<values::AuthSettings>, nullable = false)]
    auth: Option<Auth>,
    #[serde(default)]
    #[schema(value_type = values::AllowedHosts, default = json!([]))]
    allowed_hosts: Vec<String>,
    /// True if plain `http` targets are allowed.
    #[serde(default)]
    #[schema(default = false)]
    allow_http: bool,
    #[serde(default)]
    options: CredentialOptions,
    #[schema(value_type = Option<values::Secret>, nullable = false, write_only)]
    secret: Option<Value>,
    /// Policy to start with, stored together with the credential. Without one, the workspace's mode applies.
    #[schema(value_type = Option<values::PolicyInput>, nullable = false)]
    policy: Option<Box<RawValue>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CredentialPatch)]
pub(super) struct UpdateCredentialRequest {
    #[schema(nullable = false, max_length = 2000)]
    description: Option<String>,
    #[schema(format = "uri", nullable = false, example = "http://127.0.0.1:8080")]
    api_base: Option<String>,
    #[schema(value_type = Option<values::AuthSettings>, nullable = false)]
    auth: Option<Auth>,
    #[schema(value_type = Option<values::AllowedHosts>, nullable = false)]
    allowed_hosts: Option<Vec<String>>,
    #[schema(nullable = false)]
    allow_http: Option<bool>,
    #[schema(nullable = false)]
    options: Option<CredentialOptions>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SecretInput)]
pub(super) struct ReplaceSecret {
    #[schema(value_type = values::Secret, write_only)]
    secret: Value,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = VerifyInput)]
pub(super) struct Verify {
    /// Default: `/` of the first exact allowed host.
    #[schema(format = "uri", nullable = false, example = "https://api.github.com/user")]
    url: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct VerifyResponse {
    #[schema(minimum = 100, maximum = 999)]
    status: u16,
    /// True if the status is 2xx or 3xx.
    ok: bool,
}

#[derive(Serialize, ToSchema)]
pub(super) struct SecretVersion {
    #[schema(example = "github")]
    name: String,
    #[schema(minimum = 1, example = 2)]
    version: i64,
    /// As for a credential.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Credential)]
pub(super) struct CredentialResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Name)]
    name: String,
    #[schema(example = "Issues of the main repository")]
    description: String,
    connector: Connector,
    #[schema(required, example = json!(null))]
    api_base: Option<String>,
    /// Null for a sidecar.
    #[schema(value_type = Option<values::AuthSettings>, required)]
    auth: Option<Value>,
    #[schema(value_type = values::AllowedHosts)]
    allowed_hosts: Value,
    allow_http: bool,
    #[schema(value_type = CredentialOptions)]
    options: Value,
    has_secret: bool,
    /// Increases with every new secret.
    #[schema(minimum = 1, example = 1)]
    version: i64,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Time)]
    updated_at: String,
    #[schema(value_type = Option<Time>, required)]
    last_used_at: Option<String>,
    #[schema(value_type = Option<Time>, required)]
    verified_at: Option<String>,
    /// Status of the last test.
    #[schema(required, example = 200)]
    verified_status: Option<i64>,
    /// Warnings, for example about a secret of fewer than 8 characters. Only when one credential is shown, and
    /// only if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// The scope that the token endpoint granted, if it differs from the requested one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    granted_scope: Option<String>,
}

impl Listed for CredentialResponse {
    const MEMBER: &'static str = "credentials";
}

pub(super) type CredentialListResponse = CompleteList<CredentialResponse>;

async fn credential_response(store: &Store, row: CredentialRow) -> Result<CredentialResponse> {
    let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let granted_scope = connected_accounts::granted_scope(store, &row).await?;
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

async fn shown_with_warnings(
    store: &Store,
    keyring: &Keyring,
    row: CredentialRow,
) -> Result<CredentialResponse> {
    let warnings = credentials::warnings(keyring, &row);
    Ok(CredentialResponse { warnings, ..credential_response(store, row).await? })
}

/// List credentials.
#[utoipa::path(
    get,
    path = "/admin/credentials",
    tag = "Credentials",
    operation_id = "listCredentials",
    security(("session" = [])),
    responses((status = 200, description = "Without any secret.", body = CredentialListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<CredentialListResponse>> {
    let rows = credentials::list(&state.store, actor.workspace).await?;
    let mut credentials = Vec::with_capacity(rows.len());
    for row in rows {
        credentials.push(credential_response(&state.store, row).await?);
    }
    Ok(Json(credentials.into()))
}

/// Store a credential.
///
/// A `direct` credential needs `auth` and `secret`. A `sidecar` credential needs `api_base`; its optional secret
/// is the sidecar's own bearer token. Without `allowed_hosts` every request is refused with 403
/// `host_not_allowed`.
#[utoipa::path(
    post,
    path = "/admin/credentials",
    tag = "Credentials",
    operation_id = "createCredential",
    security(("session" = [])),
    request_body(content = CreateCredentialRequest, examples(("direct" = (summary = "A bearer token", value = json!({
            "name": "github",
            "description": "Issues of the main repository",
            "auth": {
                "kind": "bearer"
            },
            "allowed_hosts": [
                "api.github.com"
            ],
            "secret": "<SECRET>"
        }))), ("sidecar" = (summary = "A signing sidecar", value = json!({
            "name": "my-app",
            "description": "Signed with OAuth 1.0a",
            "connector": "sidecar",
            "api_base": "http://127.0.0.1:8080",
            "allowed_hosts": [
                "api.example.org"
            ]
        }))))),
    responses(
        (status = 201, description = "Stored; without the secret.", body = CredentialResponse),
        (status = 409, response = NameTaken),
    ),
)]
pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<CreateCredentialRequest>,
) -> Result<(StatusCode, Json<CredentialResponse>)> {
    let policy = input.policy.map(|document| Policy::from_json(document.get().as_bytes()));
    let input = CredentialInput {
        policy: policy.transpose().map_err(policies::invalid)?,
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
    let row = credentials::create(&state, &actor, input).await?;
    Ok((StatusCode::CREATED, Json(shown_with_warnings(&state.store, &state.keyring, row).await?)))
}

/// Show a credential.
#[utoipa::path(
    get,
    path = "/admin/credentials/{name}",
    tag = "Credentials",
    operation_id = "showCredential",
    security(("session" = [])),
    params(("name" = String, Path, min_length = 1, description = "The credential.", example = "github")),
    responses(
        (status = 200, description = "Without its secret.", body = CredentialResponse, example = json!({
            "id": "019c1234-5678-7abc-8def-0123456789ab",
            "name": "github",
            "description": "Issues of the main repository",
            "connector": "direct",
            "api_base": null,
            "auth": {
                "kind": "bearer"
            },
            "allowed_hosts": [
                "api.github.com"
            ],
            "allow_http": false,
            "options": {
                "allow_set_cookie": false,
                "pass_traceparent": false
            },
            "has_secret": true,
            "version": 1,
            "created_at": "2026-01-31T09:00:00.000Z",
            "updated_at": "2026-01-31T09:00:00.000Z",
            "last_used_at": null,
            "verified_at": null,
            "verified_status": null
        })),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(name): Path<String>,
) -> Result<Json<CredentialResponse>> {
    let row = credentials::get(&state.store, actor.workspace, &name).await?;
    Ok(Json(shown_with_warnings(&state.store, &state.keyring, row).await?))
}

/// Change a credential's configuration.
///
/// Members that are left out stay unchanged, as does the secret.
#[utoipa::path(
    patch,
    path = "/admin/credentials/{name}",
    tag = "Credentials",
    operation_id = "updateCredential",
    security(("session" = [])),
    params(("name" = String, Path, min_length = 1, description = "The credential.", example = "github")),
    request_body(content = Option<UpdateCredentialRequest>, example = json!({"allowed_hosts": ["api.github.com", "*.example.org:8443"]})),
    responses(
        (status = 200, description = "The credential after the change.", body = CredentialResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
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
    let row = credentials::update(&state, &actor, &name, patch).await?;
    Ok(Json(shown_with_warnings(&state.store, &state.keyring, row).await?))
}

/// Replace a credential's secret.
///
/// Raises the version and ends the credential's grants.
#[utoipa::path(
    put,
    path = "/admin/credentials/{name}/secret",
    tag = "Credentials",
    operation_id = "replaceSecret",
    security(("session" = [])),
    params(("name" = String, Path, min_length = 1, description = "The credential.", example = "github")),
    request_body(content = ReplaceSecret, example = json!({"secret": "<SECRET>"})),
    responses(
        (status = 200, description = "Replaced.", body = SecretVersion),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn replace_secret(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(name): Path<String>,
    Json(input): Json<ReplaceSecret>,
) -> Result<Json<SecretVersion>> {
    let secret = SecretValue::from_json(input.secret)?;
    let version = credentials::replace_secret(&state, &actor, &name, secret).await?;
    let warnings =
        credentials::warnings(&state.keyring, &credentials::get(&state.store, actor.workspace, &name).await?);
    Ok(Json(SecretVersion { name, version, warnings }))
}

/// Test a credential.
///
/// Sends one GET with the credential, within its allowed hosts, and returns only the status.
#[utoipa::path(
    post,
    path = "/admin/credentials/{name}/verify",
    tag = "Credentials",
    operation_id = "verifyCredential",
    security(("session" = [])),
    params(("name" = String, Path, min_length = 1, description = "The credential.", example = "github")),
    request_body(content = Option<Verify>, example = json!({"url": "https://api.github.com/user"})),
    responses(
        (status = 200, description = "The target responded.", body = VerifyResponse, example = json!({"status": 200, "ok": true})),
        (status = 400, response = InvalidProbe),
        (status = 403, response = ProbeRefused),
        (status = 404, response = NotFound),
        (status = 502, response = ProbeFailed),
        (status = 504, response = UpstreamTimeout),
    ),
)]
pub(super) async fn verify(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(name): Path<String>,
    Json(input): Json<Verify>,
) -> Result<Json<VerifyResponse>> {
    let status = credentials::verify(&state, &actor, &name, input.url.as_deref()).await?;
    Ok(Json(VerifyResponse { status, ok: (200..400).contains(&status) }))
}

/// Remove a credential with its policy and grants.
///
/// Its pending requests can no longer be sent.
#[utoipa::path(
    delete,
    path = "/admin/credentials/{name}",
    tag = "Credentials",
    operation_id = "removeCredential",
    security(("session" = [])),
    params(("name" = String, Path, min_length = 1, description = "The credential.", example = "github")),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(name): Path<String>,
) -> Result<StatusCode> {
    credentials::remove(&state.audited, &actor, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
