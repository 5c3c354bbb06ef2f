//! The earlier version's paths, with the earlier response shapes
//! (`docs/reference/behavior/scoring.md#earlier-paths`). Deprecated: each response names its successor.

use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::catalogue::Platform;
use pyxis_core::id::ScorerId;
use pyxis_http::openapi::{DescribedRouter, Time};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::{Deprecated, OpenApi};
use utoipa_axum::routes;

use super::ingest::read_object;
use super::latest::{current, known_scorer};
use super::parameters::{self, Segments};
use super::responses::{BadAddress, BadModelRequest, BadPage, MalformedParameter, NoScorer, SourceFails};
use super::shared::{ModelList, ScorerPath};
use super::{catalogue, json, model, respond, stamps};
use crate::address;
use crate::auth::Caller;
use crate::engine::ScoreKey;
use crate::error::{Error, Result};
use crate::state::State;
use crate::values::{Address, AddressPath, Amount, Done, MicroTime, Null, TextOrInteger};

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// Deprecated since 1 November 2026, in the date format of RFC 9745.
const SINCE: HeaderValue = HeaderValue::from_static("@1793491200");

/// The earlier paths: of the Stamps endpoints, those of them that take a POST, and of the models endpoint.
pub(super) fn describe_routes() -> (DescribedRouter<State>, DescribedRouter<State>, DescribedRouter<State>) {
    let stamps = DescribedRouter::default()
        .routes(routes!(get_score))
        .routes(routes!(list_stamps))
        .routes(routes!(get_catalogue));
    let posted = DescribedRouter::default().routes(routes!(submit));
    (stamps, posted, DescribedRouter::default().routes(routes!(get_analysis)))
}

/// Marks these paths as deprecated.
pub(super) fn deprecate(description: &mut OpenApi) {
    for item in description.paths.paths.values_mut() {
        for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
            if operation.tags.iter().flatten().any(|tag| tag == TAG) {
                operation.deprecated = Some(Deprecated::True);
            }
        }
    }
}

const TAG: &str = "Earlier paths";

/// Read a score in the earlier format.
#[utoipa::path(
    get,
    path = "/registry/score/{scorer_id}/{address}",
    tag = TAG,
    operation_id = "earlierScore",
    security(("apiKey" = [])),
    params(
        ScorerPath,
        AddressPath,
    ),
    responses(
        (status = 200, description = "The score, with numbers where the current format has text.", headers(("Deprecation" = String, description = "Time of the deprecation, in Unix seconds after `@` (RFC 9745)."), ("Link" = String, description = "The path to use instead, as `rel=\"successor-version\"`.")), body = EarlierScore),
        (status = 400, response = BadAddress),
        (status = 404, response = NoScorer),
        (status = 422, response = MalformedParameter),
    ),
)]
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

#[derive(Deserialize, ToSchema)]
#[schema(as = EarlierSubmission)]
struct Submission {
    #[schema(value_type = Address)]
    address: String,
    #[schema(value_type = TextOrInteger)]
    scorer_id: Value,
}

/// Compute a score.
///
/// Nothing is submitted any more: the response is the score. Unknown members are ignored.
#[utoipa::path(
    post,
    path = "/registry/submit-passport",
    tag = TAG,
    operation_id = "earlierSubmit",
    security(("apiKey" = [])),
    request_body(content = Submission, example = json!({"address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1", "scorer_id": 1})),
    responses(
        (status = 200, description = "The score, with numbers where the current format has text.", headers(("Deprecation" = String, description = "Time of the deprecation, in Unix seconds after `@` (RFC 9745)."), ("Link" = String, description = "The path to use instead, as `rel=\"successor-version\"`.")), body = EarlierScore),
        (status = 404, response = NoScorer),
    ),
)]
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

/// Read the verified Stamps of an address.
///
/// Parameters and response are those of `GET /v2/stamps/{address}`.
#[utoipa::path(
    get,
    path = "/registry/stamps/{address}",
    tag = TAG,
    operation_id = "earlierStamps",
    security(("apiKey" = [])),
    params(
        AddressPath,
    ),
    responses(
        (status = 200, description = "A page.", headers(("Deprecation" = String, description = "Time of the deprecation, in Unix seconds after `@` (RFC 9745)."), ("Link" = String, description = "The path to use instead, as `rel=\"successor-version\"`.")), body = stamps::StampPage),
        (status = 400, response = BadPage),
        (status = 422, response = MalformedParameter),
    ),
)]
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

/// Read the catalogue of Stamps.
#[utoipa::path(
    get,
    path = "/registry/stamp-metadata",
    tag = TAG,
    operation_id = "earlierCatalogue",
    security(("apiKey" = [])),
    responses(
        (status = 200, description = "As `GET /v2/stamps/metadata`.", headers(("Deprecation" = String, description = "Time of the deprecation, in Unix seconds after `@` (RFC 9745)."), ("Link" = String, description = "The path to use instead, as `rel=\"successor-version\"`.")), body = Vec<Platform>),
    ),
)]
async fn get_catalogue(state: Extract<State>, headers: HeaderMap) -> Response {
    succeeded(catalogue::get_catalogue(state, headers).await, "/v2/stamps/metadata")
}

/// Read a model's score of any wallet.
///
/// The response is that of `GET /v2/models/score/{address}`.
#[utoipa::path(
    get,
    path = "/passport/analysis/{address}",
    tag = TAG,
    operation_id = "earlierModelScore",
    security(("apiKey" = [])),
    params(
        AddressPath,
        ModelList,
    ),
    responses(
        (status = 200, description = "The score; -1 means too little data.", body = model::ModelScore, example = json!({
            "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
            "details": {
                "models": {
                    "aggregate": {
                        "score": 87.42
                    }
                }
            }
        })),
        (status = 400, response = BadModelRequest),
        (status = 422, response = MalformedParameter),
        (status = 502, response = SourceFails),
    ),
)]
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
    let scorer = known_scorer(&state.store, state.now(), caller.workspace, scorer?).await?;
    let place = ScoreKey { workspace: caller.workspace, scorer: scorer.id, address: address? };
    earlier(&current(&state.db, place, (&scorer).into(), state.now()).await?).map(json)
}

/// A score in the shape before `passing_score`, `dedup` and the expiry of each Stamp.
#[derive(Serialize, ToSchema)]
struct EarlierScore {
    #[schema(value_type = Address)]
    address: Value,
    #[schema(value_type = Option<String>, required, example = json!(null))]
    error: Value,
    /// Null, as for a numeric scorer: compare `score` with your own threshold. A `ThresholdScoreCheck` is a binary
    /// scorer's: a voting tool that finds one compares strictly with its threshold instead of the tool's own.
    #[schema(value_type = Null)]
    evidence: (),
    #[schema(value_type = Option<Time>, required)]
    expiration_date: Value,
    #[schema(value_type = MicroTime)]
    last_score_timestamp: Value,
    #[schema(value_type = Amount)]
    score: Value,
    /// Contribution of each Stamp, by name.
    #[schema(value_type = BTreeMap<String, f64>, example = json!({"Discord": 0.516}))]
    stamp_scores: Map<String, Value>,
    #[schema(value_type = Done)]
    status: &'static str,
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
    let shape = EarlierScore {
        address: take("address"),
        error: take("error"),
        evidence: (),
        expiration_date: take("expiration_timestamp"),
        last_score_timestamp: take("last_score_timestamp"),
        score: take("score"),
        stamp_scores,
        status: "DONE",
    };
    serde_json::to_string(&shape).map_err(broken)
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
