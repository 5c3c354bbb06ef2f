//! `GET /v2/stamps/{scorer_id}/score/{address}`: one indexed read if nothing changed.

use std::collections::BTreeMap;

use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, Method, Request, header};
use axum::response::{IntoResponse, Response};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::stored_to_json;
use pyxis_http::cors;
use pyxis_http::openapi::Time;
use pyxis_store::scores::{self, Lookup, ScorerHead, Stored};
use pyxis_store::{addresses, scorers};
use utoipa::ToSchema;

use super::explain::ScoreExplanation;
use super::parameters::{QueryPairs, Segments};
use super::responses::{BadAddress, MalformedParameter, NoScorer};
use super::shared::{ExplainScore, ScorerPath};
use super::{json, respond, within};
use crate::address;
use crate::auth::{self, Caller};
use crate::engine::{self, ScoreKey};
use crate::error::{Error, Result};
use crate::score_metrics::METRICS;
use crate::state::State;
use crate::values::{Address, AddressPath, Amount, MicroTime};

/// The route, as the access log names it.
pub const SCORE: &str = "/v2/stamps/{scorer_id}/score/{address}";

/// A request for the latest score that needs no router: no parameters, no cross-origin page, no error. A busy server
/// answers these before the router.
pub struct FastPathScore {
    scorer: ScorerId,
    address: EvmAddress,
}

impl FastPathScore {
    /// `None` for every other request.
    pub fn of<B>(request: &Request<B>) -> Option<Self> {
        let uri = request.uri();
        let (scorer, rest) = uri.path().strip_prefix("/v2/stamps/")?.split_once('/')?;
        let address = rest.strip_prefix("score/")?;
        let digits = scorer.bytes().all(|byte| byte.is_ascii_digit());
        let plain = digits
            && request.method() == Method::GET
            && uri.query().is_none()
            && !request.headers().contains_key(header::ORIGIN);
        if plain {
            Some(Self { scorer: scorer.parse().ok()?, address: address::read(address).ok()? })
        } else {
            None
        }
    }

    /// The same response as the router's.
    pub async fn answer(self, state: &State, headers: &HeaderMap) -> Response {
        let mut response = within(state, plain(state, headers, self.scorer, self.address)).await;
        // A cache may pass this response to a page of another origin.
        cors::mark(response.headers_mut());
        response
    }
}

/// A score, as [`stored_to_json`] writes it.
#[derive(ToSchema)]
#[schema(as = Score)]
#[expect(dead_code, reason = "the record is written as text; this is its description")]
pub(super) struct ScoreBody {
    #[schema(value_type = Address)]
    address: String,
    #[schema(value_type = Amount)]
    score: String,
    /// True if the score is at least the threshold.
    passing_score: bool,
    #[schema(value_type = MicroTime)]
    last_score_timestamp: String,
    /// Time at which the first contributing Stamp expires; null if none contributes.
    #[schema(value_type = Option<Time>, required)]
    expiration_timestamp: Option<String>,
    #[schema(value_type = Amount)]
    threshold: String,
    /// Null, unless the score could be computed only in part.
    #[schema(required)]
    error: Option<String>,
    /// By name.
    stamps: BTreeMap<String, StampScore>,
    #[schema(nullable = false)]
    explain: Option<ScoreExplanation>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "as above")]
struct StampScore {
    /// Contribution of the Stamp, with five decimals.
    score: String,
    /// True if another address verified the same credential first. Then the Stamp contributes 0.
    dedup: bool,
    /// Expiry of the credential; with `dedup`, that of the other address's credential.
    #[schema(value_type = Time)]
    expiration_date: String,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "as above")]
pub(super) struct Scores {
    items: Vec<ScoreBody>,
}

/// Read the latest score of an address.
///
/// Nothing has to be submitted first: an outdated score is recomputed before the response. An address without
/// Stamps has score `0.00000`. The first response with a score makes it part of the address's history.
#[utoipa::path(
    get,
    path = "/v2/stamps/{scorer_id}/score/{address}",
    tag = "Stamps API",
    operation_id = "getScore",
    security(("apiKey" = [])),
    params(
        ScorerPath,
        AddressPath,
        ExplainScore,
    ),
    responses(
        (status = 200, description = "The score record.", body = ScoreBody, example = json!({
            "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
            "score": "22.59800",
            "passing_score": true,
            "last_score_timestamp": "2026-01-31T09:00:00.000000+00:00",
            "expiration_timestamp": "2026-05-01T09:00:00.000000+00:00",
            "threshold": "20.00000",
            "error": null,
            "stamps": {
                "Discord": {
                    "score": "0.51600",
                    "dedup": false,
                    "expiration_date": "2026-05-01T09:00:00.000000+00:00"
                },
                "NFTScore#50": {
                    "score": "0.00000",
                    "dedup": true,
                    "expiration_date": "2026-07-01T12:30:00.000000+00:00"
                }
            }
        })),
        (status = 400, response = BadAddress),
        (status = 404, response = NoScorer),
        (status = 422, response = MalformedParameter),
    ),
)]
pub(crate) async fn get_score(
    Extract(state): Extract<State>,
    segments: Segments,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    match (segments.scorer(), segments.address(), query) {
        (Ok(scorer), Ok(address), None) => within(&state, plain(&state, &headers, scorer, address)).await,
        (scorer, address, query) => {
            respond(&state, &headers, async |caller| {
                with_query(&state, caller, scorer, address, query.as_deref()).await
            })
            .await
        }
    }
}

