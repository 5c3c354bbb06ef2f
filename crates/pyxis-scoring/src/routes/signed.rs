//! `?signed=jwt|eip712|eas`: the score record with a signature that others verify without asking Pyxis
//! (`docs/reference/signed-scores.md`).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::ScorerId;
use pyxis_core::score::stored_to_json;
use pyxis_signing::eip712::AbiWord;
use pyxis_store::scores::{self, Lookup, ScorerHead, Stored};
use serde::Deserialize;
use utoipa::ToSchema;

use super::ingest::read_object;
use super::latest::{ScoreBody, computed, in_force, known_scorer, stored_record};
use super::parameters::{QueryPairs, Segments};
use super::responses::{BadSignedRequest, MalformedStampsBody, NoScorer, PartialScore};
use super::shared::{ChainId, ChallengedForm, ScorerPath, VerifyingContract};
use super::{json, respond, with_timeout};
use crate::address;
use crate::auth;
use crate::engine::ScoreKey;
use crate::error::{Error, Parameter, Result};
use crate::score_metrics::METRICS;
use crate::scoring_db::ScoringDb;
use crate::signed::{
    EasRequest, ScoreSigner, ScoreStatement, SignedAttestation, TokenRequest, TypedRequest, Unsigned,
    schema_uid,
};
use crate::state::State;
use crate::values::AddressPath;

/// Media type of a token alone.
const TOKEN: HeaderValue = HeaderValue::from_static("application/jwt");
/// Largest integer that every JSON reader keeps exactly, and so the greatest chain id.
const MAX_CHAIN_ID: u64 = (1 << 53) - 1;
/// Most bytes of a challenge or an audience.
const MAX_TEXT: usize = 256;
/// Most bytes of a body with both.
const MAX_BODY: usize = 4096;

/// Form of a signed score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignatureFormat {
    Jwt,
    Eip712 { chain_id: Option<u64>, verifying_contract: Option<EvmAddress> },
    Eas { chain_id: u64, contract: EvmAddress, schema: AbiWord },
}

/// Parameters of a signed score.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignedQuery {
    form: SignatureFormat,
}

impl SignedQuery {
    /// True if the query asks for a signature.
    pub(super) fn is_in(pairs: &QueryPairs<'_>) -> bool {
        pairs.find("signed").is_some()
    }

    /// `None` if the query asks for no signature.
    pub(super) fn read(pairs: &QueryPairs<'_>) -> Result<Option<Self>> {
        let Some(form) = pairs.find("signed") else { return Ok(None) };
        check_once(pairs)?;
        let (chain_id, contract) = (pairs.find("chain_id"), pairs.find("verifying_contract"));
        if form != "eas" && pairs.find("schema").is_some() {
            return Err(parameter("schema", "extra_forbidden", "Only with signed=eas"));
        }
        let form = match form {
            "jwt" if chain_id.is_some() => return Err(only_typed("chain_id")),
            "jwt" if contract.is_some() => return Err(only_typed("verifying_contract")),
            "jwt" => SignatureFormat::Jwt,
            "eip712" => SignatureFormat::Eip712 {
                chain_id: chain_id.map(read_chain_id).transpose()?,
                verifying_contract: contract.map(read_contract).transpose()?,
            },
            "eas" => SignatureFormat::Eas {
                chain_id: read_chain_id(chain_id.ok_or_else(|| missing_parameter("chain_id"))?)?,
                contract: read_contract(contract.ok_or_else(|| missing_parameter("verifying_contract"))?)?,
                schema: match pairs.find("schema") {
                    Some(text) => read_schema(text)?,
                    None => schema_uid(EvmAddress([0; 20]), true),
                },
            },
            _ => return Err(parameter("signed", "enum", "Input should be 'jwt', 'eip712' or 'eas'")),
        };
        if let SignatureFormat::Eip712 { chain_id: None, verifying_contract: Some(_) } = form {
            return Err(parameter("chain_id", "missing", "Field required with verifying_contract"));
        }
        Ok(Some(Self { form }))
    }
}

