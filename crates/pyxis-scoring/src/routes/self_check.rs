//! `POST /widget/v1/{scorer_id}/check`: what counts for the holder who signed in, what does not, and why.

use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::stamp::StampName;
use pyxis_http::openapi::{DescribedRouter, Time};
use pyxis_store::score_reviews::ScoreReviewRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::changes::{self, Reader, ScoreChange};
use super::ingest::read_object;
use super::issue::{self, IssueStampsRequest, IssuedStampsResponse};
use super::latest::current;
use super::parameters::Segments;
use super::responses::{
    BadSignIn, BadStampsBody, MalformedParameter, NoScorer, ReviewRefused, WidgetForbidden,
    WidgetUnauthorized,
};
use super::shared::ScorerPath;
use super::widget::{MAX_BODY, own_place, respond, shape, to_json};
use crate::error::{Error, Result};
use crate::service::score_reviews;
use crate::service::self_check::{self, SelfCheck, WeighedStamp};
use crate::service::stamps::{StampLine, StampStatus};
use crate::state::State;
use crate::values::{Address, Amount, ScoreReviewStateName, StampStatusName};
use crate::widget::WidgetPage;

pub(super) fn describe_routes() -> DescribedRouter<State> {
    DescribedRouter::default()
        .routes(routes!(check_own_score))
        .routes(routes!(issue_own_stamps))
        .routes(routes!(request_review))
}

/// Changes that are shown.
const MOST_CHANGES: usize = 10;

#[derive(Serialize, ToSchema)]
#[schema(as = SelfCheck)]
struct CheckResponse {
    #[schema(value_type = Address)]
    address: String,
    #[schema(value_type = Amount)]
    score: Decimal,
    #[schema(value_type = Amount)]
    threshold: Decimal,
    passing: bool,
    /// Points that are missing; zero if the score passes.
    #[schema(value_type = Amount)]
    missing: Decimal,
    /// Every Stamp of the address.
    stamps: Vec<CheckedStamp>,
    /// Stamps that would add points, those with the most first.
    suggestions: Vec<SuggestedStamp>,
    /// The latest changes of the score, newest first.
    changes: Vec<ScoreChange>,
    /// The latest review that the holder asked for; null if there is none.
    #[schema(required)]
    review: Option<OwnReview>,
}

/// A review as its holder sees it.
#[derive(Serialize, ToSchema)]
struct OwnReview {
    #[schema(example = "The account of my Stamp is mine.")]
    reason: String,
    #[schema(value_type = ScoreReviewStateName)]
    state: &'static str,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Option<Time>, required)]
    decided_at: Option<String>,
    /// Reason of the decision.
    #[schema(required, example = json!(null))]
    answer: Option<String>,
}

impl From<ScoreReviewRow> for OwnReview {
    fn from(row: ScoreReviewRow) -> Self {
        Self {
            reason: row.reason,
            state: row.state.as_str(),
            created_at: row.created_at.to_rfc3339(),
            decided_at: row.decided_at.map(UnixMillis::to_rfc3339),
            answer: row.answer,
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScoreReviewRequest)]
struct ReviewRequest {
    /// Reason for the review.
    #[schema(min_length = 1, max_length = 1000)]
    reason: String,
}

#[derive(Serialize, ToSchema)]
struct CheckedStamp {
    #[schema(value_type = String, example = "Discord")]
    name: StampName,
    /// Empty if the catalogue lacks the Stamp.
    #[schema(example = "Holds an established, active Discord account")]
    description: String,
    /// Contribution to the score.
    #[schema(value_type = Amount)]
    points: Decimal,
    /// Weight in this scorer.
    #[schema(value_type = Amount)]
    weight: Decimal,
    /// Effect of the Stamp. With `deduplicated`, another address verified the same credential first.
    #[schema(value_type = StampStatusName)]
    status: &'static str,
    #[schema(value_type = Time)]
    expires_at: String,
    /// With `deduplicated`: end of the other address's claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Time>, nullable = false)]
    until: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct SuggestedStamp {
    #[schema(value_type = String, example = "Discord")]
    name: StampName,
    #[schema(example = "Holds an established, active Discord account")]
    description: String,
    /// Points that it would add.
    #[schema(value_type = Amount)]
    points: Decimal,
    /// Name of the platform that it is about; null if the catalogue lacks the Stamp.
    #[schema(required, example = "Discord")]
    platform: Option<String>,
    /// Prompt for a person who starts there; may be empty.
    #[schema(example = "Connect your Discord account.")]
    how: String,
    /// Page where the Stamp is issued, if the catalogue says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    url: Option<String>,
    /// Items to name in `POST …/issue`, if this server issues the Stamp: `none`, `token_ids` or `attestation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    issued_here: Option<&'static str>,
}

/// Explain the holder's score to the holder.
///
/// Lists the Stamps that count, those that do not with the reason, Stamps that would add points, and recent changes of
/// the score. A page of the server itself, such as its self-check page, sends no publishable key. It is open while a key
/// of the scorer allows the server's own origin.
#[utoipa::path(
    post,
    path = "/widget/v1/{scorer_id}/check",
    tag = "Widget",
    operation_id = "checkOwnScore",
    security(("publishableKey" = [], "widgetSession" = [])),
    params(ScorerPath),
    responses(
        (status = 200, description = "The score of the session's address, explained.", body = CheckResponse),
        (status = 401, response = WidgetUnauthorized),
        (status = 403, response = WidgetForbidden),
        (status = 404, response = NoScorer),
        (status = 422, response = MalformedParameter),
    ),
)]
pub(super) async fn check_own_score(
    Extract(state): Extract<State>,
    segments: Segments,
    headers: HeaderMap,
) -> Response {
    respond(&state, &headers, &segments, async |page| to_json(&check(&state, &page, &headers).await?)).await
}

