//! `POST /sign`: a signature with a stored key. Always requires approval, regardless of policy, mode or grants. The
//! policy only determines the approvers, their number and the window.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use pyxis_core::policy::{Method, Rule};
use pyxis_core::target::Target;
use pyxis_store::approvals::ApprovalKind;

use crate::approvals::{agent_response, pause};
use crate::credentials::requests::authorize::Matched;
use crate::credentials::requests::caller::CallerKey;
use crate::credentials::requests::control::Control;
use crate::credentials::requests::idempotency::{self, Claimed, IdempotencyOutcome};
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::credentials::requests::{body, limits};
use crate::credentials::signing::{JSON, read, signing_key};
use crate::error::{Error, Result};
use crate::runtime::state::State;
use crate::runtime::stored::StoredRequest;

/// `POST /sign`.
pub(crate) async fn sign(state: &State, request: Request) -> Response {
    if request.method() != http::Method::POST {
        return Error::MethodNotAllowed("POST").into_response();
    }
    run(state, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn run(state: &State, request: Request) -> Result<Response> {
    let (head, body) = request.into_parts();
    let key = CallerKey::read(&head)?;
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    let control = Control::read(&head.headers)?;
    for (header, name) in [(control.target, "X-PX-Target"), (control.method, "X-PX-Method")] {
        if header.is_some() {
            return Err(Error::UnknownHeader(name.to_owned()));
        }
    }
    control.credential()?;
    let body = body::read(&state.config, &state.held_bodies, body).await?;
    let call = Call { state, head: &head, control: &control, key };
    let Some(idempotency_key) = control.idempotency_key else { return call.run(body, None).await };
    match idempotency::claim(state, &agent, idempotency_key, &control, &body).await? {
        IdempotencyOutcome::Again(response) => Ok(response),
        IdempotencyOutcome::Paused(txn) => {
            agent_response::respond_to_duplicate(state, &agent, txn, control.wait).await
        }
        IdempotencyOutcome::First(claim) => {
            let result = call.run(body, Some(&claim)).await;
            claim.complete(state, result).await
        }
    }
}

struct Call<'a> {
    state: &'a State,
    head: &'a http::request::Parts,
    control: &'a Control<'a>,
    key: CallerKey,
}

impl Call<'_> {
    async fn run(&self, body: Bytes, claim: Option<&Claimed>) -> Result<Response> {
        let state = self.state;
        let agent = state.config_cache.agent_now(&state.store, self.key).await?;
        limits::admit(&state.store, state.now(), &agent).await?;
        // Everything from here on uses this configuration or a newer one. An approved request is checked again before
        // signing.
        let (_, generation) = state.config_cache.agent(&state.store, self.key).await?;
        let credential = agent.credential(&state.store, self.control.credential()?).await?;
        let key = signing_key(&credential)?;
        read(&body)?.prepare(key.algorithm)?;
        let url = format!("{}/sign", state.config.base_url);
        let target = Target::parse(&url).map_err(|error| Error::Internal(Box::new(error)))?;
        let asked = ValidatedRequest {
            agent: &agent,
            credential: &credential,
            method: Method::Post,
            target: &target,
            control: self.control,
            head: self.head,
            generation,
        };
        let matched = Matched { rule: Rule::Default, pattern: None };
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
        let request = StoredRequest { target: target.to_string(), headers, body };
        let paused = pause::store(state, &asked, &matched, ApprovalKind::Sign, &request, claim).await?;
        agent_response::respond_pending(state, &agent, paused, self.control.wait).await
    }
}
