//! `GET …/history`: the score that was last answered before a moment (`docs/reference/behavior/scoring.md#history`).

use axum::extract::{RawQuery, State as Extract};
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::score::stored_to_json;
use pyxis_store::score_history;

use super::latest::{Scores, known_scorer};
use super::parameters::{QueryPairs, Segments};
use super::responses::{BadAddress, MalformedParameter, NoScorer};
use super::shared::{CreatedBefore, ScorerPath};
use super::{json, respond};
use crate::error::Error;
use crate::state::State;
use crate::values::AddressPath;

/// Read the last score returned before a moment.
///
/// Only for keys approved for history. Only scores that were returned have a history.
#[utoipa::path(
    get,
    path = "/v2/stamps/{scorer_id}/score/{address}/history",
    tag = "Stamps API",
    operation_id = "getScoreHistory",
    security(("apiKey" = [])),
    params(
        ScorerPath,
        AddressPath,
        CreatedBefore,
    ),
    responses(
        (status = 200, description = "One record, or none if no score was returned earlier.", body = Scores),
        (status = 400, response = BadAddress),
        (status = 404, response = NoScorer),
        (status = 422, response = MalformedParameter),
    ),
)]
pub(crate) async fn get_history(
    Extract(state): Extract<State>,
    segments: Segments,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    respond(&state, &headers, async |caller| {
        let scorer = segments.scorer();
        if let Err(error @ Error::Parameter(_)) = scorer {
            return Err(error);
        }
        let before = QueryPairs::read(query.as_deref()).created_at()?;
        if !caller.can_read_history {
            return Err(Error::Forbidden);
        }
        let scorer = known_scorer(&state.store, state.now(), caller.workspace, scorer?).await?;
        let address = segments.address()?;
        let found =
            score_history::latest_before(&state.store, caller.workspace, scorer.id, address, before).await?;
        let record = found.map(|stored| stored_to_json(address, stored)).transpose()?;
        Ok(json(format!("{{\"items\":[{}]}}", record.unwrap_or_default())))
    })
    .await
}
