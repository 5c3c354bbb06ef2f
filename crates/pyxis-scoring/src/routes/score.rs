//! `GET /v2/stamps/{scorer_id}/score/{address}`: one indexed read if nothing changed.

use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, Method, Request, header};
use axum::response::{IntoResponse, Response};
use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;
use pyxis_http::cors;
use pyxis_store::scores::{self, Lookup};

use super::latest::{ScoreBody, computed, current, in_force, known_scorer, stored_record};
use super::parameters::{QueryPairs, Segments};
use super::responses::{BadAddress, MalformedParameter, NoScorer, PartialScore};
use super::shared::{ChainId, ExplainScore, SchemaUid, ScorerPath, SignedForm, VerifyingContract};
use super::signed::{self, SignedQuery};
use super::{json, respond, with_timeout};
use crate::address;
use crate::auth::{self, Caller};
use crate::engine::ScoreKey;
use crate::error::{Error, Result};
use crate::state::State;
use crate::values::AddressPath;

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
    pub fn from_request<B>(request: &Request<B>) -> Option<Self> {
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
        let mut response =
            with_timeout(&state.config, plain(state, headers, self.scorer, self.address)).await;
        // A cache may pass this response to a page of another origin.
        cors::allow_any_origin(response.headers_mut());
        response
    }
}

/// Read the latest score of an address.
///
/// Nothing has to be submitted first: a stale score is recomputed before the response. An address without
/// Stamps has score `0.00000`. The first response with a score makes it part of the address's history. With `signed`,
/// the record is signed for programs (`jwt`) or EVM contracts (`eip712`), so that others can verify it.
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
        SignedForm,
        ChainId,
        VerifyingContract,
        SchemaUid,
    ),
    responses(
        (status = 200, description = "The score record. With `signed=jwt` and `Accept: application/jwt`, the token alone.", body = ScoreBody, example = json!({
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
        (status = 409, response = PartialScore),
        (status = 422, response = MalformedParameter),
    ),
)]
pub(crate) async fn get_score(
    Extract(state): Extract<State>,
    segments: Segments,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let (scorer, address) = match (segments.scorer(), segments.address()) {
        (Ok(scorer), Ok(address)) => (scorer, address),
        (scorer, address) => {
            return respond(&state, &headers, async |caller| {
                with_query(&state, caller, scorer, address, &QueryPairs::read(query.as_deref())).await
            })
            .await;
        }
    };
    let Some(query) = query else {
        return with_timeout(&state.config, plain(&state, &headers, scorer, address)).await;
    };
    let pairs = QueryPairs::read(Some(&query));
    if SignedQuery::is_in(&pairs) {
        return Box::pin(signed::get(&state, &headers, scorer, address, &pairs)).await;
    }
    respond(&state, &headers, async |caller| {
        with_query(&state, caller, Ok(scorer), Ok(address), &pairs).await
    })
    .await
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
    let budget = auth::admit(&state.limiter, state.now(), &found.key).await?;
    let mut response =
        latest(state, found, scorer, address).await.unwrap_or_else(IntoResponse::into_response);
    budget.write(response.headers_mut());
    Ok(response)
}

async fn latest(state: &State, found: Lookup, scorer: ScorerId, address: EvmAddress) -> Result<Response> {
    if !found.key.can_read {
        return Err(Error::Forbidden);
    }
    let now = state.now();
    let terms = in_force(&state.store, found.key.workspace_id, scorer, found.scorer, now).await?;
    let place = ScoreKey { workspace: found.key.workspace_id, scorer, address };
    match found.stored {
        Some(stored) if stored.is_fresh(terms.revision, now) => {
            stored_record(&state.db, place, terms, stored, now).await
        }
        _ => computed(&state.db, place, terms, now).await,
    }
    .map(json)
}

/// Handles parameters and errors, in this order: parameters, permission, scorer, address.
async fn with_query(
    state: &State,
    caller: Caller,
    scorer: Result<ScorerId>,
    address: Result<EvmAddress>,
    pairs: &QueryPairs<'_>,
) -> Result<Response> {
    if let Err(error @ Error::Parameter(_)) = scorer {
        return Err(error);
    }
    let explain = pairs.switch("explain")?;
    // A request for a signature comes here only with a bad path, after its parameters.
    SignedQuery::read(pairs)?;
    if !caller.can_read {
        return Err(Error::Forbidden);
    }
    let scorer = known_scorer(&state.store, state.now(), caller.workspace, scorer?).await?;
    let place = ScoreKey { workspace: caller.workspace, scorer: scorer.id, address: address? };
    let now = state.now();
    let body = current(&state.db, place, (&scorer).into(), now).await?;
    if explain {
        Ok(json(super::explain::explained(&state.db, place, &body, now).await?))
    } else {
        Ok(json(body))
    }
}
