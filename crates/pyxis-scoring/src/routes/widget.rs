//! `/widget/v1/…`: what the widget in a page may ask (`docs/reference/widget.md`).

use std::collections::BTreeMap;
use std::future::Future;

use axum::body::Body;
use axum::extract::{Path, Request, State as Extract};
use axum::http::header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use pyxis_core::catalogue::Platform;
use pyxis_core::clock::Clock;
use pyxis_core::decimal::Decimal;
use pyxis_core::hex;
use pyxis_core::id::ScorerId;
use pyxis_core::stamp::StampName;
use pyxis_http::cors;
use pyxis_http::openapi::{DescribedRouter, Time};
use pyxis_store::{Store, publishable_keys, scorers};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::ingest::read_object;
use super::latest::{ScoreBody, current, known_scorer};
use super::parameters::Segments;
use super::responses::{
    BadSignIn, BadSignedRequest, BadStampsBody, MalformedParameter, NoScorer, PartialScore, SignInRefused,
    WalletNodeFails, WidgetForbidden, WidgetUnauthorized,
};
use super::shared::ScorerPath;
use super::signed;
use super::{json, with_timeout};
use crate::address;
use crate::engine::ScoreKey;
use crate::error::{Error, Result};
use crate::page_keys::spellings;
use crate::service::{catalogue, self_check};
use crate::signed::TokenRequest;
use crate::state::State;
use crate::values::{Address, Amount};
use crate::widget::{self, WidgetPage};
use crate::widget_error::WidgetError;

/// Most bytes of a body.
pub(super) const MAX_BODY: usize = 32 * 1024;
/// Largest integer that every JSON reader keeps exactly.
const MAX_CHAIN_ID: u64 = (1 << 53) - 1;
/// Methods of these paths.
const METHODS: &str = "GET,POST,DELETE";

pub(super) fn describe_routes() -> DescribedRouter<State> {
    DescribedRouter::default()
        .routes(routes!(show_widget))
        .routes(routes!(start_sign_in))
        .routes(routes!(open_session, end_session))
        .routes(routes!(show_own_score, sign_own_score))
        .schema::<WidgetRefusal>()
}

/// A refusal, with a name for programs.
#[derive(ToSchema)]
#[expect(dead_code, reason = "errors write it; this is its description")]
struct WidgetRefusal {
    /// The fault: a sentence, or for a body a list.
    #[schema(value_type = crate::values::AnyDetail)]
    detail: String,
    /// Name of the reason, such as `origin_not_allowed`.
    #[schema(nullable = false)]
    code: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = WidgetView)]
struct ViewResponse {
    #[schema(example = 1)]
    scorer_id: i64,
    /// Name of the scorer.
    #[schema(example = "default")]
    name: String,
    #[schema(value_type = Amount)]
    threshold: Decimal,
    /// Seconds that a session lasts.
    #[schema(example = 1800)]
    session_seconds: u64,
    /// Stamps that count, those with the most weight first.
    stamps: Vec<WeightedStamp>,
    /// Platforms of these Stamps, by id.
    platforms: BTreeMap<String, StampPlatform>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = WidgetStamp)]
