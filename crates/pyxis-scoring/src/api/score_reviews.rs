//! `/admin/score-reviews`.

use axum::extract::State as Extract;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScoreReviewId, ScorerId};
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path, Query};
use pyxis_store::score_reviews::{ReviewState, ScoreReviewRow};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::problems::ReviewDecided;
use crate::service::Error;
use crate::service::score_reviews::{self, ReviewDecision};
use crate::state::State;
use crate::values::{Address, Amount};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ScoreReviewListParams {
    /// Only reviews in this state.
    #[param(inline)]
    state: Option<ReviewStateName>,
    /// Only reviews older than this one: the `id` of the last one of the page before.
    #[param(value_type = Option<Id>)]
    before: Option<String>,
}

/// States by name.
#[derive(Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ReviewStateName {
    Open,
    Granted,
    Declined,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DecideScoreReview)]
pub(super) struct DecideRequest {
    decision: DecisionName,
    /// Reason, which the holder sees.
    #[schema(min_length = 1, max_length = 1000)]
    reason: String,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ScoreReviewDecision)]
enum DecisionName {
    Grant,
    Decline,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ScoreReview, example = json!({
    "id": "019c1234-5678-7abc-8def-0123456789ab",
    "scorer_id": 1,
    "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
    "reason": "The account of my Stamp is mine.",
    "score": "16.24600",
    "threshold": "20.00000",
    "state": "granted",
    "created_at": "2026-01-31T09:05:00.250Z",
    "decided_by": "ada@example.org",
    "decided_at": "2026-01-31T14:20:30.125Z",
    "answer": "The account is yours. You got a Stamp of our own."
}))]
pub(super) struct ScoreReviewResponse {
    #[schema(value_type = Id)]
    id: ScoreReviewId,
    #[schema(value_type = u64, minimum = 1, example = 1)]
    scorer_id: ScorerId,
    #[schema(value_type = Address)]
    address: EvmAddress,
    /// The holder's reason.
    #[schema(example = "The account of my Stamp is mine.")]
    reason: String,
    /// Score at the time of the request.
    #[schema(value_type = Amount)]
    score: Decimal,
    #[schema(value_type = Amount)]
    threshold: Decimal,
    state: ReviewStateName,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(required, example = "ada@example.org")]
    decided_by: Option<String>,
    #[schema(value_type = Option<Time>, required)]
    decided_at: Option<String>,
    /// Reason of the decision.
    #[schema(required, example = "The account is yours. You got a Stamp of our own.")]
    answer: Option<String>,
}

impl Listed for ScoreReviewResponse {
    const MEMBER: &'static str = "score_reviews";
}

pub(super) type ScoreReviewListResponse = CompleteList<ScoreReviewResponse>;

fn review_response(row: ScoreReviewRow) -> ScoreReviewResponse {
    ScoreReviewResponse {
        id: row.id,
        scorer_id: row.scorer_id,
        address: row.address,
        reason: row.reason,
        score: row.score,
        threshold: row.threshold,
        state: match row.state {
            ReviewState::Open => ReviewStateName::Open,
            ReviewState::Granted => ReviewStateName::Granted,
            ReviewState::Declined => ReviewStateName::Declined,
        },
        created_at: row.created_at.to_rfc3339(),
        decided_by: row.decided_by,
        decided_at: row.decided_at.map(UnixMillis::to_rfc3339),
        answer: row.answer,
    }
}

fn id(text: &str) -> Result<ScoreReviewId, Error> {
    text.parse().map_err(|_| Error::not_found("review"))
}

/// List reviews of scores, newest first, at most 50.
#[utoipa::path(
    get,
    path = "/admin/score-reviews",
    tag = "Scorers",
    operation_id = "listScoreReviews",
    security(("session" = [])),
    params(ScoreReviewListParams),
    responses(
        (status = 200, description = "The reviews.", body = ScoreReviewListResponse),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Query(which): Query<ScoreReviewListParams>,
) -> Result<Json<ScoreReviewListResponse>> {
    let only = which.state.map(|name| match name {
        ReviewStateName::Open => ReviewState::Open,
        ReviewStateName::Granted => ReviewState::Granted,
        ReviewStateName::Declined => ReviewState::Declined,
    });
    let before = which.before.map(|text| text.parse()).transpose();
    let before = before.map_err(|_| Error::field("before", "the id of a review"))?;
    let rows = score_reviews::list(&state.store, actor.workspace, only, before).await?;
    Ok(Json(rows.into_iter().map(review_response).collect()))
}

/// Show a review.
#[utoipa::path(
    get,
    path = "/admin/score-reviews/{id}",
    tag = "Scorers",
    operation_id = "showScoreReview",
    security(("session" = [])),
    params(("id" = inline(Id), Path)),
    responses(
        (status = 200, description = "The review.", body = ScoreReviewResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(review): Path<String>,
) -> Result<Json<ScoreReviewResponse>> {
    Ok(Json(review_response(score_reviews::find(&state.store, actor.workspace, id(&review)?).await?)))
}

/// Decide a review.
///
/// The decision is recorded and changes no score. The holder sees it with its reason. To change the score, issue a Stamp
/// or change the weights.
#[utoipa::path(
    post,
    path = "/admin/score-reviews/{id}/decide",
    tag = "Scorers",
    operation_id = "decideScoreReview",
    security(("session" = [])),
    params(("id" = inline(Id), Path)),
    request_body(content = DecideRequest, example = json!({
        "decision": "grant", "reason": "The account is yours. You got a Stamp of our own."
    })),
    responses(
        (status = 200, description = "Decided.", body = ScoreReviewResponse),
        (status = 404, response = NotFound),
        (status = 409, response = ReviewDecided),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn decide(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(review): Path<String>,
    Json(input): Json<DecideRequest>,
) -> Result<Json<ScoreReviewResponse>> {
    let decision = match input.decision {
        DecisionName::Grant => ReviewDecision::Grant,
        DecisionName::Decline => ReviewDecision::Decline,
    };
    Ok(Json(review_response(
        score_reviews::decide(&state, &actor, id(&review)?, decision, &input.reason).await?,
    )))
}
