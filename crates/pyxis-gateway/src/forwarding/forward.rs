//! `POST /forward`: an agent's request with a stored credential.
//!
//! The order of the checks is fixed (`docs/reference/behavior/proxy.md#order-of-the-checks`): key, control
//! headers, rate limit, target, credential, allowed hosts, egress guard without DNS. Then policy, egress guard
//! with DNS, content rules, grant, task. Then either a 202, or: write the audit record durably, attach the secret, send,
//! scrub the response, record the outcome.

pub mod base_url_proxy;
mod websocket;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING, USER_AGENT};
use http::{HeaderMap, request};
use http_body::Frame;
use http_body_util::StreamBody;
use pyxis_core::actor::ActorId;
use pyxis_core::auth::Connector;
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_http::websocket::is_handshake;
use pyxis_store::Store;
use tokio::time::Instant;

use super::entry_points;
use crate::approvals::{agent_response, delivery, pause};
use crate::config::Config;
use crate::credentials::mcp_servers::{self, Asker};
use crate::credentials::outbound::{ConnectionUse, Outbound, UpstreamResponse, clean_headers, relay};
use crate::credentials::outcome::{AuditSpan, OutcomeBody};
use crate::credentials::records;
use crate::credentials::redaction::Redactor;
use crate::credentials::requests::authorize::{self, AllowedBy, Authorization, Matched};
use crate::credentials::requests::caller::CallerKey;
use crate::credentials::requests::control::{self, Control};
use crate::credentials::requests::entry_point::EntryPoint;
use crate::credentials::requests::idempotency::{Claimed, IdempotencyOutcome};
use crate::credentials::requests::presence::WaitLimit;
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::credentials::requests::{body, content, handshake, idempotency, limits, task_use};
use crate::error::{Error, Result};
use crate::runtime::resolve::{ConfigCache, ResolvedAgent};
use crate::runtime::state::State;

/// Maximum announced length up to which responses are buffered, so that the agent receives a length.
const SHORT_BODY: u64 = 64 * 1024;

/// `POST /forward`, or `GET /forward` for the handshake of a WebSocket.
pub async fn forward(state: &State, request: Request) -> Response {
    let is_handshake = is_handshake(request.method(), request.version(), request.headers());
    if request.method() != http::Method::POST && !is_handshake {
        return Error::MethodNotAllowed("POST").into_response();
    }
    ForwardVariant::Forward
        .dispatch_idempotent(state, request)
        .await
        .unwrap_or_else(IntoResponse::into_response)
}

/// Endpoint of a request.
#[derive(Clone, Copy)]
enum ForwardVariant {
    /// `/forward`.
    Forward,
    /// `/p/…`.
    Path,
}

impl ForwardVariant {
    async fn dispatch_idempotent(self, state: &State, request: Request) -> Result<Response> {
        let (head, body) = request.into_parts();
        if head.headers.contains_key(idempotency::HEADER) && !control::is_of_tool(&head.headers) {
            let state = state.clone();
            return idempotency::run_detached(async move { self.handle(&state, head, body).await }).await;
        }
        self.handle(state, head, body).await
    }

    async fn handle(self, state: &State, head: request::Parts, body: Body) -> Result<Response> {
        match self {
            Self::Forward => handle_request(state, head, body).await,
            Self::Path => Box::pin(base_url_proxy::handle(state, head, body)).await,
        }
    }
}

async fn handle_request(state: &State, mut head: request::Parts, body: Body) -> Result<Response> {
    if let Some(entry_point) = remote_entry_point(&state.config, &head) {
        head.extensions.insert(entry_point);
    }
    let key = entry_points::caller_of_run(&state.store, state.now(), &head).await?;
    let taken = handshake::extract(&mut head);
    let formed = taken.and_then(|()| handshake::check_body(&head, &body)).and_then(|()| well_formed(&head));
    let (control, method) = match formed {
        Ok(formed) => formed,
        Err(error) => {
            // The key is checked first, even if the rest is invalid.
            state.config_cache.agent_now(&state.store, key).await?;
            return Err(error);
        }
    };
    let call = Call { key, method, control: &control, head: &head };
    match control.idempotency_key {
        None => call.run(state, body, None).await,
        Some(idempotency_key) => Box::pin(call.run_idempotent(state, idempotency_key, body)).await,
    }
}