struct WeightedStamp {
    #[schema(value_type = String, example = "Discord")]
    name: StampName,
    /// Description of the holder, as the Stamp attests it; empty if the catalogue lacks the Stamp.
    #[schema(example = "Holds an established, active Discord account")]
    description: String,
    #[schema(value_type = Amount)]
    weight: Decimal,
    /// Id of the platform; null if the catalogue lacks the Stamp.
    #[schema(required, example = "Discord")]
    platform: Option<String>,
    /// Items to name in `POST …/issue`, if this server issues the Stamp: `none`, `token_ids` or `attestation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    issued_here: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = WidgetPlatform)]
struct StampPlatform {
    #[schema(example = "Discord")]
    name: String,
    #[schema(example = "An established Discord account")]
    description: String,
    /// Page where its Stamps are issued, if the catalogue says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    url: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WidgetNonceRequest)]
struct NonceRequest {
    #[schema(value_type = Address)]
    address: String,
    /// Chain to which the wallet is connected.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    chain_id: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = WidgetNonce)]
struct NonceResponse {
    #[schema(example = "0123456789abcdef0123456789abcdef")]
    nonce: String,
    /// The message to sign (ERC-4361). Another one with this nonce is accepted too.
    #[schema(example = example_message)]
    message: String,
    #[schema(value_type = Time)]
    expires_at: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WidgetSessionRequest)]
struct SessionRequest {
    /// The message exactly as it was signed, at most 4096 bytes.
    #[schema(max_length = 4096, example = example_message)]
    message: String,
    /// The signature, `0x` and hexadecimal digits: 65 bytes of a key, or what the wallet's contract accepts.
    #[schema(
        pattern = "^0x([0-9A-Fa-f]{2})*$",
        example = "0x3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e1b"
    )]
    signature: String,
}

/// The message of the examples, as [`NonceResponse`] has it.
fn example_message() -> &'static str {
    "app.example.org wants you to sign in with your Ethereum account:\n\
     0x5a5A5a5a5A5a5A5a5A5a5a5a5a5A5a5a5A5a5AA1\n\n\
     Show my score. This costs nothing and sends no transaction.\n\n\
     URI: https://app.example.org\nVersion: 1\nChain ID: 10\n\
     Nonce: 0123456789abcdef0123456789abcdef\n\
     Issued At: 2026-01-31T09:05:00.250Z\nExpiration Time: 2026-01-31T09:10:00.250Z"
}

#[derive(Serialize, ToSchema)]
#[schema(as = WidgetSession)]
struct SessionResponse {
    /// For `Authorization: Bearer`, in this page and with this key only.
    #[schema(example = "px_wid_<SECRET>")]
    token: String,
    #[schema(value_type = Address)]
    address: String,
    #[schema(value_type = Time)]
    expires_at: String,
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WidgetSignRequest)]
struct SignRequest {
    /// Text that the page's server made up for this visit: 1 to 256 bytes of printable ASCII. It is the token's `nonce`.
    #[schema(min_length = 1, max_length = 256, nullable = false)]
    challenge: Option<String>,
}

/// Authenticates the page, then runs `work`, within the request timeout.
pub(super) async fn respond<F, W>(
    state: &State,
    headers: &HeaderMap,
    segments: &Segments,
    work: F,
) -> Response
where
    F: FnOnce(WidgetPage) -> W,
    W: Future<Output = Result<Response>>,
{
    with_timeout(&state.config, async {
        let scorer = segments.scorer()?;
        let (page, budget) = widget::page(state, headers, scorer).await?;
        let mut response = work(page).await.unwrap_or_else(IntoResponse::into_response);
        budget.write(response.headers_mut());
        Ok(response)
    })
    .await
}

pub(super) fn to_json(value: &impl Serialize) -> Result<Response> {
    Ok(json(serde_json::to_vec(value).map_err(|error| Error::Internal(error.into()))?))
}

/// Read what the widget shows before anyone signed in.
#[utoipa::path(
    get,
    path = "/widget/v1/{scorer_id}",
    tag = "Widget",
    operation_id = "showWidget",
    security(("publishableKey" = [])),
    params(ScorerPath),
    responses(
        (status = 200, description = "The scorer's threshold, and the Stamps that count.", body = ViewResponse),
        (status = 401, response = WidgetUnauthorized),
        (status = 403, response = WidgetForbidden),
        (status = 404, response = NoScorer),
        (status = 422, response = MalformedParameter),
    ),
)]
async fn show_widget(Extract(state): Extract<State>, segments: Segments, headers: HeaderMap) -> Response {
    respond(&state, &headers, &segments, async |page| {
        let (workspace, scorer) = (page.key.workspace, page.key.scorer);
        let row = known_scorer(&state.store, state.now(), workspace, scorer).await?;
        let terms = scorers::terms(&state.store, workspace, scorer).await?.ok_or(Error::NoScorer)?;
        let platforms = catalogue::served(&state.store, workspace).await?;
        let mut view = view(scorer, row.name, &terms, &platforms);
        let offers = self_check::offers(&state.store, workspace).await;
        let offers = offers.map_err(|error| Error::Internal(error.into()))?;
        for stamp in &mut view.stamps {
            stamp.issued_here = offers.get(&stamp.name).copied();
        }
        to_json(&view)
    })
    .await
}

