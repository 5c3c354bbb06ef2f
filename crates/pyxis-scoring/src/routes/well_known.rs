//! `/.well-known/…`: the public keys by which anyone verifies a signed score.

use axum::extract::State as Extract;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use pyxis_core::clock::UnixMillis;
use pyxis_http::openapi::Time;
use pyxis_store::score_keys::{ScoreKeyRow, ScoreKeyScheme};
use serde::Serialize;
use utoipa::ToSchema;

use super::json;
use crate::error::{Error, Result};
use crate::signed::{JsonWebKey, KeyTimes, SCORE_DOMAIN, SCORE_VERSION, ScoreSigner, key_id};
use crate::state::State;
use crate::values::ScoreKeySchemeName;

/// Time for which a verifier may keep the keys.
const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=300");

#[derive(Serialize, ToSchema)]
struct JsonWebKeySet {
    keys: Vec<JsonWebKey>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = PublishedScoreKeys)]
struct PublishedKeys<'a> {
    /// `iss` of tokens.
    #[schema(example = "https://pyxis.example.org")]
    issuer: &'a str,
    domain: ScoreDomain,
    /// Newest first within each scheme.
    keys: Vec<PublishedKey>,
}

/// Domain of typed data. Chain and contract are added where a request names them.
#[derive(Serialize, ToSchema)]
struct ScoreDomain {
    #[schema(example = "Pyxis Score")]
    name: &'static str,
    #[schema(example = "1")]
    version: &'static str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = PublishedScoreKey)]
struct PublishedKey {
    #[schema(value_type = ScoreKeySchemeName)]
    scheme: &'static str,
    /// `kid` of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s")]
    kid: Option<String>,
    /// Signer of typed data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    address: Option<String>,
    #[schema(value_type = Time)]
    signs_from: String,
    /// Null for the newest key.
    #[schema(value_type = Option<Time>, required)]
    signs_until: Option<String>,
    /// Time from which nothing that the key signed is valid; null for the newest key.
    #[schema(value_type = Option<Time>, required)]
    trusted_until: Option<String>,
}

impl PublishedKey {
    fn from_row((row, times): (&ScoreKeyRow, KeyTimes)) -> Self {
        let id = |scheme| (row.scheme == scheme).then(|| key_id(row));
        Self {
            scheme: row.scheme.as_str(),
            kid: id(ScoreKeyScheme::Es256),
            address: id(ScoreKeyScheme::Eip712),
            signs_from: times.signs_from.to_rfc3339(),
            signs_until: times.signs_until.map(UnixMillis::to_rfc3339),
            trusted_until: times.trusted_until.map(UnixMillis::to_rfc3339),
        }
    }
}

/// Read the public keys of score tokens, as a JSON Web Key Set (RFC 7517).
#[utoipa::path(
    get,
    path = "/.well-known/jwks.json",
    tag = "Stamps API",
    operation_id = "getScoreTokenKeys",
    responses((status = 200, description = "The keys.", body = JsonWebKeySet)),
)]
pub(super) async fn get_jwks(Extract(state): Extract<State>) -> Response {
    answer(jwks(&state.signer, state.now()).await)
}

async fn jwks(signer: &ScoreSigner, now: UnixMillis) -> Result<String> {
    let keys = signer.keys(now).await?;
    let keys = keys.published(now).filter_map(|(row, _)| JsonWebKey::from_row(row)).collect();
    written(&JsonWebKeySet { keys })
}

/// Read the public keys that sign scores, with the times at which they do.
#[utoipa::path(
    get,
    path = "/.well-known/pyxis-score-keys",
    tag = "Stamps API",
    operation_id = "getScoreKeys",
    responses((status = 200, description = "The keys.", body = PublishedKeys)),
)]
pub(super) async fn get_score_keys(Extract(state): Extract<State>) -> Response {
    answer(score_keys(&state.signer, state.now()).await)
}

async fn score_keys(signer: &ScoreSigner, now: UnixMillis) -> Result<String> {
    let keys = signer.keys(now).await?;
    written(&PublishedKeys {
        issuer: &signer.config().issuer,
        domain: ScoreDomain { name: SCORE_DOMAIN, version: SCORE_VERSION },
        keys: keys.published(now).map(PublishedKey::from_row).collect(),
    })
}

fn written(body: &impl Serialize) -> Result<String> {
    serde_json::to_string(body).map_err(|error| Error::Internal(error.into()))
}

fn answer(body: Result<String>) -> Response {
    match body {
        Ok(body) => {
            let mut response = json(body);
            response.headers_mut().insert(header::CACHE_CONTROL, CACHED);
            response
        }
        Err(error) => error.into_response(),
    }
}