/// The entry point that a request from another process names, with the tool behind it as its client.
fn remote_entry_point(config: &Config, head: &request::Parts) -> Option<EntryPoint> {
    let name = head.headers.get(control::ENTRY_POINT)?;
    // An entry point in this process has already said so; a name that is not known is refused below.
    if name != EntryPoint::RUN || EntryPoint::from_request(head).is_some() {
        return None;
    }
    let client = head.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    Some(EntryPoint::new(EntryPoint::RUN, client, config.entrance_wait))
}

/// Parses the control headers of a well-formed call, and its method.
fn well_formed(head: &request::Parts) -> Result<(Control<'_>, Method)> {
    let control = Control::read(&head.headers)?;
    let method = handshake::method(head, &control)?;
    control.credential()?;
    control.target()?;
    Ok((control, method))
}

/// One well-formed call.
struct Call<'a> {
    key: CallerKey,
    method: Method,
    control: &'a Control<'a>,
    head: &'a request::Parts,
}

// Rarely used futures are boxed, so that the common one stays small.
impl Call<'_> {
    /// Runs the call, unless a call with the same `Idempotency-Key` ran before.
    async fn run_idempotent(&self, state: &State, idempotency_key: &str, body: Body) -> Result<Response> {
        // The key is checked first, so that no one else makes this process buffer a body.
        let agent = state.config_cache.agent_now(&state.store, self.key).await?;
        let body = match body::read(&state.config, &state.held_bodies, body).await {
            Ok(body) => body,
            Err(error) => {
                limits::admit(&state.store, state.now(), &agent).await?;
                return Err(error);
            }
        };
        let claimed = idempotency::claim(state, &agent, idempotency_key, self.control, &body).await;
        if let Err(Error::IdempotencyKeyReused) = claimed {
            // A different request, which counts as usual.
            limits::admit(&state.store, state.now(), &agent).await?;
        }
        match claimed? {
            IdempotencyOutcome::Again(response) => Ok(response),
            IdempotencyOutcome::Paused(txn) => match EntryPoint::from_request(self.head) {
                Some(entry_point) => {
                    let wait = entry_point.wait(self.control.wait);
                    let limit = WaitLimit::new(wait, &self.head.extensions);
                    delivery::respond_to_duplicate(state, &agent, txn, &limit).await
                }
                None => agent_response::respond_to_duplicate(state, &agent, txn, self.control.wait).await,
            },
            IdempotencyOutcome::First(claim) => {
                let result = self.run(state, body.into(), Some(&claim)).await;
                claim.complete(state, result).await
            }
        }
    }

    /// Counts the call, then repeats the decision until it is valid. Cached configuration can be older than the
    /// store's, which is detected before anything happens.
    async fn run(&self, state: &State, body: Body, claim: Option<&Claimed>) -> Result<Response> {
        let mut body = Some(body);
        let mut counted = false;
        loop {
            let (agent, generation) = state.config_cache.agent(&state.store, self.key).await?;
            if !counted && agent.row.rate_limit_per_hour.is_some() {
                // The limit of a key that is no longer valid must not be revealed.
                if !state.config_cache.is_current(&state.store, generation).await? {
                    continue;
                }
                limits::admit(&state.store, state.now(), &agent).await?;
                counted = true;
            }
            let decided = self.decide(state, &agent, generation, &mut body, claim).await?;
            if let Some(response) = decided {
                return Ok(response);
            }
        }
    }

    /// Decides and acts. `None` if the configuration turned out to be stale.
    async fn decide(
        &self,
        state: &State,
        agent: &ResolvedAgent,
        generation: i64,
        body: &mut Option<Body>,
        claim: Option<&Claimed>,
    ) -> Result<Option<Response>> {
        let url = handshake::http_url(self.head, self.control.target()?);
        let unless_stale = |error| if_config_current(&state.store, &state.config_cache, generation, error);
        let target = match Target::parse(&url) {
            Ok(target) => target,
            Err(error) => return unless_stale(Error::InvalidTarget(error.to_string())).await,
        };
        let credential = match agent.credential(&state.store, self.control.credential()?).await {
            Ok(credential) => credential,
            Err(error) => return unless_stale(error).await,
        };
        if self.method == Method::WebSocket && credential.row.connector == Connector::Sidecar {
            return unless_stale(Error::WebSocketUnsupported("its sidecar signs single requests")).await;
        }
        let asked = ValidatedRequest {
            agent,
            credential: &credential,
            method: self.method,
            target: &target,
            control: self.control,
            head: self.head,
            generation,
        };
        let refusal = match authorize_with_content(state, &asked, body).await {
            Ok(Authorization::Allow(matched)) => {
                return send(state, &asked, &AllowedBy::rule(matched), body, claim).await;
            }
            Ok(Authorization::RequireApproval(matched)) => {
                return Box::pin(require_approval(state, &asked, matched, body, claim)).await;
            }
            Ok(Authorization::Deny { pattern }) => Error::DeniedByPolicy { pattern },
            Err(error) => error,
        };
        if state.config_cache.is_current(&state.store, generation).await? {
            records::record_refusal(state, &asked, &refusal);
            return Err(refusal);
        }
        Ok(None)
    }
}

