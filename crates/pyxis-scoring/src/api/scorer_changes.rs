//! `/admin/scorers/{id}/changes`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerChangeId, ScorerId};
use pyxis_core::score::Weights;
use pyxis_http::Path;
use pyxis_http::admin::{Manager, Result};
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::openapi::{Id, Time};
use serde::Serialize;
use utoipa::ToSchema;

use crate::service::scorers::ScheduledChange;
use crate::service::{Error, scorer_changes};
use crate::state::State;

/// New terms from a moment on.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduledChange)]
pub(super) struct ScheduledChangeResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Time)]
    effective_from: String,
    /// The new threshold; null if it stays.
    #[schema(value_type = Option<String>, required)]
    threshold: Option<Decimal>,
    /// All new weights; null if they stay.
    #[schema(value_type = Option<BTreeMap<String, String>>, required)]
    weights: Option<Weights>,
    /// True if credentials issued before keep a weight that this lowers, until they expire.
    keep_until_expiry: bool,
    #[schema(value_type = Time)]
    created_at: String,
    created_by: String,
}

pub(super) fn scheduled_change_response(change: ScheduledChange) -> ScheduledChangeResponse {
    ScheduledChangeResponse {
        id: change.id.to_string(),
        effective_from: change.effective_from.to_rfc3339(),
        threshold: change.threshold,
        weights: change.weights,
        keep_until_expiry: change.keep_until_expiry,
        created_at: change.created_at.to_rfc3339(),
        created_by: change.created_by,
    }
}

/// Reads the moment of a change.
pub(super) fn parse_time(text: Option<String>) -> Result<Option<UnixMillis>, Error> {
    let read = |text: String| {
        UnixMillis::parse_rfc3339(&text)
            .ok_or_else(|| Error::field("effective_from", "a time, for example 2026-01-31T09:05:00Z"))
    };
    text.map(read).transpose()
}

/// Withdraw a scheduled change before its moment.
#[utoipa::path(
    delete,
    path = "/admin/scorers/{id}/changes/{change_id}",
    tag = "Scorers",
    operation_id = "withdrawScorerChange",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1), ("change_id" = Id, Path)),
    responses(
        (status = 204, description = "Withdrawn: the terms stay as they are."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn withdraw(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path((scorer, change)): Path<(String, String)>,
) -> Result<StatusCode> {
    let scorer: ScorerId = scorer.parse().map_err(|_| Error::not_found("scorer"))?;
    let change: ScorerChangeId = change.parse().map_err(|_| Error::not_found("scheduled change"))?;
    scorer_changes::withdraw(&state.audited, &actor, scorer, change).await?;
    Ok(StatusCode::NO_CONTENT)
}
