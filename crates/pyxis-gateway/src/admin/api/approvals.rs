//! `/approvals`: what waits, and the word of the person who is asked.

use std::collections::HashMap;

use axum::extract::State as Extract;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pyxis_core::approval_mode::{ApprovalState, Channel};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Policy;
use pyxis_http::{Json, Path, Query};
use serde::{Deserialize, Serialize};

use super::Approving;
use crate::admin::callers::Caller;
use crate::admin::{policies, rights};
use crate::approvals::coverage::{GrantCoverage, RecentRequests};
use crate::approvals::decide::{self, AuthMethod, Decision, DecisionOutcome, GrantRequest};
use crate::approvals::view::{self, ApprovalView, Filter};
use crate::approvals::viewer_status::{self, NOT_YOURS};
use crate::credentials::signing;
use crate::error::{Error, Result};
use crate::runtime::state::State;

#[derive(Deserialize)]
pub(super) struct ApprovalListParams {
    /// Bodies call it `status`.
    #[serde(alias = "status")]
    state: Option<String>,
    before: Option<String>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Approve {
    grant_seconds: Option<u64>,
    #[serde(default)]
    agent_only: bool,
    max_uses: Option<i64>,
    /// For the record.
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deny {
    reason: Option<String>,
}

#[derive(Serialize)]
pub(super) struct DecisionResponse {
    status: ApprovalState,
    approvals: u32,
    min_approvals: u32,
    /// The grant that was opened with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant_id: Option<String>,
}

#[derive(Serialize)]
pub(super) struct VoteResponse {
    email: String,
    verdict: &'static str,
    reason: Option<String>,
    at: String,
}

#[derive(Serialize)]
pub(super) struct BodyResponse {
    encoding: &'static str,
    content: String,
}

#[derive(Serialize)]
pub(super) struct ApprovalResponse {
    txn_id: String,
    status: ApprovalState,
    agent_name: String,
    credential_name: String,
    method: String,
    target: String,
    target_host: String,
    reason: Option<String>,
    rule: String,
    pattern: Option<String>,
    digest: String,
    /// Header lines of the agent that go along and that not every client sends; secrets by name as `…`.
    headers: Vec<(String, String)>,
    body_bytes: i64,
    content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<BodyResponse>,
    /// What a grant would have covered of late; only with one transaction that waits and can open one.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant_coverage: Option<GrantCoverage>,
    /// Credentials whose secret stood in the request; with one transaction, also in its headers and body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exposes: Vec<String>,
    /// What is to be signed, decoded, where the request is one for a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    signing: Option<signing::PayloadView>,
    channel: Channel,
    /// As it counts now: a policy may have been tightened since the request paused.
    min_approvals: u32,
    passkey_required: bool,
    votes: Vec<VoteResponse>,
    created_at: String,
    expires_at: String,
    decided_at: Option<String>,
    decided_by: Option<String>,
    deny_reason: Option<String>,
    upstream_status: Option<i64>,
    error: Option<String>,
    approval_url: String,
}

#[derive(Serialize)]
pub(super) struct ApprovalListResponse {
    approvals: Vec<ApprovalResponse>,
    /// `before` of the next page; null where this one is the last.
    next_before: Option<String>,
}

fn shown(state: &State, view: ApprovalView, policy: Option<&Policy>) -> ApprovalResponse {
    let headers = view.telling_headers();
    let row = view.row;
    let (min_approvals, passkey_required) =
        (viewer_status::needed(&row, policy), viewer_status::passkey_required(&row, policy));
    ApprovalResponse {
        txn_id: row.txn_id.to_string(),
        status: row.state,
        agent_name: row.agent_name,
        credential_name: row.credential_name,
        method: row.method,
        target: view.target,
        target_host: row.target_host,
        reason: row.reason,
        rule: row.rule,
        pattern: row.pattern,
        digest: row.digest,
        headers,
        body_bytes: row.body_bytes,
        content_type: row.content_type,
        body: view.body.map(|body| match std::str::from_utf8(&body) {
            Ok(text) => BodyResponse { encoding: "utf-8", content: text.to_owned() },
            Err(_) => BodyResponse { encoding: "base64", content: STANDARD.encode(&body) },
        }),
        exposes: view.exposes,
        signing: view.signing,
        grant_coverage: None,
        channel: row.channel,
        min_approvals,
        passkey_required,
        votes: view
            .votes
            .into_iter()
            .map(|vote| VoteResponse {
                email: vote.email,
                verdict: vote.verdict.as_str(),
                reason: vote.reason,
                at: vote.created_at.to_rfc3339(),
            })
            .collect(),
        created_at: row.created_at.to_rfc3339(),
        expires_at: row.expires_at.to_rfc3339(),
        decided_at: row.decided_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
        decided_by: row.decided_by_email,
        deny_reason: row.deny_reason,
        upstream_status: row.upstream_status,
        error: row.error,
        approval_url: format!("{}/approve/{}", state.config.base_url, row.txn_id),
    }
}

fn txn(text: &str) -> Result<TxnId> {
    text.parse().map_err(|_| Error::NotFound("transaction"))
}

fn answer(decided: &DecisionOutcome) -> Json<DecisionResponse> {
    Json(DecisionResponse {
        status: decided.state,
        approvals: decided.approvals,
        min_approvals: decided.min_approvals,
        grant_id: decided.grant.map(|id| id.to_string()),
    })
}

async fn say(
    state: &State,
    caller: &Caller,
    id: &str,
    word: Decision,
    note: Option<String>,
) -> Result<Json<DecisionResponse>> {
    let proof = match &caller.token {
        None => AuthMethod::Session,
        Some(token) => AuthMethod::Token { id: token.id, name: token.name.clone() },
    };
    let approver = caller.approver(DecisionSurface::Api);
    Ok(answer(&decide::decide_with(state, &approver, txn(id)?, word, &proof, note).await?))
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Query(which): Query<ApprovalListParams>,
) -> Result<Json<ApprovalListResponse>> {
    let wanted = match which.state.as_deref() {
        None => None,
        Some(name) => Some(
            ApprovalState::from_name(name)
                .ok_or_else(|| Error::field("state", "must be pending, approved, denied or expired"))?,
        ),
    };
    let among = rights::of(&state, &caller.user).await?.approvable();
    let limit = which.limit.unwrap_or(100).clamp(1, 500);
    let beyond = match which.before.as_deref() {
        None => None,
        Some(id) => {
            let row = view::row(&state, caller.workspace(), txn(id)?).await?;
            Some((row.created_at, row.txn_id))
        }
    };
    let filter = Filter { state: wanted, among, beyond, limit, ..Filter::default() };
    let views = view::list(&state, caller.workspace(), &filter).await?;
    let full = views.len() == limit as usize;
    let next_before = views.last().filter(|_| full).map(|last| last.row.txn_id.to_string());
    let policies: HashMap<_, _> = policies::list(&state, caller.workspace()).await?.into_iter().collect();
    let shown = |view: ApprovalView| {
        let policy = policies.get(&view.row.credential_id);
        shown(&state, view, policy)
    };
    Ok(Json(ApprovalListResponse { approvals: views.into_iter().map(shown).collect(), next_before }))
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(id): Path<String>,
) -> Result<Json<ApprovalResponse>> {
    let view = view::one(&state, caller.workspace(), txn(&id)?).await?;
    if !rights::of(&state, &caller.user).await?.may_approve(view.row.credential_id) {
        return Err(Error::NotEligible(NOT_YOURS));
    }
    let policy = policies::by_id(&state, caller.workspace(), view.row.credential_id).await?;
    let needed = viewer_status::needed(&view.row, policy.as_ref());
    let waits = view.row.state == ApprovalState::Pending && viewer_status::grantable(&view.row, needed);
    let grant_coverage = if waits {
        RecentRequests::load(&state, caller.workspace()).await?.of_view(&view, needed)
    } else {
        None
    };
    Ok(Json(ApprovalResponse { grant_coverage, ..shown(&state, view, policy.as_ref()) }))
}

pub(super) async fn approve(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(id): Path<String>,
    Json(input): Json<Approve>,
) -> Result<Json<DecisionResponse>> {
    if input.max_uses.is_some_and(|uses| uses < 1) {
        return Err(Error::field("max_uses", "must be at least 1"));
    }
    let wish = input.grant_seconds.map(|seconds| GrantRequest {
        seconds,
        agent_only: input.agent_only,
        max_uses: input.max_uses,
    });
    say(&state, &caller, &id, Decision::Approve(wish), input.reason).await
}

pub(super) async fn deny(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(id): Path<String>,
    Json(input): Json<Deny>,
) -> Result<Json<DecisionResponse>> {
    say(&state, &caller, &id, Decision::Deny(input.reason), None).await
}