fn read_chain_id(text: &str) -> Result<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let id = text.parse().ok().filter(|id| digits && (1..=MAX_CHAIN_ID).contains(id));
    id.ok_or_else(|| {
        parameter(
            "chain_id",
            "int_parsing",
            "Input should be a chain id: an integer from 1 to 9007199254740991",
        )
    })
}

fn read_contract(text: &str) -> Result<EvmAddress> {
    let found = address::read(text).ok().filter(|address| address.0 != [0; 20]);
    found.ok_or_else(|| {
        let message =
            "Input should be the contract's address: 0x and 40 hex digits, in lower case or with checksum";
        parameter("verifying_contract", "address_parsing", message)
    })
}

const fn parameter(name: &'static str, kind: &'static str, message: &'static str) -> Error {
    Error::Parameter(Parameter { place: "query", name, kind, message })
}

/// Refuses a parameter that occurs twice, since one of them would be ignored, and members of the body in the query.
fn check_once(pairs: &QueryPairs<'_>) -> Result<()> {
    let is_twice = |name: &&str| pairs.all(name).nth(1).is_some();
    if let Some(name) = ["signed", "chain_id", "verifying_contract", "schema"].into_iter().find(is_twice) {
        return Err(parameter(name, "extra_forbidden", "Given twice; give it once"));
    }
    match ["challenge", "audience"].into_iter().find(|name| pairs.find(name).is_some()) {
        Some(name) => {
            Err(parameter(name, "extra_forbidden", "Not in the query; send it in the JSON body of a POST"))
        }
        None => Ok(()),
    }
}

/// Parameters of a POST, which answers a challenge.
fn read_challenged(pairs: &QueryPairs<'_>) -> Result<SignedQuery> {
    const FORMS: &str = "Input should be 'jwt' or 'eip712'; an attestation (eas) has no room for a challenge";
    match pairs.find("signed") {
        None => return Err(parameter("signed", "missing", "Field required: jwt or eip712")),
        Some("jwt" | "eip712") => {}
        Some(_) => return Err(parameter("signed", "enum", FORMS)),
    }
    SignedQuery::read(pairs)?.ok_or_else(no_form)
}

const fn no_form() -> Error {
    parameter("signed", "missing", "Field required: jwt, eip712 or eas")
}

const fn missing_parameter(name: &'static str) -> Error {
    parameter(name, "missing", "Field required with signed=eas: the chain and the EAS contract on it")
}

fn read_schema(text: &str) -> Result<AbiWord> {
    let found = hex::decode_prefixed(text).and_then(|bytes| AbiWord::try_from(bytes).ok());
    found.ok_or_else(|| {
        parameter("schema", "uid_parsing", "Input should be a schema's UID: 0x and 64 hex digits")
    })
}

const fn only_typed(name: &'static str) -> Error {
    parameter(
        name,
        "extra_forbidden",
        "Only with signed=eip712 or signed=eas; a token names its recipient by the body's audience",
    )
}

/// True for what a challenge or an audience may be.
pub(super) fn is_text(text: &str) -> bool {
    (1..=MAX_TEXT).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Body of a request for a score that answers a challenge.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SignedScoreRequest)]
pub(super) struct ChallengeRequest {
    /// Text that the verifier made up for this request: 1 to 256 bytes of printable ASCII. It is the token's `nonce`, or
    /// `challenge` of the typed data.
    #[schema(min_length = 1, max_length = 256)]
    challenge: String,
    /// Recipient of a token (`aud`): 1 to 256 bytes of printable ASCII.
    #[schema(min_length = 1, max_length = 256, nullable = false)]
    audience: Option<String>,
}