fn view(scorer: ScorerId, name: String, terms: &scorers::Terms, platforms: &[Platform]) -> ViewResponse {
    let mut known = BTreeMap::new();
    for platform in platforms {
        for stamp in platform.groups.iter().flat_map(|group| &group.stamps) {
            known.insert(&stamp.name, (platform, stamp));
        }
    }
    let counting = terms.weights.iter().filter(|(_, weight)| **weight > Decimal::ZERO);
    let mut stamps: Vec<WeightedStamp> = counting
        .map(|(name, weight)| {
            let found = known.get(name);
            WeightedStamp {
                name: name.clone(),
                description: found.map(|(_, stamp)| stamp.description.clone()).unwrap_or_default(),
                weight: *weight,
                platform: found.map(|(platform, _)| platform.id.clone()),
                issued_here: None,
            }
        })
        .collect();
    stamps.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.name.as_str().cmp(b.name.as_str())));
    let used =
        |platform: &&Platform| stamps.iter().any(|stamp| stamp.platform.as_ref() == Some(&platform.id));
    let named = platforms.iter().filter(used).map(|platform| {
        let Platform { id, name, description, url, .. } = platform.clone();
        (id, StampPlatform { name, description, url })
    });
    ViewResponse {
        scorer_id: scorer.get(),
        name,
        threshold: terms.threshold,
        session_seconds: widget::SESSION.as_secs(),
        platforms: named.collect(),
        stamps,
    }
}

/// Start a sign-in with a wallet.
///
/// The nonce holds for five minutes, for this page, address and chain, and once.
#[utoipa::path(
    post,
    path = "/widget/v1/{scorer_id}/nonce",
    tag = "Widget",
    operation_id = "startWidgetSignIn",
    security(("publishableKey" = [])),
    params(ScorerPath),
    request_body(content = NonceRequest, example = json!({"address": crate::values::SAMPLE, "chain_id": 10})),
    responses(
        (status = 200, description = "A nonce, and the message to sign.", body = NonceResponse),
        (status = 400, response = BadStampsBody),
        (status = 401, response = WidgetUnauthorized),
        (status = 403, response = WidgetForbidden),
        (status = 404, response = NoScorer),
        (status = 422, response = BadSignIn),
    ),
)]
async fn start_sign_in(
    Extract(state): Extract<State>,
    segments: Segments,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, &segments, async |page| {
        let asked: NonceRequest = read_object(body, MAX_BODY).await?;
        let address = address::read(&asked.address).map_err(|error| shape("address", &error.to_string()))?;
        if !(1..=MAX_CHAIN_ID).contains(&asked.chain_id) {
            return Err(shape("chain_id", "a chain id from 1 to 9007199254740991"));
        }
        let started = widget::start(&state, &page, address, asked.chain_id).await?;
        to_json(&NonceResponse {
            nonce: started.nonce,
            message: started.message,
            expires_at: started.expires_at.to_rfc3339(),
        })
    })
    .await
}

pub(super) fn shape(name: &str, message: &str) -> Error {
    Error::Shape { path: vec![name.to_owned()], message: message.to_owned() }
}

