//! `/snapshot-strategies/…`: one 1 or 0 for each address at a block height
//! (`docs/reference/behavior/verification.md#voting-strategies`). The voting tool stores the result permanently, so
//! an unknown answer is an error.

use std::borrow::Cow;

use axum::extract::{Path, RawQuery, State as Extract};
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::entries;
use pyxis_core::proof::{Kind, Subject};
use pyxis_http::json::Raw;
use pyxis_http::openapi::responses::BodyTooLarge;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::answer;
use super::parameters::{self, QueryPairs};
use super::responses::{BadQuestion, OpenResponses, UnknownCheck};
use super::shared::{ActionId, Addresses, ChainId, Explain, SnapshotBlock};
use crate::checker::{self, CheckRequest, CheckVerdict};
use crate::error::{Error, Result};
use crate::state::State;
use crate::values::{Country, StrategyKind, TextOrInteger, VerificationReason, ZeroOrOne};

#[derive(Serialize, ToSchema)]
#[schema(as = StrategyScore)]
struct SnapshotResponse<'a> {
    score: Vec<AddressScore<'a>>,
}

#[derive(Serialize, ToSchema)]
struct AddressScore<'a> {
    address: &'a str,
    #[schema(value_type = ZeroOrOne)]
    score: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<VerificationReason>, nullable = false)]
    reason: Option<&'static str>,
}

/// The body that the voting tool posts. Its other members are for the tool alone.
#[derive(Default, Deserialize, ToSchema)]
#[schema(as = StrategyRequest)]
struct ApiPostBody {
    #[serde(default)]
    #[schema(nullable = false)]
    options: Option<Options>,
    /// Chain id.
    #[serde(default)]
    #[schema(value_type = TextOrInteger, required)]
    network: Option<Value>,
    /// Block number, or `latest`.
    #[serde(default)]
    #[schema(value_type = TextOrInteger, required)]
    snapshot: Option<Value>,
    #[serde(default)]
    #[schema(value_type = Vec<String>, required)]
    addresses: Option<Vec<Value>>,
}

#[derive(Default, Deserialize, ToSchema)]
#[schema(as = StrategyOptions)]
struct Options {
    /// As in a query: `action-id=123456789`.
    #[serde(default, rename = "additionalParameters")]
    #[schema(nullable = false)]
    additional_parameters: Option<String>,
}

/// The request's parameters, wherever they were given.
struct VoteRequest<'a> {
    network: Option<&'a str>,
    snapshot: Option<&'a str>,
    /// As given: an entry that is not a text is written as JSON.
    addresses: Vec<Cow<'a, str>>,
    action_id: Option<&'a str>,
    explain: bool,
}

/// Score addresses for uniqueness, 1 or 0 each.
///
/// For voting strategies: integers, and always the same for a past block. If the source does not respond, the
/// response is 503, never 0.
#[utoipa::path(
    get,
    path = "/snapshot-strategies/sybil-resistance/{credential_type}",
    tag = "Verification",
    operation_id = "scoreSybilResistance",
    params(
        ("credential_type" = inline(StrategyKind), Path),
        ChainId,
        SnapshotBlock,
        Addresses,
        ActionId,
        Explain,
    ),
    responses(
        OpenResponses,
        (status = 200, description = "One entry for each address, in the order and spelling that it was given.", body = SnapshotResponse),
        (status = 400, response = BadQuestion),
        (status = 404, response = UnknownCheck),
    ),
)]
pub(super) async fn sybil(
    Extract(state): Extract<State>,
    Path(kind): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    answer(from_query(&state, parameters::sybil_strategy(&kind), query.as_deref()).await)
}

/// Score addresses for residence in the United States, 1 or 0 each.
///
/// For voting strategies: integers, and always the same for a past block. If the source does not respond, the
/// response is 503, never 0.
#[utoipa::path(
    get,
    path = "/snapshot-strategies/residence/country/{country}",
    tag = "Verification",
    operation_id = "scoreResidence",
    params(("country" = inline(Country), Path), ChainId, SnapshotBlock, Addresses, Explain),
    responses(
        OpenResponses,
        (status = 200, description = "One entry for each address, in the order and spelling that it was given.", body = SnapshotResponse),
        (status = 400, response = BadQuestion),
        (status = 404, response = UnknownCheck),
    ),
)]
pub(super) async fn residence(
    Extract(state): Extract<State>,
    Path(country): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    answer(from_query(&state, parameters::country(&country), query.as_deref()).await)
}

/// Score posted addresses for uniqueness.
///
/// Takes the body that voting tools post. Its other members are ignored.
#[utoipa::path(
    post,
    path = "/snapshot-strategies/sybil-resistance/{credential_type}",
    tag = "Verification",
    operation_id = "scoreSybilResistancePosted",
    params(("credential_type" = inline(StrategyKind), Path)),
    request_body(content = ApiPostBody, example = json!({
            "network": "10",
            "snapshot": "latest",
            "addresses": [
                "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1"
            ],
            "options": {
                "additionalParameters": "action-id=123456789"
            }
        })),
    responses(
        OpenResponses,
        (status = 200, description = "One entry for each address, in the order and spelling that it was given.", body = SnapshotResponse),
        (status = 400, response = BadQuestion),
        (status = 404, response = UnknownCheck),
        (status = 413, response = BodyTooLarge),
    ),
)]
pub(super) async fn sybil_posted(
    Extract(state): Extract<State>,
    Path(kind): Path<String>,
    RawQuery(query): RawQuery,
    body: Raw,
) -> Response {
    answer(from_body(&state, parameters::sybil_strategy(&kind), query.as_deref(), &body).await)
}

