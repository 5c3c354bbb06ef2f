//! `/admin/policies/{credential}`.

use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pyxis_core::policy::Policy;
use pyxis_http::admin::Manager;
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::{Json, Path, Raw};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Editing, staged as proposals};
use crate::admin::explanation::{self, ExplainedRequest, Explanation};
use crate::admin::policies::{self, PolicyReplay};
use crate::admin::{staged, workspaces};
use crate::error::{Error, Result};
use crate::runtime::state::State;
use crate::values::PolicyInput;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainRequest {
    method: String,
    url: String,
    /// Name of an agent, to include its own grants.
    #[schema(nullable = false)]
    agent: Option<String>,
    /// Body of the request, for content rules.
    #[schema(nullable = false)]
    body: Option<String>,
    /// `Content-Type` of the body.
    #[schema(nullable = false)]
    content_type: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayInput {
    #[schema(value_type = PolicyInput)]
    policy: Box<RawValue>,
    /// Number of requests to compare.
    #[schema(nullable = false, minimum = 1, maximum = 1000, default = 100)]
    last: Option<u32>,
}

/// A policy with all its members and its origin.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredPolicy)]
pub(super) struct PolicyResponse {
    #[schema(example = "github")]
    credential: String,
    #[schema(minimum = 1, example = 4)]
    version: i64,
    #[schema(value_type = Time)]
    updated_at: String,
    #[schema(example = "ada@example.org")]
    updated_by: String,
    /// Requests that pass although neither method nor path shows what they do, such as POST to a GraphQL endpoint.
    /// Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(flatten)]
    policy: Policy,
}

/// Show a credential's policy.
#[utoipa::path(
    get,
    path = "/admin/policies/{credential}",
    tag = "Policies",
    operation_id = "showPolicy",
    security(("session" = [])),
    params(
        ("credential" = String, Path, min_length = 1, description = "Name of the credential.", example = "github"),
    ),
    responses(
        (status = 200, description = "The policy.", body = PolicyResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
) -> Result<Json<PolicyResponse>> {
    let found = policies::get(&state.store, caller.workspace(), &credential.name).await?;
    let (row, policy) = found.ok_or(Error::not_found("policy"))?;
    let mode = workspaces::get(&state.store, caller.workspace()).await?.mode;
    Ok(Json(PolicyResponse {
        warnings: policies::warnings(&credential, Some(&policy), mode),
        credential: credential.name,
        version: row.version,
        updated_at: row.updated_at.to_rfc3339(),
        updated_by: row.updated_by,
        policy,
    }))
}

/// Replace a credential's policy.
///
/// Members that are left out have their defaults. Once a policy exists, methods that it does not list need
/// approval. Grants that a stricter policy no longer allows end permanently.
#[utoipa::path(
    put,
    path = "/admin/policies/{credential}",
    tag = "Policies",
    operation_id = "putPolicy",
    security(("session" = [])),
    params(
        ("credential" = String, Path, min_length = 1, description = "Name of the credential.", example = "github"),
    ),
    request_body(content = PolicyInput, example = json!({
            "auto_approve_methods": [
                "GET"
            ],
            "require_approval_methods": [
                "POST",
                "PATCH",
                "DELETE"
            ],
            "require_approval_urls": [
                "api.github.com/repos/*/*/hooks"
            ],
            "deny_urls": [
                "/admin"
            ],
            "allowed_approvers": [
                "ada@example.org"
            ],
            "channel": "dashboard",
            "min_approvals": 1
        })),
    responses(
        (status = 200, description = "The policy after the change.", body = PolicyResponse),
        (status = 202, description = "A member's proposal, which applies once their own passkey confirms it at `confirm_url`.", body = proposals::Proposed),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn put(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
    Raw(body): Raw,
) -> Result<Response> {
    let policy = Policy::from_json(&body).map_err(policies::invalid)?;
    if !caller.user.role.is_manager() {
        let staged = staged::propose(&state, &caller, &credential.name, &policy).await?;
        return Ok(proposals::proposed(&state.config, staged).into_response());
    }
    policies::put(&state, &caller.actor(), &credential.name, &policy).await?;
    Ok(show(Extract(state), Editing { caller, credential }).await?.into_response())
}

/// Remove a credential's policy.
///
/// The workspace's mode applies again.
#[utoipa::path(
    delete,
    path = "/admin/policies/{credential}",
    tag = "Policies",
    operation_id = "removePolicy",
    security(("session" = [])),
    params(
        ("credential" = String, Path, min_length = 1, description = "Name of the credential.", example = "github"),
    ),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(credential): Path<String>,
) -> Result<Response> {
    policies::remove(&state.audited, &actor, &credential).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Explain the decision about a request.
///
/// Uses the same function as `/forward`, before any network lookup. Nothing is sent.
#[utoipa::path(
    post,
    path = "/admin/policies/{credential}/explain",
    tag = "Policies",
    operation_id = "explainPolicy",
    security(("session" = [])),
    params(
        ("credential" = String, Path, min_length = 1, description = "Name of the credential.", example = "github"),
    ),
    request_body(content = ExplainRequest, example = json!({
            "method": "POST",
            "url": "https://api.github.com/repos/example/site/hooks",
            "agent": "default-agent"
        })),
    responses(
        (status = 200, description = "The decision and its rule.", body = Explanation, example = json!({
            "decision": "require_approval",
            "rule": "require_url",
            "pattern": "api.github.com/repos/*/*/hooks",
            "detail": "the URL matches require_approval_urls, which overrides every rule except deny"
        })),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn explain(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
    Json(input): Json<ExplainRequest>,
) -> Result<Json<Explanation>> {
    let (workspace, name) = (caller.workspace(), &credential.name);
    let request = ExplainedRequest {
        method: &input.method,
        url: &input.url,
        agent: input.agent.as_deref(),
        body: input.body.as_deref(),
        content_type: input.content_type.as_deref(),
        sent: None,
    };
    Ok(Json(explanation::explain(&state, workspace, name, &request).await?))
}

/// Try a draft policy on recent requests.
///
/// Lists audited requests that would be decided differently. Nothing is changed.
#[utoipa::path(
    post,
    path = "/admin/policies/{credential}/replay",
    tag = "Policies",
    operation_id = "replayPolicy",
    security(("session" = [])),
    params(
        ("credential" = String, Path, min_length = 1, description = "Name of the credential.", example = "github"),
    ),
    request_body(content = ReplayInput, example = json!({"policy": {"auto_approve_methods": ["GET", "POST"]}, "last": 200})),
    responses(
        (status = 200, description = "Changed decisions, newest first.", body = PolicyReplay),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn replay(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
    Json(input): Json<ReplayInput>,
) -> Result<Json<PolicyReplay>> {
    let draft = Policy::from_json(input.policy.get().as_bytes()).map_err(policies::invalid)?;
    let last = input.last.unwrap_or(100);
    Ok(Json(policies::replay(&state.store, caller.workspace(), &credential.name, &draft, last).await?))
}