/// Sign in with a signed message.
///
/// The signature is checked by the address's key (EIP-191), or by its contract (ERC-1271) where a node of the chain is
/// configured. The nonce is used up, whatever the outcome.
#[utoipa::path(
    post,
    path = "/widget/v1/{scorer_id}/session",
    tag = "Widget",
    operation_id = "openWidgetSession",
    security(("publishableKey" = [])),
    params(ScorerPath),
    request_body(content = SessionRequest),
    responses(
        (status = 200, description = "A session of 30 minutes for this key, scorer, origin and address.", body = SessionResponse),
        (status = 400, response = BadStampsBody),
        (status = 401, response = SignInRefused),
        (status = 403, response = WidgetForbidden),
        (status = 404, response = NoScorer),
        (status = 422, response = BadSignIn),
        (status = 502, response = WalletNodeFails),
    ),
)]
async fn open_session(
    Extract(state): Extract<State>,
    segments: Segments,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, &segments, async |page| {
        let asked: SessionRequest = read_object(body, MAX_BODY).await?;
        let signature = hex::decode_prefixed(&asked.signature)
            .ok_or_else(|| shape("signature", "write 0x and pairs of hexadecimal digits"))?;
        let opened = widget::open_session(&state, &page, &asked.message, &signature).await?;
        to_json(&SessionResponse {
            token: opened.token.expose().clone(),
            address: opened.address.to_string(),
            expires_at: opened.expires_at.to_rfc3339(),
        })
    })
    .await
}

/// End the session.
#[utoipa::path(
    delete,
    path = "/widget/v1/{scorer_id}/session",
    tag = "Widget",
    operation_id = "endWidgetSession",
    security(("publishableKey" = [], "widgetSession" = [])),
    params(ScorerPath),
    responses(
        (status = 204, description = "Ended, now or earlier."),
        (status = 401, response = WidgetUnauthorized),
        (status = 403, response = WidgetForbidden),
        (status = 404, response = NoScorer),
        (status = 422, response = MalformedParameter),
    ),
)]
async fn end_session(Extract(state): Extract<State>, segments: Segments, headers: HeaderMap) -> Response {
    respond(&state, &headers, &segments, async |page| {
        widget::sign_out(&state.store, &page, &headers).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

/// Read the holder's score.
#[utoipa::path(
    get,
    path = "/widget/v1/{scorer_id}/score",
    tag = "Widget",
    operation_id = "showOwnScore",
    security(("publishableKey" = [], "widgetSession" = [])),
    params(ScorerPath),
    responses(
        (status = 200, description = "The score record of the session's address.", body = ScoreBody),
        (status = 401, response = WidgetUnauthorized),
        (status = 403, response = WidgetForbidden),
        (status = 404, response = NoScorer),
        (status = 422, response = MalformedParameter),
    ),
)]
async fn show_own_score(Extract(state): Extract<State>, segments: Segments, headers: HeaderMap) -> Response {
    respond(&state, &headers, &segments, async |page| {
        let (place, row) = own_place(&state.store, &*state.clock, &page, &headers).await?;
        Ok(json(current(&state.db, place, (&row).into(), state.now()).await?))
    })
    .await
}

/// Sign the holder's score for the page's server.
///
/// The token's audience (`aud`) is the page's origin, and its `nonce` the challenge. So a server that made up the
/// challenge knows that the holder of the address signed in on its own page.
#[utoipa::path(
    post,
    path = "/widget/v1/{scorer_id}/score",
    tag = "Widget",
    operation_id = "signOwnScore",
    security(("publishableKey" = [], "widgetSession" = [])),
    params(ScorerPath),
    request_body(content = SignRequest, example = json!({"challenge": "b3f1c2"})),
    responses(
        (status = 200, description = "The score record of the session's address, with `jwt`.", body = ScoreBody),
        (status = 400, response = BadSignedRequest),
        (status = 401, response = WidgetUnauthorized),
        (status = 403, response = WidgetForbidden),
        (status = 404, response = NoScorer),
        (status = 409, response = PartialScore),
    ),
)]
async fn sign_own_score(
    Extract(state): Extract<State>,
    segments: Segments,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, &segments, async |page| {
        let asked: SignRequest = read_object(body, MAX_BODY).await?;
        if let Some(challenge) = asked.challenge.as_deref()
            && !signed::is_text(challenge)
        {
            return Err(shape("challenge", "1 to 256 bytes of printable ASCII"));
        }
        let (place, row) = own_place(&state.store, &*state.clock, &page, &headers).await?;
        let token = TokenRequest { audience: Some(&page.origin), challenge: asked.challenge.as_deref() };
        signed::for_page(&state, place, (&row).into(), token).await
    })
    .await
}

