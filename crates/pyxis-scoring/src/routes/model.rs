//! `GET /v2/models/score/{address}`: model scores of any wallet (`docs/reference/behavior/scoring.md#model-scores`).

use axum::extract::{RawQuery, State as Extract};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use pyxis_core::address::EvmAddress;
use pyxis_models::scope::Model;
use pyxis_store::models::{self, Lookup};
use pyxis_store::usage::Surface;
use serde_json::{Map, Value, json as value};

use super::parameters::{QueryPairs, Segments};
use super::{json, within};
use crate::auth;
use crate::error::{Error, Result};
use crate::limits::limit_of_models;
use crate::models::{ModelExplanation, SourceError, WalletExplanation, read, tell};
use crate::state::State;

/// The requested model, and true if an explanation was requested.
struct ModelScoreRequest {
    model: Model,
    explain: bool,
}

/// The score of one model, -1 if there is too little data.
pub(crate) async fn get_model_score(
    Extract(state): Extract<State>,
    segments: Segments,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let address = segments.address();
    respond(&state, &headers, address.as_ref().ok().copied(), async |found| {
        answer(&state, found, address, query.as_deref()).await
    })
    .await
}

/// As for the Stamps paths, but counted as a request for a model score.
pub(super) async fn refuse_method(Extract(state): Extract<State>, headers: HeaderMap) -> Response {
    respond(&state, &headers, None, async |_| Err(Error::MethodNotAllowed)).await
}

/// Authenticates and counts the caller, then runs `work`. Key, models and wallet take one read.
async fn respond<F, W>(state: &State, headers: &HeaderMap, wallet: Option<EvmAddress>, work: F) -> Response
where
    F: FnOnce(Lookup) -> W,
    W: Future<Output = Result<Response>>,
{
    within(state, async {
        let hash = auth::key_hash(headers)?;
        let found = models::look_up(&state.store, &hash, wallet).await?.ok_or(Error::InvalidKey)?;
        let limit = limit_of_models(found.models_tier, found.models_limit);
        let budget = state.limiter.admit(found.key, Surface::Models, limit, state.now()).await?;
        let mut response = work(found).await.unwrap_or_else(IntoResponse::into_response);
        budget.write(response.headers_mut());
        Ok(response)
    })
    .await
}

async fn answer(
    state: &State,
    found: Lookup,
    address: Result<EvmAddress>,
    query: Option<&str>,
) -> Result<Response> {
    let asked = asked(&QueryPairs::read(query))?;
    if !found.can_read {
        return Err(Error::Forbidden);
    }
    let address = address?;
    let held = state.models.of_revision(found.revision).await?;
    let (score, told) = match (state.activity(), asked.explain) {
        (None, false) => {
            let scores = found.features.map(|bytes| state.models.scores(&held, address, &bytes));
            (scores.transpose().map_err(broken)?.and_then(|scores| scores.of(asked.model)), None)
        }
        (source, explain) => {
            let features = match source {
                Some(source) => source.look(address, state.now()).await.map_err(failed)?,
                None => found.features.map(|bytes| read(address, &bytes)).transpose().map_err(broken)?,
            };
            let told = tell(&held.bundle, asked.model, features.as_ref()).map_err(broken)?;
            (told.score, explain.then_some(told))
        }
    };
    state.models.note(asked.model, score);
    let mut body = value!({
        "address": address,
        "details": { "models": { asked.model.as_str(): { "score": number(score) } } },
    });
    if let Some(told) = told {
        body["explain"] = explained(&told, &held.fingerprint, &held.bundle.card.trained_at);
    }
    Ok(json(body.to_string()))
}

/// One model at a time; `model_list` is its earlier name.
fn asked(query: &QueryPairs<'_>) -> Result<ModelScoreRequest> {
    let explain = query.switch("explain")?;
    let names: Vec<&str> =
        query.all("model").chain(query.all("model_list")).filter(|name| !name.is_empty()).collect();
    let model = match names[..] {
        [] => Model::Aggregate,
        [name] => Model::from_name(name).ok_or_else(|| Error::no_model(name))?,
        _ => return Err(Error::no_model(&names.join(","))),
    };
    Ok(ModelScoreRequest { model, explain })
}

/// Damaged activity, or a custom model that fails: the server's fault, and never a score.
fn broken(error: pyxis_models::Error) -> Error {
    Error::Internal(Box::new(error))
}

fn failed(error: SourceError) -> Error {
    match error {
        SourceError::Store(error) => error.into(),
        SourceError::Damaged(error) => broken(error),
        error @ SourceError::Indexer { .. } => Error::Source(error),
    }
}

/// -1 means too little data.
fn number(score: Option<f64>) -> Value {
    score.map_or_else(|| (-1).into(), Into::into)
}

fn explained(told: &WalletExplanation, fingerprint: &str, trained_at: &str) -> Value {
    let models: Map<String, Value> =
        told.models.iter().map(|model| (model.model.as_str().to_owned(), line(model))).collect();
    value!({
        "models": models,
        "missing": told.missing,
        "company": told.company,
        "fingerprint": fingerprint,
        "trained_at": trained_at,
    })
}

fn line(model: &ModelExplanation) -> Value {
    let features: Vec<Value> = model
        .features
        .iter()
        .map(|line| {
            value!({
                "name": line.name, "words": line.words, "value": line.value, "contribution": line.moved,
            })
        })
        .collect();
    let mut line = value!({
        "score": model.score,
        "weight": (model.weight * 1e4).round() / 1e4,
        "transferred": model.transferred,
        "features": features,
    });
    if let Some(custom) = &model.custom {
        line["custom"] = value!({ "name": custom.name, "file_sha256": custom.file_sha256 });
    }
    line
}
