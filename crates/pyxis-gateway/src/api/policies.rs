//! `/admin/policies/{credential}`.

use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pyxis_core::policy::Policy;
use pyxis_http::{Json, Path, Raw};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Manager;
use crate::error::{Error, Result};
use crate::service::policies::{self, Explanation, Replay};
use crate::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Explain {
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
pub(super) struct Shown {
    credential: String,
    version: i64,
    updated_at: String,
    updated_by: String,
    #[serde(flatten)]
    policy: Policy,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(credential): Path<String>,
) -> Result<Json<Shown>> {
    let found = policies::get(&state, person.workspace(), &credential).await?;
    let (row, policy) = found.ok_or(Error::NotFound("policy"))?;
    Ok(Json(Shown {
        credential,
        version: row.version,
        updated_at: row.updated_at.to_rfc3339(),
        updated_by: row.updated_by,
        policy,
    }))
}

pub(super) async fn put(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(credential): Path<String>,
    Raw(body): Raw,
) -> Result<Json<Shown>> {
    let policy = Policy::from_json(&body).map_err(policies::invalid)?;
    policies::put(&state, &person.actor(), &credential, &policy).await?;
    show(Extract(state), Manager(person), Path(credential)).await
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
    Manager(person): Manager,
    Path(credential): Path<String>,
    Json(input): Json<Explain>,
) -> Result<Json<Explanation>> {
    let workspace = person.workspace();
    let Explain { method, url, agent } = input;
    Ok(Json(policies::explain(&state, workspace, &credential, &method, &url, agent.as_deref()).await?))
}

pub(super) async fn replay(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(credential): Path<String>,
    Json(input): Json<ReplayInput>,
) -> Result<Json<Replay>> {
    let draft = Policy::from_json(input.policy.get().as_bytes()).map_err(policies::invalid)?;
    let last = input.last.unwrap_or(100);
    Ok(Json(policies::replay(&state, person.workspace(), &credential, &draft, last).await?))
}
