//! `GET …/history`: the score that was last answered before a moment (`docs/reference/behavior/scoring.md#history`).

use axum::extract::{RawQuery, State as Extract};
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::score::stored_to_json;
use pyxis_store::score_history;

use super::parameters::{QueryPairs, Segments};
use super::score::known_scorer;
use super::{json, respond};
use crate::error::Error;
use crate::state::State;

/// One record, or none.
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
        let scorer = known_scorer(&state, caller.workspace, scorer?).await?;
        let address = segments.address()?;
        let found =
            score_history::latest_before(&state.store, caller.workspace, scorer.id, address, before).await?;
        let record = found.map(|stored| stored_to_json(address, stored)).transpose()?;
        Ok(json(format!("{{\"items\":[{}]}}", record.unwrap_or_default())))
    })
    .await
}