impl ChallengeRequest {
    fn check(&self, form: SignatureFormat) -> Result<()> {
        let shape = |name: &str, message: &str| {
            Err(Error::Shape { path: vec![name.to_owned()], message: message.to_owned() })
        };
        if !is_text(&self.challenge) {
            return shape("challenge", "1 to 256 bytes of printable ASCII");
        }
        match self.audience.as_deref() {
            Some(audience) if !is_text(audience) => shape("audience", "1 to 256 bytes of printable ASCII"),
            Some(_) if form != SignatureFormat::Jwt => shape(
                "audience",
                "only with signed=jwt; typed data names its chain_id and verifying_contract",
            ),
            _ => Ok(()),
        }
    }
}

/// Read the latest score of an address, signed in answer to a challenge.
///
/// As `GET` with `signed`, but made for one verifier at this moment: it holds the challenge, so an earlier answer does
/// not pass for it. Counts as one request.
#[utoipa::path(
    post,
    path = "/v2/stamps/{scorer_id}/score/{address}",
    tag = "Stamps API",
    operation_id = "signScore",
    security(("apiKey" = [])),
    params(ScorerPath, AddressPath, ChallengedForm, ChainId, VerifyingContract),
    request_body(content = ChallengeRequest, example = json!({"challenge": "b3f1c2"})),
    responses(
        (status = 200, description = "The score record with its signature.", body = ScoreBody),
        (status = 400, response = BadSignedRequest),
        (status = 404, response = NoScorer),
        (status = 409, response = PartialScore),
        (status = 422, response = MalformedStampsBody),
    ),
)]
pub(crate) async fn sign_score(
    Extract(state): Extract<State>,
    segments: Segments,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, async |caller| {
        let scorer = segments.scorer();
        if let Err(error @ Error::Parameter(_)) = scorer {
            return Err(error);
        }
        let pairs = QueryPairs::read(query.as_deref());
        let asked = read_challenged(&pairs)?;
        let challenge: ChallengeRequest = read_object(body, MAX_BODY).await?;
        challenge.check(asked.form)?;
        if !caller.can_read {
            return Err(Error::Forbidden);
        }
        let terms = known_scorer(&state.store, state.now(), caller.workspace, scorer?).await?;
        let place = ScoreKey { workspace: caller.workspace, scorer: terms.id, address: segments.address()? };
        let now = state.now();
        let stored =
            scores::of_many(&state.store, place.workspace, place.scorer, &[place.address]).await?.pop();
        let latest = latest(&state.db, place, (&terms).into(), stored.map(|found| found.stored), now).await?;
        let signature = signature(&state.signer, place.scorer, &latest, asked, Some(&challenge), now).await?;
        finished(latest.record, &signature, &headers)
    })
    .await
}

/// Answers a GET with `signed`: one read for key, scorer and score, as for a plain request.
pub(super) async fn get(
    state: &State,
    headers: &HeaderMap,
    scorer: ScorerId,
    address: EvmAddress,
    pairs: &QueryPairs<'_>,
) -> Response {
    with_timeout(&state.config, async {
        let hash = auth::key_hash(headers)?;
        let found = scores::look_up(&state.store, &hash, scorer, address).await?.ok_or(Error::InvalidKey)?;
        let budget = auth::admit(&state.limiter, state.now(), &found.key).await?;
        let answer = found_score(state, headers, found, scorer, address, pairs).await;
        let mut response = answer.unwrap_or_else(IntoResponse::into_response);
        budget.write(response.headers_mut());
        Ok(response)
    })
    .await
}

async fn found_score(
    state: &State,
    headers: &HeaderMap,
    found: Lookup,
    scorer: ScorerId,
    address: EvmAddress,
    pairs: &QueryPairs<'_>,
) -> Result<Response> {
    let explain = pairs.switch("explain")?;
    let asked = SignedQuery::read(pairs)?.ok_or_else(no_form)?;
    if !found.key.can_read {
        return Err(Error::Forbidden);
    }
    let now = state.now();
    let terms = in_force(&state.store, found.key.workspace_id, scorer, found.scorer, now).await?;
    let place = ScoreKey { workspace: found.key.workspace_id, scorer, address };
    let latest = latest(&state.db, place, terms, found.stored, now).await?;
    let signature = signature(&state.signer, scorer, &latest, asked, None, now).await?;
    let record = if explain {
        super::explain::explained(&state.db, place, &latest.record, now).await?
    } else {
        latest.record
    };
    finished(record, &signature, headers)
}

