//! `/admin/scorers`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::score::{KeptWeight, Weights};
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::{Json, Path};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problems::Changed;
use super::scorer_changes::{self, ScheduledChangeResponse};
use crate::service::Error;
use crate::service::amount::{Amount, Amounts, weights};
use crate::service::preview::{self, Proposal};
use crate::service::scorers::{self, Rescore, Scorer, ScorerInput, ScorerPatch};
use crate::state::State;
use crate::values::{AmountInput, Label, WeightsInput};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateScorerRequest {
    #[schema(value_type = Label)]
    name: String,
    #[schema(value_type = Option<AmountInput>, nullable = false)]
    threshold: Option<Amount>,
    #[schema(value_type = Option<WeightsInput>, nullable = false)]
    weights: Option<Amounts>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateScorerRequest {
    #[schema(value_type = Option<Label>, nullable = false)]
    name: Option<String>,
    #[schema(value_type = Option<AmountInput>, nullable = false)]
    threshold: Option<Amount>,
    #[schema(value_type = Option<WeightsInput>, nullable = false)]
    weights: Option<Amounts>,
    /// The revision that you have read.
    #[schema(nullable = false)]
    revision: Option<i64>,
    /// True: credentials issued before the change keep a weight that it lowers, until they expire. Send it with weights.
    #[serde(default)]
    #[schema(default = false)]
    keep_until_expiry: bool,
    /// First moment of the threshold and weights, at most 366 days ahead. Left out: now.
    #[schema(value_type = Option<Time>, nullable = false)]
    effective_from: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScorerProposal)]
pub(super) struct Try {
    #[schema(value_type = Option<AmountInput>, nullable = false)]
    threshold: Option<Amount>,
    #[schema(value_type = Option<WeightsInput>, nullable = false)]
    weights: Option<Amounts>,
    /// True: credentials that exist today keep a weight that is lowered.
    #[serde(default)]
    #[schema(default = false)]
    keep_until_expiry: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Scorer)]
pub(super) struct ScorerResponse {
    /// `scorer_id` of the Stamps API.
    #[schema(value_type = u64, minimum = 1, example = 1)]
    id: ScorerId,
    #[schema(example = "default")]
    name: String,
    /// The score needed to pass, with five decimals.
    #[schema(value_type = String, example = "20.00000")]
    threshold: Decimal,
    /// Contribution of each Stamp, by name. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>, nullable = false)]
    weights: Option<Weights>,
    /// Increases with every change of weights or threshold.
    #[schema(minimum = 1, example = 3)]
    revision: i64,
    /// Changes that are not in force yet, in their order. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    scheduled_changes: Option<Vec<ScheduledChangeResponse>>,
    /// Earlier weights that credentials keep until they expire. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    kept_weights: Option<Vec<KeptWeightResponse>>,
    #[schema(value_type = Time)]
    created_at: String,
}

/// An earlier weight of a Stamp, for credentials from before a change.
#[derive(Serialize, ToSchema)]
#[schema(as = KeptWeight)]
struct KeptWeightResponse {
    stamp: String,
    #[schema(value_type = crate::values::Amount)]
    weight: Decimal,
    /// Only credentials issued before this moment keep the weight.
    #[schema(value_type = Time)]
    issued_before: String,
}

impl From<KeptWeight> for KeptWeightResponse {
    fn from(kept: KeptWeight) -> Self {
        let KeptWeight { provider, weight, issued_before } = kept;
        Self { stamp: provider.to_string(), weight, issued_before: issued_before.to_rfc3339() }
    }
}

impl Listed for ScorerResponse {
    const MEMBER: &'static str = "scorers";
}

pub(super) type ScorerListResponse = CompleteList<ScorerResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = Rescore)]
pub(super) struct RescoreProgressResponse {
    /// Number of stored scores.
    #[schema(example = 1200)]
    stored: i64,
    /// Number of stale scores among them.
    #[schema(example = 300)]
    outdated: i64,
    /// True if a server is recomputing them now.
    running: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ScorerPreview)]
