//! `GET /v2/models/score/{address}`: model scores of any wallet (`docs/reference/behavior/scoring.md#model-scores`).

use std::collections::BTreeMap;

use axum::extract::{RawQuery, State as Extract};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use pyxis_core::address::EvmAddress;
use pyxis_models::scope::Model;
use pyxis_store::models::{self, Lookup};
use pyxis_store::usage::Surface;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::parameters::{QueryPairs, Segments};
use super::responses::{BadModelRequest, MalformedParameter, SourceFails};
use super::shared::{ExplainModel, ModelQuery};
use super::{json, with_timeout};
use crate::auth;
use crate::error::{Error, Result};
use crate::limits::limit_of_models;
use crate::models::{FeatureLine, ModelExplanation, SourceError, WalletExplanation, explain_model, read};
use crate::state::State;
use crate::values::AddressPath;

/// The requested model, and true if an explanation was requested.
struct ModelScoreRequest {
    model: Model,
    explain: bool,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ModelScore {
    address: String,
    details: ModelScores,
    /// Only with `explain=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    explain: Option<ModelScoreExplanation>,
}

#[derive(Serialize, ToSchema)]
struct ModelScores {
    /// The requested model, by its name.
    #[schema(value_type = BTreeMap<String, SingleScore>)]
    models: BTreeMap<&'static str, SingleScore>,
}

#[derive(Serialize, ToSchema)]
struct SingleScore {
    #[schema(value_type = f64, minimum = -1, maximum = 100)]
    score: Value,
}

#[derive(Serialize, ToSchema)]
struct ModelScoreExplanation {
    /// True if the wallet's counterparties are known; false for a wallet known only to an indexer.
    company: bool,
    /// SHA-256 that names the models.
    fingerprint: String,
    /// Reason that there is no score; null if there is one.
    #[schema(required)]
    missing: Option<String>,
    /// The models that the score comes from, by name.
    #[schema(value_type = BTreeMap<String, ModelPart>)]
    models: BTreeMap<&'static str, ModelPart>,
    trained_at: String,
}

#[derive(Serialize, ToSchema)]
struct ModelPart {
    /// Only if a custom model answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    custom: Option<Custom>,
    /// Features that moved the score, strongest first.
    features: Vec<Feature>,
    score: f64,
    /// True if it was trained on other chains, without labels of this activity.
    transferred: bool,
    /// Weight in this score, out of 1.
    weight: f64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CustomModelName)]
struct Custom {
    file_sha256: String,
    name: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ModelFeature)]
struct Feature {
    /// Change of the log odds, toward human if positive. For a custom model: the loss in its answer if this were
    /// unknown.
    contribution: f64,
    name: String,
    /// The wallet's value; null if unknown.
    #[schema(required)]
    value: Option<f64>,
    /// Description of the feature.
    words: String,
}

/// Read a model's score of any wallet.
///
/// Computed from the wallet's own activity; no Stamps are needed. 0 to 100: the lower, the likelier a Sybil. -1
/// means too little data: fewer than two transfers that the model looks at. `aggregate` combines the other models
/// that had data. Requests have a separate limit: 15, 350 or 2,000 in 15 minutes by the key's models tier.
#[utoipa::path(
    get,
    path = "/v2/models/score/{address}",
    tag = "Stamps API",
    operation_id = "getModelScore",
    security(("apiKey" = [])),
    params(
        AddressPath,
        ModelQuery,
        ExplainModel,
    ),
    responses(
        (status = 200, description = "The score; -1 means too little data.", body = ModelScore, example = json!({
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
    with_timeout(&state.config, async {
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
    let asked = parse_request(&QueryPairs::read(query))?;
    if !found.can_read {
        return Err(Error::Forbidden);
    }
    let address = address?;
    let held = state.models.of_revision(found.revision).await?;
    let (score, told) = match (state.activity(), asked.explain) {
        (None, false) => {
            let scores = found.features.map(|bytes| state.models.scores(&held, address, &bytes));
            (scores.transpose().map_err(broken)?.and_then(|scores| scores.get(asked.model)), None)
        }
        (source, explain) => {
            let features = match source {
                Some(source) => source.fetch_features(address, state.now()).await.map_err(failed)?,
                None => found.features.map(|bytes| read(address, &bytes)).transpose().map_err(broken)?,
            };
            let told = explain_model(&held.bundle, asked.model, features.as_ref()).map_err(broken)?;
            (told.score, explain.then_some(told))
        }
    };
    state.models.record_served(asked.model, score);
    let score = SingleScore { score: number(score) };
    let body = ModelScore {
        address: address.to_string(),
        details: ModelScores { models: BTreeMap::from([(asked.model.as_str(), score)]) },
        explain: told.map(|told| explained(told, &held.fingerprint, &held.bundle.card.trained_at)),
    };
    Ok(json(serde_json::to_vec(&body).map_err(|error| Error::Internal(error.into()))?))
}

/// One model at a time; `model_list` is its earlier name.
fn parse_request(query: &QueryPairs<'_>) -> Result<ModelScoreRequest> {
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

fn explained(told: WalletExplanation, fingerprint: &str, trained_at: &str) -> ModelScoreExplanation {
    ModelScoreExplanation {
        company: told.company,
        fingerprint: fingerprint.to_owned(),
        missing: told.missing,
        models: told.models.into_iter().map(|model| (model.model.as_str(), line(model))).collect(),
        trained_at: trained_at.to_owned(),
    }
}

fn line(model: ModelExplanation) -> ModelPart {
    let feature = |line: FeatureLine| Feature {
        contribution: line.moved,
        name: line.name,
        value: line.value.map(f64::from),
        words: line.words,
    };
    ModelPart {
        custom: model.custom.map(|custom| Custom { file_sha256: custom.file_sha256, name: custom.name }),
        features: model.features.into_iter().map(feature).collect(),
        score: model.score,
        transferred: model.transferred,
        weight: (model.weight * 1e4).round() / 1e4,
    }
}
