//! `GET /residence/country/us/{network}` (`docs/reference/behavior/verification.md#checks`).

use axum::extract::{Path, RawQuery, State as Extract};
use axum::response::Response;
use serde_json::json;

use super::answer;
use super::parameters::{self, QueryPairs};
use crate::block_height::Snapshot;
use crate::checker::{self, CheckRequest};
use crate::error::Result;
use crate::state::State;

pub(super) async fn check(
    Extract(state): Extract<State>,
    Path((country, network)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    answer(ask(&state, &country, &network, &QueryPairs::read(query.as_deref())).await)
}

async fn ask(state: &State, country: &str, network: &str, query: &QueryPairs<'_>) -> Result<String> {
    let kind = parameters::country(country)?;
    let user = parameters::address(query.need("user", "user address")?)?;
    let network = parameters::network(state.networks(), network, kind)?;
    let ask = CheckRequest { network, kind, action_id: None, snapshot: Snapshot::Latest };
    let explain = query.explain();
    let verdict = checker::check(state, ask, user.into(), explain).await?;
    let mut shown = json!({ "result": verdict.is_valid() });
    if explain {
        shown["reason"] = verdict.reason().into();
    }
    Ok(shown.to_string())
}