/// The score of the session's address.
pub(super) async fn own_place(
    store: &Store,
    clock: &dyn Clock,
    page: &WidgetPage,
    headers: &HeaderMap,
) -> Result<(ScoreKey, scorers::ScorerRow)> {
    let holder = widget::holder(store, clock.now(), page, headers).await?;
    let row = known_scorer(store, clock.now(), page.key.workspace, page.key.scorer).await?;
    let place = ScoreKey { workspace: page.key.workspace, scorer: row.id, address: holder.address };
    Ok((place, row))
}

/// Refuses a method that the path does not accept.
pub(super) async fn refuse_method() -> Response {
    Error::MethodNotAllowed.into_response()
}

/// Lets pages of allowed origins read every response, including errors. A preflight names no key, so the origin of
/// any live key passes it. The request itself must come from an origin of its own key.
pub(super) async fn cors(Extract(state): Extract<State>, request: Request, next: Next) -> Response {
    let mut origins = request.headers().get_all(ORIGIN).iter();
    let origin = match (origins.next(), origins.next()) {
        (Some(origin), None) => Some(origin.clone()),
        _ => None,
    };
    let is_preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let allowed = match origin.as_ref().and_then(|origin| origin.to_str().ok()) {
        Some(text) => publishable_keys::is_known_origin(&state.store, spellings(text)).await,
        None => Ok(false),
    };
    let (allowed, mut response) = match allowed {
        Err(error) => (false, Error::from(error).into_response()),
        Ok(true) if is_preflight => (true, StatusCode::NO_CONTENT.into_response()),
        Ok(false) if is_preflight => (false, refuse_origin(origin.as_ref())),
        Ok(allowed) => (allowed, next.run(request).await),
    };
    response.headers_mut().append(VARY, HeaderValue::from_static("origin"));
    match origin {
        Some(origin) if allowed && is_preflight => {
            cors::allow_preflight(response.headers_mut(), &origin, METHODS);
        }
        Some(origin) if allowed => cors::allow(response.headers_mut(), &origin),
        _ => {}
    }
    response
}

fn refuse_origin(origin: Option<&HeaderValue>) -> Response {
    let text = origin.and_then(|origin| origin.to_str().ok());
    let error = text.map_or(WidgetError::NoOrigin, |text| WidgetError::OriginNotAllowed(text.to_owned()));
    Error::from(error).into_response()
}

/// Load the widget's JavaScript module.
///
/// `pyxis-passport.js` is the module of the running release. The name with a hash, which the dashboard prints, is
/// exactly this module and never changes; with another release it is not found.
#[utoipa::path(
    get,
    path = "/assets/widget/v1/{file}",
    tag = "Program",
    operation_id = "getWidgetScript",
    params(("file" = String, Path)),
    responses(
        (status = 200, description = "The module.", body = String, content_type = "text/javascript"),
        (status = 304, description = "The module is as `If-None-Match` says."),
        (status = 404, description = "This release has no such file."),
    ),
)]
pub(super) async fn get_widget_script(Path(file): Path<String>, headers: HeaderMap) -> Response {
    widget::serve_script(&file, &headers)
}