/// The latest score, and the moment until which it stands.
struct LatestScore {
    record: String,
    valid_until: UnixMillis,
}

async fn latest(
    db: &ScoringDb,
    place: ScoreKey,
    terms: ScorerHead,
    stored: Option<Stored>,
    now: UnixMillis,
) -> Result<LatestScore> {
    let latest = before_next_change(db, place, terms, stored, now).await?;
    // With other terms it may no longer hold.
    let valid_until = latest.valid_until.min(terms.next_change_at.unwrap_or(UnixMillis(i64::MAX)));
    Ok(LatestScore { valid_until, ..latest })
}

async fn before_next_change(
    db: &ScoringDb,
    place: ScoreKey,
    terms: ScorerHead,
    stored: Option<Stored>,
    now: UnixMillis,
) -> Result<LatestScore> {
    let ScoreKey { workspace, scorer, address } = place;
    let record = match stored.filter(|stored| stored.is_fresh(terms.revision, now)) {
        Some(Stored { in_history: true, valid_until, body, .. }) => {
            // A damaged one is computed again.
            if let Ok(record) = stored_to_json(address, body) {
                METRICS.stored.increment(1);
                return Ok(LatestScore { record, valid_until });
            }
            computed(db, place, terms, now).await?
        }
        Some(stored) => stored_record(db, place, terms, stored, now).await?,
        None => computed(db, place, terms, now).await?,
    };
    // The score was just stored, or just became history. Another may have replaced it meanwhile.
    match scores::fresh(&**db, workspace, scorer, address, now).await? {
        Some(stored) => {
            let record = stored_to_json(address, stored.body)?;
            Ok(LatestScore { record, valid_until: stored.valid_until })
        }
        None => Ok(LatestScore { valid_until: first_expiry(&record), record }),
    }
}

/// Earliest date in a record that is not stored, or no longer.
fn first_expiry(record: &str) -> UnixMillis {
    #[derive(Deserialize)]
    struct Dated {
        expiration_date: String,
    }
    #[derive(Deserialize)]
    struct DatedStamps {
        stamps: BTreeMap<String, Dated>,
    }
    let dates = serde_json::from_str::<DatedStamps>(record).map(|read| read.stamps).unwrap_or_default();
    let dates = dates.values().filter_map(|stamp| UnixMillis::parse_rfc3339(&stamp.expiration_date));
    dates.min().unwrap_or(UnixMillis(i64::MAX))
}

/// A signature in the form that was asked for.
enum Signature {
    Jwt(Arc<str>),
    /// Members of the answer.
    Eip712(Arc<str>),
    Eas {
        signer: String,
        attestation: String,
        to: EvmAddress,
        calldata: String,
    },
}

fn statement(
    signer: &ScoreSigner,
    scorer: ScorerId,
    latest: &LatestScore,
    now: UnixMillis,
    exact: bool,
) -> Result<ScoreStatement> {
    let lifetime = signer.config().lifetime;
    let LatestScore { record, valid_until } = latest;
    ScoreStatement::from_record(record, scorer, *valid_until, lifetime, now, exact).map_err(|error| {
        match error {
            Unsigned::Partial => Error::PartialScore,
            Unsigned::Damaged => Error::Internal(error.into()),
        }
    })
}

