//! `POST /forward`: an agent's request with a stored credential.
//!
//! The order of the checks is fixed (decisions, POST /forward): key, control headers, rate limit,
//! target, credential, allowed hosts, egress guard, policy, grant; then either a 202 or: audit record
//! durable, secret attached, sent, answer scrubbed, outcome recorded.

pub(crate) mod inject;
pub(crate) mod outbound;
pub(crate) mod relay;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State as Extract};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::request;
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use tokio::time::Instant;

use self::outbound::{Answer, Outbound, clean_headers, dispatch};
use self::relay::ScrubbedBody;
use crate::approvals::{pause, reply};
use crate::control::{self, Control};
use crate::error::{Error, Result};
use crate::idempotency::{Claimed, Replay};
use crate::judge::{self, Judgement, Passage};
use crate::outcome::{Outcome, OutcomeBody};
use crate::resolve::{Agent, Credential};
use crate::state::State;
use crate::{idempotency, limits, records};

/// Answers up to this announced length are read whole, so that the agent gets a length.
const SHORT_BODY: u64 = 64 * 1024;

/// A request that passed the checks of form: who asks for what.
pub(crate) struct Asked<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) credential: &'a Credential,
    pub(crate) method: Method,
    pub(crate) target: &'a Target,
    pub(crate) control: &'a Control<'a>,
    pub(crate) head: &'a request::Parts,
}

/// `POST /forward`.
pub(crate) async fn forward(Extract(state): Extract<State>, request: Request) -> Response {
    if request.method() != http::Method::POST {
        return Error::MethodNotAllowed("POST").into_response();
    }
    run(&state, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn run(state: &State, request: Request) -> Result<Response> {
    let (head, body) = request.into_parts();
    let agent = state.cache.agent(&state.store, control::key(&head.headers)?).await?;
    let control = Control::read(&head.headers)?;
    let method = method(&control)?;
    let (name, url) = (control.credential()?, control.target()?);

    let (claim, body) = match control.idempotency_key {
        None => (None, body),
        Some(key) => {
            let body = read_body(state, body).await?;
            match idempotency::claim(state, &agent, key, &control, &body).await? {
                Replay::First(claim) => (Some(claim), Body::from(body)),
                Replay::Again(response) => return Ok(response),
            }
        }
    };
    let work = admit_and_go(state, &agent, &control, method, (name, url), &head, body, claim.as_ref());
    let result = work.await;
    match claim {
        None => result,
        Some(claim) => claim.settle(state, result).await,
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one request, used once")]
async fn admit_and_go(
    state: &State,
    agent: &Arc<Agent>,
    control: &Control<'_>,
    method: Method,
    (name, url): (&str, &str),
    head: &request::Parts,
    body: Body,
    claim: Option<&Claimed>,
) -> Result<Response> {
    limits::admit(state, agent).await?;
    let target = Target::parse(url).map_err(|error| Error::InvalidTarget(error.to_string()))?;
    let credential = agent.credential(&state.store, name).await?;
    let asked = Asked { agent, credential: &credential, method, target: &target, control, head };
    let judgement = judge::judge(state, &asked).await;
    match judgement {
        Err(error) => {
            records::refused(state, &asked, &error);
            Err(error)
        }
        Ok(Judgement::Deny { pattern }) => {
            let error = Error::DeniedByPolicy { pattern };
            records::refused(state, &asked, &error);
            Err(error)
        }
        Ok(Judgement::Pass(passage)) => send(state, &asked, &passage, body, claim).await,
        Ok(Judgement::Ask(rule)) => {
            let body = read_body(state, body).await?;
            let paused = pause::pause(state, &asked, &rule, body, claim).await?;
            reply::paused(state, agent, paused, control.wait).await
        }
    }
}

fn method(control: &Control<'_>) -> Result<Method> {
    control.method.map_or(Ok(Method::Get), |text| Method::parse(text).ok_or(Error::InvalidMethod))
}

/// Reads a body that must be kept.
async fn read_body(state: &State, body: Body) -> Result<Bytes> {
    let max = state.config.pending_body_max;
    axum::body::to_bytes(body, max).await.map_err(|error| {
        let mut cause: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = cause {
            if error.is::<http_body_util::LengthLimitError>() {
                return Error::BodyTooLarge { max };
            }
            cause = error.source();
        }
        Error::IncompleteBody
    })
}

/// The way of a request that needs no human (any more, thanks to a grant).
async fn send(
    state: &State,
    asked: &Asked<'_>,
    passage: &Passage,
    body: Body,
    claim: Option<&Claimed>,
) -> Result<Response> {
    let started = Instant::now();
    let record = records::forward(state, asked, passage);
    // Fail closed: a request that is not on record is not sent.
    let seq = state.audit.append(record).await?;
    state.touched.note(asked.agent.id(), asked.credential.row.id, state.now());
    let outcome = Outcome::new(state, asked.agent.workspace_id(), seq, started);
    if let Some(claim) = claim {
        claim.sending();
    }
    let outbound = Outbound {
        credential: asked.credential,
        method: asked.method,
        target: asked.target,
        headers: clean_headers(&asked.head.headers, asked.credential),
    };
    match dispatch(state, outbound, pyxis_net::body::boxed(body)).await {
        Ok(answer) => relay(asked.method, answer, outcome).await,
        Err(error) => {
            outcome.failed(&error);
            Err(error)
        }
    }
}

/// Turns an answer into the response to the agent, short ones with their length.
async fn relay(method: Method, answer: Answer, mut outcome: Outcome) -> Result<Response> {
    let Answer { status, headers, mut body } = answer;
    outcome.answered(status);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if method == Method::Head {
        if let Some(length) = body.announced_length() {
            response.headers_mut().insert(CONTENT_LENGTH, length.into());
        }
        return Ok(response);
    }
    response.headers_mut().remove(TRANSFER_ENCODING);
    match body.collect_short(SHORT_BODY).await {
        Ok(Some(collected)) => {
            outcome.relayed(&body);
            *response.body_mut() = whole(collected);
        }
        Ok(None) => *response.body_mut() = Body::new(OutcomeBody::new(body, outcome)),
        Err(broken) => {
            tracing::debug!(error = %broken, "answer broke off");
            let error = Error::Upstream("the host broke off its answer");
            outcome.failed(&error);
            return Err(error);
        }
    }
    Ok(response)
}

fn whole(collected: relay::Collected) -> Body {
    match collected.trailers {
        None => Body::from(collected.body),
        Some(trailers) => {
            let body = http_body_util::Full::new(collected.body);
            Body::new(http_body_util::BodyExt::with_trailers(body, async { Some(Ok(trailers)) }))
        }
    }
}

/// What a streamed answer amounted to.
pub(crate) fn measure(body: &ScrubbedBody) -> (u64, u64) {
    (body.relayed(), body.redactions())
}