/// The verdict by URL and addresses, and then by content.
async fn authorize_with_content(
    state: &State,
    asked: &ValidatedRequest<'_>,
    body: &mut Option<Body>,
) -> Result<Authorization> {
    let by_url = authorize::authorize(&state.store, &state.net, asked).await?;
    let sent = || clean_headers(&asked.head.headers, asked.credential);
    content::authorize(&state.config, &state.held_bodies, asked, by_url, body, sent).await
}

/// Returns an error if the configuration that led to it is still current.
async fn if_config_current(
    store: &Store,
    config_cache: &ConfigCache,
    generation: i64,
    error: Error,
) -> Result<Option<Response>> {
    if config_cache.is_current(store, generation).await? { Err(error) } else { Ok(None) }
}

/// Handles a request that needs approval, a grant or a task.
async fn require_approval(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: Matched,
    body: &mut Option<Body>,
    claim: Option<&Claimed>,
) -> Result<Option<Response>> {
    if !state.config_cache.is_current(&state.store, asked.generation).await? {
        return Ok(None);
    }
    let recorded = |error| {
        records::record_refusal(state, asked, &error);
        error
    };
    let again = Box::pin(delivery::respond_to_tool(state, asked, body)).await.map_err(recorded)?;
    if again.is_some() {
        return Ok(again);
    }
    let permission = use_permission(state, asked, &matched, body).await.map_err(recorded)?;
    if let Some(allowed_by) = permission {
        let sent = send(state, asked, &allowed_by, body, claim).await;
        let had_no_place = |error: &Error| {
            matches!(error, Error::TooManyWebSockets { .. } | Error::TooManyAgentWebSockets { .. })
        };
        if matches!(sent, Ok(None)) || sent.as_ref().is_err_and(had_no_place) {
            // Nothing was sent, so the use is returned; the next round claims any that still applies.
            authorize::return_permission(&state.store, asked, &allowed_by).await?;
        }
        return sent;
    }
    if let Some(handshake) = handshake::from_request(asked.head) {
        return Box::pin(websocket::require_approval(state, asked, &matched, handshake)).await.map(Some);
    }
    let body = body::read(&state.config, &state.held_bodies, body.take().unwrap_or_default()).await;
    let body = body.map_err(recorded)?;
    if let Some(entry_point) = EntryPoint::from_request(asked.head) {
        return Box::pin(delivery::request_approval(state, asked, &matched, body, entry_point, claim))
            .await
            .map(Some);
    }
    let paused = pause::pause(state, asked, &matched, body, claim).await?;
    agent_response::respond_pending(state, asked.agent, paused, asked.control.wait).await.map(Some)
}

/// Claims one use of a grant, or else of a task, that covers the request.
async fn use_permission(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    body: &mut Option<Body>,
) -> Result<Option<AllowedBy>> {
    let by_grant = authorize::use_grant(&state.store, state.now(), asked, matched).await?;
    if by_grant.is_some() {
        return Ok(by_grant);
    }
    let sent = || clean_headers(&asked.head.headers, asked.credential);
    task_use::claim(state, asked, matched, body, sent).await
}