/// The path of nearly every request.
async fn plain(
    state: &State,
    headers: &HeaderMap,
    scorer: ScorerId,
    address: EvmAddress,
) -> Result<Response> {
    let hash = auth::key_hash(headers)?;
    let found = scores::look_up(&state.store, &hash, scorer, address).await?.ok_or(Error::InvalidKey)?;
    let budget = auth::admit(state, &found.key).await?;
    let mut response =
        latest(state, found, scorer, address).await.unwrap_or_else(IntoResponse::into_response);
    budget.write(response.headers_mut());
    Ok(response)
}

async fn latest(state: &State, found: Lookup, scorer: ScorerId, address: EvmAddress) -> Result<Response> {
    if !found.key.can_read {
        return Err(Error::Forbidden);
    }
    let terms = found.scorer.ok_or(Error::NoScorer)?;
    let place = ScoreKey { workspace: found.key.workspace_id, scorer, address };
    let now = state.now();
    match found.stored {
        Some(stored) if stored.is_fresh(terms.revision, now) => {
            answered(state, place, terms, stored, now).await
        }
        _ => computed(state, place, terms, now).await,
    }
    .map(json)
}

/// The record of a stored score, which the first response makes history. A damaged one is recomputed.
async fn answered(
    state: &State,
    place: ScoreKey,
    terms: ScorerHead,
    stored: Stored,
    now: UnixMillis,
) -> Result<String> {
    let ScoreKey { workspace, scorer, address } = place;
    let Ok(record) = stored_to_json(address, stored.body) else {
        return computed(state, place, terms, now).await;
    };
    if stored.in_history
        || scores::mark_in_history(&state.store, workspace, scorer, address, stored.computed_at).await?
    {
        METRICS.stored.increment(1);
        return Ok(record);
    }
    // Another request was first, or another score replaced it and is now the answer.
    let stored = scores::fresh(&state.store, workspace, scorer, address, now).await?;
    let record = stored.filter(|stored| stored.in_history).map(|stored| stored_to_json(address, stored.body));
    match record {
        Some(Ok(record)) => {
            METRICS.stored.increment(1);
            Ok(record)
        }
        Some(Err(_)) | None => computed(state, place, terms, now).await,
    }
}

/// Computes the score and returns it. For an address that never had a Stamp, nothing is stored.
async fn computed(state: &State, place: ScoreKey, terms: ScorerHead, now: UnixMillis) -> Result<String> {
    METRICS.computed.increment(1);
    let known = addresses::is_known(&state.store, place.workspace, place.address).await?;
    let computed = if known { engine::score(&state.books, place, now, true).await? } else { None };
    Ok(computed.unwrap_or_else(|| engine::score_without_stamps(place.address, terms.threshold, now)))
}

/// Handles parameters and errors, in this order: parameters, permission, scorer, address.
async fn with_query(
    state: &State,
    caller: Caller,
    scorer: Result<ScorerId>,
    address: Result<EvmAddress>,
    query: Option<&str>,
) -> Result<Response> {
    if let Err(error @ Error::Parameter(_)) = scorer {
        return Err(error);
    }
    let explain = QueryPairs::read(query).switch("explain")?;
    if !caller.can_read {
        return Err(Error::Forbidden);
    }
    let scorer = known_scorer(state, caller.workspace, scorer?).await?;
    let place = ScoreKey { workspace: caller.workspace, scorer: scorer.id, address: address? };
    let now = state.now();
    let body = current(state, place, (&scorer).into(), now).await?;
    if explain {
        Ok(json(super::explain::explained(state, place, &body, now).await?))
    } else {
        Ok(json(body))
    }
}

/// The scorer, if the workspace has it.
pub(super) async fn known_scorer(
    state: &State,
    workspace: WorkspaceId,
    scorer: ScorerId,
) -> Result<scorers::ScorerRow> {
    scorers::find(&state.store, workspace, scorer).await?.ok_or(Error::NoScorer)
}

/// The body of the latest score, computed if necessary, and marked as answered.
pub(super) async fn current(
    state: &State,
    place: ScoreKey,
    terms: ScorerHead,
    now: UnixMillis,
) -> Result<String> {
    let stored = scores::of_many(&state.store, place.workspace, place.scorer, &[place.address]).await?.pop();
    match stored.map(|found| found.stored) {
        Some(stored) if stored.is_fresh(terms.revision, now) => {
            answered(state, place, terms, stored, now).await
        }
        _ => computed(state, place, terms, now).await,
    }
}
