//! `/admin/scorers`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::score::Weights;
use pyxis_http::{Json, Path};
use serde::{Deserialize, Serialize};

use super::Manager;
use crate::service::amount::{Amount, Amounts, weights};
use crate::service::preview::{self, Proposal};
use crate::service::scorers::{self, Rescore, Scorer, ScorerInput, ScorerPatch};
use crate::service::{Error, Result};
use crate::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateScorerRequest {
    name: String,
    threshold: Option<Amount>,
    weights: Option<Amounts>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateScorerRequest {
    name: Option<String>,
    threshold: Option<Amount>,
    weights: Option<Amounts>,
    revision: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Try {
    threshold: Option<Amount>,
    weights: Option<Amounts>,
}

#[derive(Serialize)]
pub(super) struct ScorerResponse {
    id: ScorerId,
    name: String,
    threshold: Decimal,
    /// Absent in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<Weights>,
    revision: i64,
    created_at: String,
}

#[derive(Serialize)]
pub(super) struct ScorerListResponse {
    scorers: Vec<ScorerResponse>,
}

#[derive(Serialize)]
pub(super) struct RescoreProgressResponse {
    stored: i64,
    outdated: i64,
    running: bool,
}

#[derive(Serialize)]
pub(super) struct Previewed {
    revision: i64,
    sampled: u32,
    passing_before: u32,
    passing_after: u32,
    gained: u32,
    lost: u32,
    histogram: Vec<Bucket>,
}

#[derive(Serialize)]
struct Bucket {
    from: Decimal,
    to: Decimal,
    before: u32,
    after: u32,
}

fn shown(scorer: Scorer) -> ScorerResponse {
    ScorerResponse {
        id: scorer.id,
        name: scorer.name,
        threshold: scorer.terms.threshold,
        weights: Some(scorer.terms.weights),
        revision: scorer.terms.revision,
        created_at: scorer.created_at.to_rfc3339(),
    }
}

fn id(text: &str) -> Result<ScorerId> {
    text.parse().map_err(|_| Error::NotFound("scorer"))
}

fn amount(amount: Option<Amount>) -> Option<Decimal> {
    amount.map(|Amount(decimal)| decimal)
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<ScorerListResponse>> {
    let rows = scorers::list(&state, actor.workspace).await?.into_iter();
    let scorers = rows.map(|row| ScorerResponse {
        id: row.id,
        name: row.name,
        threshold: row.threshold,
        weights: None,
        revision: row.revision,
        created_at: row.created_at.to_rfc3339(),
    });
    Ok(Json(ScorerListResponse { scorers: scorers.collect() }))
}

pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<CreateScorerRequest>,
) -> Result<(StatusCode, Json<ScorerResponse>)> {
    let input = ScorerInput {
        name: input.name,
        threshold: amount(input.threshold),
        weights: input.weights.map(weights),
    };
    Ok((StatusCode::CREATED, Json(shown(scorers::create(&state, &actor, input).await?))))
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
) -> Result<Json<ScorerResponse>> {
    Ok(Json(shown(scorers::get(&state, actor.workspace, id(&scorer)?).await?)))
}

pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
    Json(input): Json<UpdateScorerRequest>,
) -> Result<Json<ScorerResponse>> {
    let patch = ScorerPatch {
        name: input.name,
        threshold: amount(input.threshold),
        weights: input.weights.map(weights),
        revision: input.revision,
    };
    Ok(Json(shown(scorers::update(&state, &actor, id(&scorer)?, patch).await?)))
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
) -> Result<StatusCode> {
    scorers::remove(&state, &actor, id(&scorer)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn preview(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
    Json(input): Json<Try>,
) -> Result<Json<Previewed>> {
    let proposal = Proposal { threshold: amount(input.threshold), weights: input.weights.map(weights) };
    let found = preview::preview(&state, actor.workspace, id(&scorer)?, proposal).await?;
    let bucket = |bucket: preview::Bucket| {
        let preview::Bucket { from, to, before, after } = bucket;
        Bucket { from, to, before, after }
    };
    Ok(Json(Previewed {
        revision: found.revision,
        sampled: found.sampled,
        passing_before: found.passing_before,
        passing_after: found.passing_after,
        gained: found.gained,
        lost: found.lost,
        histogram: found.histogram.into_iter().map(bucket).collect(),
    }))
}

pub(super) async fn progress(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
) -> Result<Json<RescoreProgressResponse>> {
    Ok(Json(told(scorers::progress(&state, actor.workspace, id(&scorer)?).await?)))
}

/// 202: this node continues in the background. 200: there is nothing to do.
pub(super) async fn rescore(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
) -> Result<(StatusCode, Json<RescoreProgressResponse>)> {
    let found = scorers::start_rescore(&state, &actor, id(&scorer)?).await?;
    let status = if found.running { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(told(found))))
}

fn told(Rescore { stored, outdated, running }: Rescore) -> RescoreProgressResponse {
    RescoreProgressResponse { stored, outdated, running }
}