/// Ask for a review of the holder's score.
///
/// An address has one open review in a scorer, and asks at most once in 24 hours. A manager decides it with a reason,
/// which `check` shows.
#[utoipa::path(
    post,
    path = "/widget/v1/{scorer_id}/review",
    tag = "Widget",
    operation_id = "requestScoreReview",
    security(("publishableKey" = [], "widgetSession" = [])),
    params(ScorerPath),
    request_body(content = ReviewRequest, example = json!({"reason": "The account of my Stamp is mine."})),
    responses(
        (status = 200, description = "The open review.", body = OwnReview),
        (status = 400, response = BadStampsBody),
        (status = 401, response = WidgetUnauthorized),
        (status = 403, response = WidgetForbidden),
        (status = 404, response = NoScorer),
        (status = 409, response = ReviewRefused),
        (status = 422, response = BadSignIn),
    ),
)]
pub(super) async fn request_review(
    Extract(state): Extract<State>,
    segments: Segments,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, &segments, async |page| {
        let asked: ReviewRequest = read_object(body, MAX_BODY).await?;
        score_reviews::check(&asked.reason).map_err(|fault| shape("reason", &fault))?;
        let (place, _) = own_place(&state.store, &*state.clock, &page, &headers).await?;
        let found = self_check::check(&state.store, state.now(), place)
            .await
            .map_err(|error| Error::Internal(error.into()))?;
        to_json(&OwnReview::from(score_reviews::request(&state, place, &found, &asked.reason).await?))
    })
    .await
}

/// Issue allow lists' and on-chain Stamps to the holder.
///
/// For the session's address. Each Stamp is issued if its rule holds for the address now. `unanswered` is not a no.
#[utoipa::path(
    post,
    path = "/widget/v1/{scorer_id}/issue",
    tag = "Widget",
    operation_id = "issueOwnStamps",
    security(("publishableKey" = [], "widgetSession" = [])),
    params(ScorerPath),
    request_body(content = IssueStampsRequest, example = json!({ "stamps": [{ "provider": "EarlyMember" }] })),
    responses(
        (status = 200, description = "The outcome of each Stamp, in the order of the request.", body = IssuedStampsResponse),
        (status = 400, response = BadStampsBody),
        (status = 401, response = WidgetUnauthorized),
        (status = 403, response = WidgetForbidden),
        (status = 404, response = NoScorer),
        (status = 422, response = BadSignIn),
    ),
)]
pub(super) async fn issue_own_stamps(
    Extract(state): Extract<State>,
    segments: Segments,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, &segments, async |page| {
        let asked = issue::read(body).await?;
        let (place, _) = own_place(&state.store, &*state.clock, &page, &headers).await?;
        issue::issue_all(&state, place.workspace, place.address, asked).await
    })
    .await
}

async fn check(state: &State, page: &WidgetPage, headers: &HeaderMap) -> Result<CheckResponse> {
    let (place, row) = own_place(&state.store, &*state.clock, page, headers).await?;
    // Computes what is outdated, and takes back claims of the address.
    current(&state.db, place, (&row).into(), state.now()).await?;
    let found = self_check::check(&state.store, state.now(), place)
        .await
        .map_err(|error| Error::Internal(error.into()))?;
    let reader = Reader { workspace: place.workspace, with_scores: true };
    let changes = changes::recent(state, reader, &row, place.address, MOST_CHANGES).await?;
    let review = pyxis_store::score_reviews::latest(&state.store, place.scorer, place.address).await?;
    let SelfCheck { threshold, score, passing, stamps, suggestions } = found;
    let missing = if passing { 0 } else { (threshold.units() - score.units()).max(0) };
    Ok(CheckResponse {
        address: place.address.to_string(),
        score,
        threshold,
        passing,
        missing: Decimal::from_units(missing),
        stamps: stamps.into_iter().map(checked).collect(),
        suggestions: suggestions.into_iter().map(suggested).collect(),
        changes,
        review: review.map(Into::into),
    })
}

fn checked((stamp, line): (WeighedStamp, StampLine)) -> CheckedStamp {
    let until = match line.standing {
        StampStatus::Deduplicated { until, .. } => Some(until.to_rfc3339()),
        _ => None,
    };
    CheckedStamp {
        name: stamp.name,
        description: stamp.description,
        points: line.contribution,
        weight: stamp.weight,
        status: line.standing.as_str(),
        expires_at: line.stamp.expires_at.to_rfc3339(),
        until,
    }
}

fn suggested(stamp: WeighedStamp) -> SuggestedStamp {
    let WeighedStamp { name, description, platform, how, url, issued_here, weight } = stamp;
    SuggestedStamp { name, description, points: weight, platform, how, url, issued_here }
}
