//! `GET /v2/stamps/{scorer_id}/score/{address}`: one indexed read if nothing changed.

use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, Method, Request, header};
use axum::response::{IntoResponse, Response};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::stored_to_json;
use pyxis_http::cors;
use pyxis_store::scores::{self, Lookup, ScorerHead, Stored};
use pyxis_store::{addresses, scorers};

use super::parameters::{QueryPairs, Segments};
use super::{json, respond, within};
use crate::address;
use crate::auth::{self, Caller};
use crate::engine::{self, ScoreKey};
use crate::error::{Error, Result};
use crate::state::State;

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

/// The latest score.
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
        return Ok(record);
    }
    // Another request was first, or another score replaced it and is now the answer.
    let stored = scores::fresh(&state.store, workspace, scorer, address, now).await?;
    let record = stored.filter(|stored| stored.in_history).map(|stored| stored_to_json(address, stored.body));
    match record {
        Some(Ok(record)) => Ok(record),
        Some(Err(_)) | None => computed(state, place, terms, now).await,
    }
}

/// Computes the score and returns it. For an address that never had a Stamp, nothing is stored.
async fn computed(state: &State, place: ScoreKey, terms: ScorerHead, now: UnixMillis) -> Result<String> {
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