async fn signature(
    signer: &ScoreSigner,
    scorer: ScorerId,
    latest: &LatestScore,
    asked: SignedQuery,
    with: Option<&ChallengeRequest>,
    now: UnixMillis,
) -> Result<Signature> {
    let record = &latest.record;
    let statement = statement(signer, scorer, latest, now, with.is_some())?;
    let challenge = with.map(|with| with.challenge.as_str());
    match asked.form {
        SignatureFormat::Jwt => {
            let asked = TokenRequest { audience: with.and_then(|with| with.audience.as_deref()), challenge };
            Ok(Signature::Jwt(signer.token(&statement, asked, now).await?))
        }
        SignatureFormat::Eip712 { chain_id, verifying_contract } => {
            let asked = TypedRequest { chain_id, verifying_contract, challenge };
            Ok(Signature::Eip712(signer.typed(&statement, asked, now).await?))
        }
        SignatureFormat::Eas { chain_id, contract, schema } => {
            let asked = EasRequest { chain_id, contract, schema };
            let made = signer.attestation(&statement, record, asked, now).await?;
            let SignedAttestation { json, signer, calldata } = made;
            Ok(Signature::Eas { signer, attestation: json.to_string(), to: contract, calldata })
        }
    }
}

/// The latest score of a holder, as a token for the page's server.
pub(super) async fn for_page(
    state: &State,
    place: ScoreKey,
    terms: ScorerHead,
    asked: TokenRequest<'_>,
) -> Result<Response> {
    let now = state.now();
    let stored = scores::of_many(&state.store, place.workspace, place.scorer, &[place.address]).await?.pop();
    let latest = latest(&state.db, place, terms, stored.map(|found| found.stored), now).await?;
    let statement = statement(&state.signer, place.scorer, &latest, now, true)?;
    let token = state.signer.token(&statement, asked, now).await?;
    Ok(json(with_members(latest.record, &format!(r#""jwt":"{token}""#))?))
}

/// The record with the signature's members at its end; or a token alone, if the client accepts that.
fn finished(record: String, signature: &Signature, headers: &HeaderMap) -> Result<Response> {
    match signature {
        Signature::Jwt(token) if accepts_token(headers) => {
            let mut response = Response::new(Body::from(token.to_string()));
            response.headers_mut().insert(header::CONTENT_TYPE, TOKEN);
            Ok(varying(response))
        }
        Signature::Jwt(token) => Ok(varying(json(with_members(record, &format!(r#""jwt":"{token}""#))?))),
        Signature::Eip712(members) => Ok(json(with_members(record, members)?)),
        Signature::Eas { signer, attestation, to, calldata } => {
            let members = format!(
                r#""signer":"{signer}","attestation":{attestation},"transaction":{{"to":"{to}","data":"{calldata}","value":"0x0"}}"#
            );
            Ok(json(with_members(record, &members)?))
        }
    }
}

/// A JSON object with more members.
fn with_members(mut object: String, members: &str) -> Result<String> {
    if object.pop() != Some('}') {
        return Err(Error::Internal("the score record is not an object".into()));
    }
    object.reserve(members.len() + 2);
    object.push(',');
    object.push_str(members);
    object.push('}');
    Ok(object)
}

/// True if the client names the media type of a token, and wants JSON no more than that.
fn accepts_token(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<(String, f32)> = accepted.flat_map(|value| value.split(',')).map(media_range).collect();
    let weight = |name: &str| ranges.iter().find(|(range, _)| range == name).map(|(_, weight)| *weight);
    // The most specific range counts (RFC 9110, 12.5.1).
    let json = weight("application/json").or_else(|| weight("application/*")).or_else(|| weight("*/*"));
    weight("application/jwt").is_some_and(|token| token > 0.0 && token >= json.unwrap_or(0.0))
}

/// A range of `Accept` in lower case, and its weight.
fn media_range(range: &str) -> (String, f32) {
    let (name, parameters) = range.split_once(';').unwrap_or((range, ""));
    let weight = parameters.split(';').find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse().unwrap_or(0.0))
    });
    (name.trim().to_ascii_lowercase(), weight.unwrap_or(1.0))
}

fn varying(mut response: Response) -> Response {
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    response
}
