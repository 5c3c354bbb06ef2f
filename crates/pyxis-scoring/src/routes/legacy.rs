//! The earlier version's paths, with the earlier response shapes
//! (`docs/reference/behavior/scoring.md#earlier-paths`). Deprecated: each response names its successor.

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::Response;
use axum::routing::{get, post};
use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ingest::read_object;
use super::parameters::{self, Segments};
use super::score::{current, known_scorer};
use super::{catalogue, json, model, respond, stamps};
use crate::address;
use crate::auth::Caller;
use crate::engine::ScoreKey;
use crate::error::{Error, Result};
use crate::state::State;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// Deprecated since 1 November 2026, in the date format of RFC 9745.
const SINCE: HeaderValue = HeaderValue::from_static("@1793491200");

/// Paths that count as requests to the Stamps endpoints.
pub(super) fn stamps() -> Router<State> {
    Router::new()
        .route("/registry/score/{scorer_id}/{address}", get(get_score))
        .route("/registry/stamps/{address}", get(list_stamps))
        .route("/registry/stamp-metadata", get(get_catalogue))
}

/// POST paths of the Stamps endpoints.
pub(super) fn posted() -> Router<State> {
    Router::new().route("/registry/submit-passport", post(submit))
}

/// Path of the models endpoint.
pub(super) fn models() -> Router<State> {
    Router::new().route("/passport/analysis/{address}", get(get_analysis))
}

/// `GET /registry/score/{scorer_id}/{address}`.
async fn get_score(
    Extract(state): Extract<State>,
    segments: Segments,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answer = respond(&state, &headers, async |caller| {
        score(&state, caller, segments.scorer(), segments.address()).await
    })
    .await;
    let wanted = uri.path().strip_prefix("/registry/score/").and_then(|rest| rest.split_once('/'));
    let (scorer, address) = wanted.unwrap_or_default();
    succeeded(answer, &format!("/v2/stamps/{scorer}/score/{address}"))
}

#[derive(Deserialize)]
struct Submission {
    address: String,
    scorer_id: Value,
}

/// `POST /registry/submit-passport`: nothing is submitted any more; the score is just computed.
async fn submit(Extract(state): Extract<State>, headers: HeaderMap, body: Body) -> Response {
    // Until the body names the score.
    let mut successor = "/v2/stamps".to_owned();
    let answer = respond(&state, &headers, async |caller| {
        let Submission { address, scorer_id } = read_object(body, 16 * 1024).await?;
        let number = match scorer_id {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let address = address::read(&address).map_err(|_| Error::InvalidAddress);
        let scorer = parameters::scorer(&number, "body");
        if let (Ok(scorer), Ok(address)) = (&scorer, &address) {
            successor = format!("/v2/stamps/{scorer}/score/{address}");
        }
        score(&state, caller, scorer, address).await
    })
    .await;
    succeeded(answer, &successor)
}

/// `GET /registry/stamps/{address}`.
async fn list_stamps(
    state: Extract<State>,
    segments: Segments,
    query: RawQuery,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let successor = uri.path().replacen("/registry/", "/v2/", 1);
    succeeded(stamps::list_stamps(state, segments, query, headers).await, &successor)
}

/// `GET /registry/stamp-metadata`.
async fn get_catalogue(state: Extract<State>, headers: HeaderMap) -> Response {
    succeeded(catalogue::get_catalogue(state, headers).await, "/v2/stamps/metadata")
}

/// `GET /passport/analysis/{address}`: the same response; `model_list` names the model.
async fn get_analysis(
    state: Extract<State>,
    segments: Segments,
    query: RawQuery,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let successor = uri.path().replacen("/passport/analysis/", "/v2/models/score/", 1);
    succeeded(model::get_model_score(state, segments, query, headers).await, &successor)
}

async fn score(
    state: &State,
    caller: Caller,
    scorer: Result<ScorerId>,
    address: Result<EvmAddress>,
) -> Result<Response> {
    if let Err(error @ Error::Parameter(_)) = scorer {
        return Err(error);
    }
    if !caller.can_read {
        return Err(Error::Forbidden);
    }
    let scorer = known_scorer(state, caller.workspace, scorer?).await?;
    let place = ScoreKey { workspace: caller.workspace, scorer: scorer.id, address: address? };
    earlier(&current(state, place, (&scorer).into(), state.now()).await?).map(json)
}

/// Converts a record to the shape before `passing_score`, `dedup` and the expiry of each Stamp.
fn earlier(record: &str) -> Result<String> {
    let broken = |error: serde_json::Error| Error::Internal(error.into());
    let mut record: Map<String, Value> = serde_json::from_str(record).map_err(broken)?;
    let mut take = |name: &str| record.remove(name).unwrap_or_default();
    let stamps = match take("stamps") {
        Value::Object(stamps) => stamps,
        _ => Map::new(),
    };
    let mut stamp_scores = Map::new();
    for (name, stamp) in stamps {
        stamp_scores.insert(name, number(&stamp["score"])?);
    }
    let shape = serde_json::json!({
        "address": take("address"),
        "score": take("score"),
        "status": "DONE",
        "last_score_timestamp": take("last_score_timestamp"),
        "expiration_date": take("expiration_timestamp"),
        // The response of a numeric scorer. A `ThresholdScoreCheck` is a binary scorer's. A voting tool that finds one
        // compares strictly with its threshold instead of the tool's own.
        "evidence": null,
        "error": take("error"),
        "stamp_scores": stamp_scores,
    });
    Ok(shape.to_string())
}

/// A decimal text as a JSON number.
fn number(text: &Value) -> Result<Value> {
    let text = text.as_str().unwrap_or("0");
    let raw = RawValue::from_string(text.to_owned()).map_err(|error| Error::Internal(error.into()))?;
    serde_json::to_value(raw).map_err(|error| Error::Internal(error.into()))
}

fn succeeded(mut response: Response, successor: &str) -> Response {
    let headers = response.headers_mut();
    headers.insert(DEPRECATION, SINCE);
    if let Ok(link) = HeaderValue::try_from(format!("<{successor}>; rel=\"successor-version\"")) {
        headers.insert(header::LINK, link);
    }
    response
}