/// Score posted addresses for residence in the United States.
///
/// Takes the body that voting tools post. Its other members are ignored.
#[utoipa::path(
    post,
    path = "/snapshot-strategies/residence/country/{country}",
    tag = "Verification",
    operation_id = "scoreResidencePosted",
    params(("country" = inline(Country), Path)),
    request_body(content = ApiPostBody, example = json!({
            "network": "10",
            "snapshot": "latest",
            "addresses": [
                "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1"
            ],
            "options": {
                "additionalParameters": "action-id=123456789"
            }
        })),
    responses(
        OpenResponses,
        (status = 200, description = "One entry for each address, in the order and spelling that it was given.", body = SnapshotResponse),
        (status = 400, response = BadQuestion),
        (status = 404, response = UnknownCheck),
        (status = 413, response = BodyTooLarge),
    ),
)]
pub(super) async fn residence_posted(
    Extract(state): Extract<State>,
    Path(country): Path<String>,
    RawQuery(query): RawQuery,
    body: Raw,
) -> Response {
    answer(from_body(&state, parameters::country(&country), query.as_deref(), &body).await)
}

async fn from_query(state: &State, kind: Result<Kind>, query: Option<&str>) -> Result<String> {
    let kind = kind?;
    let query = QueryPairs::read(query);
    let asked = VoteRequest {
        network: query.find("network"),
        snapshot: query.find("snapshot"),
        addresses: query.find("addresses").map(split).unwrap_or_default(),
        action_id: query.find("action-id"),
        explain: query.explain(),
    };
    score(state, kind, &asked).await
}

async fn from_body(
    state: &State,
    kind: Result<Kind>,
    query: Option<&str>,
    Raw(body): &Raw,
) -> Result<String> {
    let kind = kind?;
    let posted: ApiPostBody =
        serde_json::from_slice(body).map_err(|error| Error::InvalidBody(error.to_string()))?;
    let (network, snapshot) = (text(posted.network), text(posted.snapshot));
    let additional = posted.options.and_then(|options| options.additional_parameters);
    let (query, additional) = (QueryPairs::read(query), QueryPairs::read(additional.as_deref()));
    let addresses = posted.addresses.unwrap_or_default();
    let given = |address: &Value| address.as_str().map_or_else(|| address.to_string(), str::to_owned);
    let asked = VoteRequest {
        network: network.as_deref(),
        snapshot: snapshot.as_deref(),
        addresses: addresses.iter().map(|address| given(address).into()).collect(),
        action_id: additional.find("action-id").or_else(|| query.find("action-id")),
        explain: additional.explain() || query.explain(),
    };
    score(state, kind, &asked).await
}

/// The addresses of a query.
fn split(list: &str) -> Vec<Cow<'_, str>> {
    list.split(',').map(Cow::from).collect()
}

/// A number as the tool writes it, or as text.
fn text(value: Option<Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text).filter(|text| !text.is_empty()),
        other => Some(other.to_string()),
    }
}

async fn score(state: &State, kind: Kind, asked: &VoteRequest<'_>) -> Result<String> {
    let network = asked.network.ok_or(Error::Missing("network"))?;
    let snapshot = asked.snapshot.ok_or(Error::Missing("snapshot"))?;
    if asked.addresses.is_empty() {
        return Err(Error::Missing("addresses"));
    }
    let action_id = match kind {
        Kind::ResidenceUs => None,
        _ => Some(asked.action_id.ok_or(Error::Missing("action-id"))?),
    };
    let most = state.config.max_addresses;
    if asked.addresses.len() > most {
        return Err(Error::TooManyAddresses(most));
    }
    let texts = asked.addresses.iter().map(|text| &**text);
    let subjects = entries::read(texts, |text| text.parse::<EvmAddress>().map(Subject::from));
    let subjects = subjects.map_err(Error::InvalidUsers)?;
    let action_id = action_id.map(parameters::action).transpose()?;
    let snapshot = parameters::snapshot(snapshot)?;
    let network = parameters::chain(state.networks(), network, kind)?;
    let ask = CheckRequest { network, kind, action_id, snapshot };
    let verdicts = checker::check_many(state, ask, &subjects, asked.explain).await?;
    render(asked, &verdicts)
}

fn render(asked: &VoteRequest<'_>, verdicts: &[CheckVerdict]) -> Result<String> {
    let pairs = asked.addresses.iter().zip(verdicts);
    let score = pairs.map(|(address, verdict)| AddressScore {
        address,
        score: verdict.is_valid().into(),
        reason: asked.explain.then(|| verdict.reason()),
    });
    let shown = SnapshotResponse { score: score.collect() };
    serde_json::to_string(&shown).map_err(|error| Error::Internal(error.into()))
}