pub(super) struct Previewed {
    /// The revision that `before` refers to.
    revision: i64,
    /// Changes that wait for their moment. Neither `before` nor `after` includes them.
    scheduled_changes: Vec<ScheduledChangeResponse>,
    /// Addresses in the sample.
    sampled: u32,
    passing_before: u32,
    passing_after: u32,
    /// Addresses that would pass and do not pass now.
    gained: u32,
    /// Addresses that pass now and would not pass.
    lost: u32,
    /// Scores from `from` up to but not including `to`, lowest first, without gaps.
    histogram: Vec<Bucket>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ScoreBucket)]
struct Bucket {
    #[schema(value_type = crate::values::Amount)]
    from: Decimal,
    #[schema(value_type = crate::values::Amount)]
    to: Decimal,
    before: u32,
    after: u32,
}

fn scorer_response(scorer: Scorer) -> ScorerResponse {
    ScorerResponse {
        id: scorer.id,
        name: scorer.name,
        threshold: scorer.terms.threshold,
        weights: Some(scorer.terms.weights),
        revision: scorer.terms.revision,
        kept_weights: Some(scorer.terms.kept.into_iter().map(Into::into).collect()),
        scheduled_changes: Some(
            scorer.scheduled.into_iter().map(scorer_changes::scheduled_change_response).collect(),
        ),
        created_at: scorer.created_at.to_rfc3339(),
    }
}

fn id(text: &str) -> Result<ScorerId, Error> {
    text.parse().map_err(|_| Error::not_found("scorer"))
}

fn amount(amount: Option<Amount>) -> Option<Decimal> {
    amount.map(|Amount(decimal)| decimal)
}

/// List scorers.
#[utoipa::path(
    get,
    path = "/admin/scorers",
    tag = "Scorers",
    operation_id = "listScorers",
    security(("session" = [])),
    responses((status = 200, description = "Without weights.", body = ScorerListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<ScorerListResponse>> {
    let rows = scorers::list(&state.store, actor.workspace, state.now()).await?.into_iter();
    let scorers = rows.map(|row| ScorerResponse {
        id: row.id,
        name: row.name,
        threshold: row.threshold,
        weights: None,
        revision: row.revision,
        scheduled_changes: None,
        kept_weights: None,
        created_at: row.created_at.to_rfc3339(),
    });
    Ok(Json(scorers.collect()))
}

/// Create a scorer.
///
/// Weights and threshold default to the published ones.
#[utoipa::path(
    post,
    path = "/admin/scorers",
    tag = "Scorers",
    operation_id = "createScorer",
    security(("session" = [])),
    request_body(content = CreateScorerRequest, example = json!({
            "name": "airdrop",
            "threshold": "15",
            "weights": {
                "Discord": "0.5",
                "NFTScore#50": "16"
            }
        })),
    responses((status = 201, description = "Created.", body = ScorerResponse)),
)]
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
    Ok((StatusCode::CREATED, Json(scorer_response(scorers::create(&state.audited, &actor, input).await?))))
}

/// Show a scorer with its weights.
#[utoipa::path(
    get,
    path = "/admin/scorers/{id}",
    tag = "Scorers",
    operation_id = "showScorer",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1)),
    responses(
        (status = 200, description = "The scorer.", body = ScorerResponse, example = json!({
            "id": 1,
            "name": "default",
            "threshold": "20.00000",
            "weights": {
                "Discord": "0.51600"
            },
            "revision": 3,
            "scheduled_changes": [],
            "kept_weights": [],
            "created_at": "2026-01-31T09:00:00.000Z"
        })),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
) -> Result<Json<ScorerResponse>> {
    Ok(Json(scorer_response(scorers::get(&state.store, actor.workspace, id(&scorer)?, state.now()).await?)))
}

/// Rename a scorer, or change its weights or threshold.
///
/// Members that are left out stay unchanged. Weights are replaced as a whole. With weights or threshold, send the
/// `revision` that you have read: if someone else changed the scorer since, nothing changes. Scores are recomputed
/// on their next request.
///
/// With `keep_until_expiry`, holders keep a weight that is lowered until their Stamp expires; a Stamp issued later has
/// the new weight. With `effective_from`, weights and threshold apply from that moment on. `scheduled_changes` lists what waits.
#[utoipa::path(
    patch,
    path = "/admin/scorers/{id}",
    tag = "Scorers",
    operation_id = "updateScorer",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1)),
    request_body(content = Option<UpdateScorerRequest>, example = json!({"threshold": "18.5", "revision": 3})),
    responses(
        (status = 200, description = "The scorer after the change.", body = ScorerResponse),
        (status = 404, response = NotFound),
        (status = 409, response = Changed),
    ),
)]
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
        keep_until_expiry: input.keep_until_expiry,
        revision: input.revision,
        scheduled: None,
        effective_from: scorer_changes::parse_time(input.effective_from)?,
    };
    Ok(Json(scorer_response(scorers::update(&state.audited, &actor, id(&scorer)?, patch).await?)))
}

