//! `POST /v2/stamps/{scorer_id}/scores`: up to 1,000 addresses at once
//! (`docs/reference/behavior/scoring.md#endpoints`).

use std::collections::HashMap;

use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::entries::{self, BadEntries};
use pyxis_core::score::stored_to_json;
use pyxis_store::addresses;
use pyxis_store::scores::{self, ScorerHead};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::ingest::read_object;
use super::latest::{Scores, known_scorer};
use super::parameters::Segments;
use super::responses::NoScorer;
use super::shared::ScorerPath;
use super::{json, respond};
use crate::address;
use crate::engine::{self, ScoreKey};
use crate::error::{Error, Result};
use crate::score_metrics::METRICS;
use crate::state::State;

/// Maximum number of addresses in one request.
const MOST: usize = 1000;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScoresRequest)]
struct BatchRequest {
    #[schema(value_type = Vec<String>, max_items = 1000)]
    addresses: Vec<Value>,
}

/// Read the scores of many addresses.
///
/// Counts as one request, whatever the number of addresses, and adds nothing to the history. If entries are not
/// addresses, the 400 lists up to 20 of them in `invalid` (`index`, `value`, `reason`) and their number in
/// `invalid_count`.
#[utoipa::path(
    post,
    path = "/v2/stamps/{scorer_id}/scores",
    tag = "Stamps API",
    operation_id = "listScores",
    security(("apiKey" = [])),
    params(ScorerPath),
    request_body(content = BatchRequest, example = json!({"addresses": ["0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1"]})),
    responses(
        (status = 200, description = "A record for each address, in the order of the request.", body = Scores),
        (status = 404, response = NoScorer),
    ),
)]
pub(crate) async fn list_scores(
    Extract(state): Extract<State>,
    segments: Segments,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, async |caller| {
        let scorer = segments.scorer();
        if let Err(error @ Error::Parameter(_)) = scorer {
            return Err(error);
        }
        let asked: BatchRequest = read_object(body, 64 * 1024).await?;
        if asked.addresses.len() > MOST {
            let message = format!("at most {MOST} addresses in one request");
            return Err(Error::Shape { path: vec!["addresses".to_owned()], message });
        }
        let texts = texts(&asked.addresses)?;
        if !caller.can_read {
            return Err(Error::Forbidden);
        }
        let scorer = known_scorer(&state, caller.workspace, scorer?).await?;
        let addresses = entries::read(texts, address::read).map_err(Error::InvalidAddresses)?;
        let place = |address| ScoreKey { workspace: caller.workspace, scorer: scorer.id, address };
        let bodies = bodies(&state, &addresses, place, (&scorer).into()).await?;
        let length = bodies.values().map(|body| body.len() + 1).sum::<usize>() + 16;
        let mut text = String::with_capacity(length);
        text.push_str("{\"items\":[");
        for (index, address) in addresses.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(&bodies[address]);
        }
        text.push_str("]}");
        Ok(json(text))
    })
    .await
}

/// The addresses as texts; every other entry is reported.
fn texts(addresses: &[Value]) -> Result<Vec<&str>> {
    let mut bad = BadEntries::default();
    for (index, value) in addresses.iter().enumerate().filter(|(_, value)| !value.is_string()) {
        bad.add(index, &value.to_string(), "not a string");
    }
    let texts = addresses.iter().filter_map(Value::as_str).collect();
    bad.or(texts).map_err(|bad| Error::NotTexts("addresses", bad))
}

/// The record of each address: one read for stored ones, the rest (and damaged ones) are computed.
async fn bodies(
    state: &State,
    addresses: &[EvmAddress],
    place: impl Fn(EvmAddress) -> ScoreKey,
    terms: ScorerHead,
) -> Result<HashMap<EvmAddress, String>> {
    let now = state.now();
    let mut wanted = addresses.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let Some(ScoreKey { workspace, scorer, .. }) = wanted.first().map(|first| place(*first)) else {
        return Ok(HashMap::new());
    };
    let stored = scores::of_many(&state.store, workspace, scorer, &wanted).await?;
    let fresh = stored.into_iter().filter(|found| found.stored.is_fresh(terms.revision, now));
    let mut bodies: HashMap<EvmAddress, String> = fresh
        .filter_map(|found| Some((found.address, stored_to_json(found.address, found.stored.body).ok()?)))
        .collect();
    METRICS.stored.increment(bodies.len() as u64);
    wanted.retain(|address| !bodies.contains_key(address));
    METRICS.computed.increment(wanted.len() as u64);
    let known = addresses::known(&state.store, workspace, &wanted).await?;
    for address in wanted {
        let computed = if known.contains(&address) {
            engine::score(&state.books, place(address), now, false).await?
        } else {
            None
        };
        let body = match computed {
            Some(body) => body,
            None => engine::score_without_stamps(address, terms.threshold, now),
        };
        bodies.insert(address, body);
    }
    Ok(bodies)
}
