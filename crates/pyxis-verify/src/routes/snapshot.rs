//! `/snapshot-strategies/…`: one 1 or 0 for each address at a block height
//! (`docs/reference/behavior/verification.md#voting-strategies`). The voting tool stores the result permanently, so
//! an unknown answer is an error.

use axum::extract::{Path, RawQuery, State as Extract};
use axum::response::Response;
use pyxis_core::proof::{Kind, Subject};
use pyxis_http::json::Raw;
use pyxis_http::openapi::responses::BodyTooLarge;
use utoipa::ToSchema;

use super::answer;
use super::parameters::{self, QueryPairs};
use super::responses::{BadQuestion, OpenResponses, UnknownCheck};
use super::shared::{ActionId, Addresses, ChainId, Explain, SnapshotBlock, Strict};
use super::vote_request::{ApiPostBody, EntryError, PostedVote, VoteRequest};
use crate::checker::{self, CheckRequest};
use crate::error::{Error, Result};
use crate::state::State;
use crate::values::{Country, StrategyKind, VerificationReason, ZeroOrOne};

#[derive(ToSchema)]
#[schema(as = StrategyScore)]
#[expect(dead_code, reason = "responses are written by `vote_request`; this is their description")]
struct SnapshotResponse {
    score: Vec<AddressScore>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "as above")]
struct AddressScore {
    #[schema(example = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1")]
    address: String,
    #[schema(value_type = ZeroOrOne)]
    score: u8,
    #[schema(value_type = Option<VerificationReason>, nullable = false)]
    reason: Option<()>,
    /// Only if the entry is not an address.
    #[schema(nullable = false)]
    error: Option<EntryError>,
}

/// Score addresses for uniqueness, 1 or 0 each.
///
/// For voting strategies: integers, and always the same for a past block. If the source does not respond, the
/// response is 503, never 0. An entry that is not an address has score 0 and an `error`, unless no entry is one.
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
        Strict,
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
/// response is 503, never 0. An entry that is not an address has score 0 and an `error`, unless no entry is one.
#[utoipa::path(
    get,
    path = "/snapshot-strategies/residence/country/{country}",
    tag = "Verification",
    operation_id = "scoreResidence",
    params(("country" = inline(Country), Path), ChainId, SnapshotBlock, Addresses, Explain, Strict),
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
    params(("credential_type" = inline(StrategyKind), Path), Strict),
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
    params(("country" = inline(Country), Path), Strict),
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

pub(super) async fn from_query(state: &State, kind: Result<Kind>, query: Option<&str>) -> Result<String> {
    let kind = kind?;
    let query = QueryPairs::read(query);
    score(state, kind, &VoteRequest::of_query(&query)).await
}

async fn from_body(
    state: &State,
    kind: Result<Kind>,
    query: Option<&str>,
    Raw(body): &Raw,
) -> Result<String> {
    let kind = kind?;
    let posted = PostedVote::read(body)?;
    let (query, additional) = (QueryPairs::read(query), posted.additional());
    score(state, kind, &posted.request(&query, &additional)).await
}

async fn score(state: &State, kind: Kind, asked: &VoteRequest<'_>) -> Result<String> {
    let (network, snapshot) = asked.network_and_snapshot()?;
    let action_id = match kind {
        Kind::ResidenceUs => None,
        _ => Some(asked.find("action-id").ok_or(Error::Missing("action-id"))?),
    };
    let voters = asked.voters(state.config.max_addresses)?;
    let action_id = action_id.map(parameters::action).transpose()?;
    let snapshot = parameters::snapshot(snapshot)?;
    let network = parameters::chain(state.networks(), network, kind)?;
    let ask = CheckRequest { network, kind, action_id, snapshot };
    let subjects: Vec<Subject> = voters.addresses().map(Subject::from).collect();
    let explain = asked.explain()?;
    let verdicts = checker::check_many(state, ask, &subjects, explain).await?;
    let results =
        verdicts.into_iter().map(|verdict| (u8::from(verdict.is_valid()), explain.then(|| verdict.reason())));
    voters.render(results, || 0)
}
