//! `/admin/policies/{credential}`.

use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pyxis_core::policy::Policy;
use pyxis_http::{Json, Path, Raw};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Editing, Manager, staged as proposals};
use crate::admin::policies::{self, Explanation, PolicyReplay};
use crate::admin::staged;
use crate::error::{Error, Result};
use crate::runtime::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainRequest {
    method: String,
    url: String,
    agent: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayInput {
    policy: Box<RawValue>,
    last: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct PolicyResponse {
    credential: String,
    version: i64,
    updated_at: String,
    updated_by: String,
    /// What passes although neither method nor path says what it does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(flatten)]
    policy: Policy,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
) -> Result<Json<PolicyResponse>> {
    let found = policies::get(&state, caller.workspace(), &credential.name).await?;
    let (row, policy) = found.ok_or(Error::NotFound("policy"))?;
    let mode = policies::mode(&state, caller.workspace()).await?;
    Ok(Json(PolicyResponse {
        warnings: policies::warnings(&credential, Some(&policy), mode),
        credential: credential.name,
        version: row.version,
        updated_at: row.updated_at.to_rfc3339(),
        updated_by: row.updated_by,
        policy,
    }))
}

/// At once for a manager; a member's is staged until their own passkey confirms it.
pub(super) async fn put(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
    Raw(body): Raw,
) -> Result<Response> {
    let policy = Policy::from_json(&body).map_err(policies::invalid)?;
    if !caller.user.role.is_manager() {
        let staged = staged::propose(&state, &caller, &credential.name, &policy).await?;
        return Ok(proposals::proposed(&state, staged).into_response());
    }
    policies::put(&state, &caller.actor(), &credential.name, &policy).await?;
    Ok(show(Extract(state), Editing { caller, credential }).await?.into_response())
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(credential): Path<String>,
) -> Result<Response> {
    policies::remove(&state, &person.actor(), &credential).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn explain(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
    Json(input): Json<ExplainRequest>,
) -> Result<Json<Explanation>> {
    let (workspace, name) = (caller.workspace(), &credential.name);
    let ExplainRequest { method, url, agent } = input;
    Ok(Json(policies::explain(&state, workspace, name, &method, &url, agent.as_deref()).await?))
}

pub(super) async fn replay(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
    Json(input): Json<ReplayInput>,
) -> Result<Json<PolicyReplay>> {
    let draft = Policy::from_json(input.policy.get().as_bytes()).map_err(policies::invalid)?;
    let last = input.last.unwrap_or(100);
    Ok(Json(policies::replay(&state, caller.workspace(), &credential.name, &draft, last).await?))
}