/// Sends a request that needs no approval (possibly because of a grant or a task). `None` means: decide again.
async fn send(
    state: &State,
    asked: &ValidatedRequest<'_>,
    allowed_by: &AllowedBy,
    body: &mut Option<Body>,
    claim: Option<&Claimed>,
) -> Result<Option<Response>> {
    if let Some(handshake) = handshake::from_request(asked.head) {
        return Box::pin(websocket::open(state, asked, handshake, allowed_by)).await;
    }
    // Held open from here on, so that the secret is decrypted only once.
    let _opened = asked.credential.open(&state.keyring).ok().flatten();
    let Some(outcome) = record(state, asked, allowed_by).await? else { return Ok(None) };
    if let Some(claim) = claim {
        claim.mark_sending();
    }
    let outbound = Outbound {
        credential: asked.credential,
        method: asked.method,
        target: asked.target,
        headers: clean_headers(&asked.head.headers, asked.credential),
        connection: ConnectionUse::Pooled,
    };
    let body = pyxis_net::body::boxed(body.take().unwrap_or_default());
    let author = || Asker { actor: ActorId::Agent(asked.agent.id()), name: asked.agent.row.name.clone() };
    match mcp_servers::dispatch(state, author, outbound, body).await {
        Ok(answer) => respond(asked, answer, outcome).await.map(Some),
        Err(error) => {
            outcome.failed(&error);
            Err(error)
        }
    }
}

/// Durably records a request that is about to be sent. Fail closed: one that is not recorded under the configuration it
/// was judged by is not sent, and the answer is `None`.
async fn record(
    state: &State,
    asked: &ValidatedRequest<'_>,
    allowed_by: &AllowedBy,
) -> Result<Option<AuditSpan>> {
    let started = Instant::now();
    let words = Redactor::of_credential(&state.keyring, asked).redact_request(asked);
    let record = records::forward(state, asked, allowed_by, &words);
    let in_flight = state.in_flight.register();
    let Some(seq) = state.audit.append_under(record, asked.generation).await? else {
        state.config_cache.is_current(&state.store, asked.generation).await?;
        return Ok(None);
    };
    state.last_used.record_use(asked.agent.id(), asked.credential.row.id, state.now());
    Ok(Some(AuditSpan::new(state, asked.agent.workspace_id(), seq, started, in_flight)))
}

/// Converts a response for the agent. Short ones get a length.
async fn respond(
    asked: &ValidatedRequest<'_>,
    answer: UpstreamResponse,
    mut outcome: AuditSpan,
) -> Result<Response> {
    let UpstreamResponse { status, headers, length, mut body, .. } = answer;
    outcome.record_head(status);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if asked.method == Method::Head {
        // Only the response to a HEAD announces a length without a body.
        if let Some(length) = length.filter(|_| asked.head.method == http::Method::HEAD) {
            response.headers_mut().insert(CONTENT_LENGTH, length);
        }
        return Ok(response);
    }
    response.headers_mut().remove(TRANSFER_ENCODING);
    let collected = match body.begin().await {
        Ok(()) => body.collect_short(SHORT_BODY).await,
        Err(broken) => Err(broken),
    };
    match collected {
        Ok(Some(collected)) => {
            outcome.relayed(&body);
            let body = short_body(collected, response.headers_mut());
            *response.body_mut() = body;
        }
        Ok(None) => *response.body_mut() = Body::new(OutcomeBody::new(body, outcome)),
        Err(broken) => {
            tracing::debug!(error = %broken, "response ended early");
            let error = Error::BrokenAnswer { status, why: "its response ended early".into() };
            outcome.failed(&error);
            return Err(error);
        }
    }
    Ok(response)
}

/// A short body. With trailers it has no length, since HTTP/1.1 sends trailers only after chunks.
fn short_body(collected: relay::Collected, headers: &mut HeaderMap) -> Body {
    let Some(trailers) = collected.trailers else { return Body::from(collected.body) };
    let names: Vec<&str> = trailers.keys().map(http::HeaderName::as_str).collect();
    if let Ok(value) = http::HeaderValue::try_from(names.join(", ")) {
        headers.insert(http::header::TRAILER, value);
    }
    let frames =
        [Ok::<_, std::convert::Infallible>(Frame::data(collected.body)), Ok(Frame::trailers(trailers))];
    Body::new(StreamBody::new(futures_util::stream::iter(frames)))
}