/// Remove a scorer with its scores, history and claims.
///
/// It is gone at once; the response comes when everything is deleted. If the request is interrupted, send it
/// again.
#[utoipa::path(
    delete,
    path = "/admin/scorers/{id}",
    tag = "Scorers",
    operation_id = "removeScorer",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1)),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
) -> Result<StatusCode> {
    scorers::remove(&state.audited, &actor, id(&scorer)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Try other weights on stored addresses.
///
/// Scores up to 1,000 addresses that have Stamps, with the current and with the proposed weights. Nothing is
/// stored.
#[utoipa::path(
    post,
    path = "/admin/scorers/{id}/preview",
    tag = "Scorers",
    operation_id = "previewScorer",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1)),
    request_body(content = Option<Try>, example = json!({"threshold": "18.5"})),
    responses(
        (status = 200, description = "The scores of the sample, before and after.", body = Previewed, example = json!({
            "revision": 3,
            "scheduled_changes": [],
            "sampled": 3,
            "passing_before": 1,
            "passing_after": 2,
            "gained": 1,
            "lost": 0,
            "histogram": [
                {
                    "from": "0.00000",
                    "to": "20.00000",
                    "before": 2,
                    "after": 1
                },
                {
                    "from": "20.00000",
                    "to": "40.00000",
                    "before": 1,
                    "after": 2
                }
            ]
        })),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn preview(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
    Json(input): Json<Try>,
) -> Result<Json<Previewed>> {
    let proposal = Proposal {
        threshold: amount(input.threshold),
        weights: input.weights.map(weights),
        keep_until_expiry: input.keep_until_expiry,
    };
    let found = preview::preview(&state.store, actor.workspace, id(&scorer)?, proposal, state.now()).await?;
    let bucket = |bucket: preview::Bucket| {
        let preview::Bucket { from, to, before, after } = bucket;
        Bucket { from, to, before, after }
    };
    Ok(Json(Previewed {
        revision: found.revision,
        scheduled_changes: found
            .scheduled
            .into_iter()
            .map(scorer_changes::scheduled_change_response)
            .collect(),
        sampled: found.sampled,
        passing_before: found.passing_before,
        passing_after: found.passing_after,
        gained: found.gained,
        lost: found.lost,
        histogram: found.histogram.into_iter().map(bucket).collect(),
    }))
}

/// Count stale scores.
///
/// Counts all stored scores of the scorer.
#[utoipa::path(
    get,
    path = "/admin/scorers/{id}/rescore",
    tag = "Scorers",
    operation_id = "showRescore",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1)),
    responses(
        (status = 200, description = "The counts.", body = RescoreProgressResponse, example = json!({"stored": 1200, "outdated": 300, "running": true})),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn progress(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
) -> Result<Json<RescoreProgressResponse>> {
    Ok(Json(progress_response(
        scorers::progress(&state.db, actor.workspace, id(&scorer)?, state.now()).await?,
    )))
}

/// Recompute stale scores now.
///
/// Runs in the background of this server. It is optional: a stale score is recomputed on its next request. One
/// server at a time does this. If that server stops, send the request again after 30 seconds; the rest is then
/// recomputed.
#[utoipa::path(
    post,
    path = "/admin/scorers/{id}/rescore",
    tag = "Scorers",
    operation_id = "startRescore",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1)),
    responses(
        (status = 200, description = "No score is stale.", body = RescoreProgressResponse),
        (status = 202, description = "In progress; `GET` returns the remaining number.", body = RescoreProgressResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn rescore(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
) -> Result<(StatusCode, Json<RescoreProgressResponse>)> {
    let found = scorers::start_rescore(&state, &actor, id(&scorer)?).await?;
    let status = if found.running { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(progress_response(found))))
}

fn progress_response(Rescore { stored, outdated, running, .. }: Rescore) -> RescoreProgressResponse {
    RescoreProgressResponse { stored, outdated, running }
}
