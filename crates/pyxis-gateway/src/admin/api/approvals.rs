//! `/approvals`: what waits, and the word of the person who is asked.

use std::collections::HashMap;

use axum::extract::State as Extract;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pyxis_core::approval_mode::{ApprovalState, Channel};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Policy;
use pyxis_http::admin::{Listed, PageSize, Paged, PagedList};
use pyxis_http::openapi::responses::{Forbidden, InvalidField, NotFound};
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Approving;
use crate::admin::callers::Caller;
use crate::admin::{policies, rights};
use crate::approvals::coverage::{GrantCoverage, RecentRequests};
use crate::approvals::decide::{self, AuthMethod, Decision, DecisionOutcome, GrantRequest};
use crate::approvals::edit::{RequestEdit, Reviewed};
use crate::approvals::edit_record::EditedRecord;
use crate::approvals::view::{self, ApprovalView, Filter};
use crate::approvals::viewer_status::{self, NOT_YOURS};
use crate::config::Config;
use crate::credentials::signing;
use crate::error::{Error, Result};
use crate::problems::{
    AlreadyDecided, EditRefused, NoRoomForEdit, NotApproved, NotEligible, PasskeyRequired,
};
use crate::runtime::state::State;
use crate::values;

const PAGE_SIZE: PageSize = PageSize { default: 100, most: 500 };

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ApprovalListParams {
    /// Only transactions in this state.
    #[serde(alias = "status")]
    #[param(value_type = Option<ApprovalState>, inline)]
    state: Option<String>,
    /// `next_before` of the previous page.
    #[param(value_type = Option<Id>)]
    before: Option<String>,
    /// Page size.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApproveInput)]
pub(super) struct Approve {
    /// Duration of a grant; for members exactly 1800. Not available if the policy needs more than one approver.
    #[schema(nullable = false, minimum = 900, maximum = 86400)]
    grant_seconds: Option<u64>,
    /// The grant applies only to the agent that sent the request.
    #[serde(default)]
    #[schema(default = false)]
    agent_only: bool,
    /// Uses after which the grant ends.
    #[schema(nullable = false, minimum = 1, maximum = 9_223_372_036_854_775_807_i64)]
    max_uses: Option<i64>,
    /// Note for the record. At most 2000 bytes.
    #[schema(nullable = false, max_length = 2000)]
    reason: Option<String>,
    /// `digest` of the request that you read. Needed once someone has edited the request.
    #[schema(nullable = false)]
    digest: Option<String>,
    /// Changes to the request, made before the approval. Earlier approvals no longer count. Not together with a grant.
    #[schema(nullable = false)]
    edit: Option<RequestEdit>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DenyInput)]
pub(super) struct Deny {
    /// Reason for the agent. At most 2000 bytes.
    #[schema(nullable = false, max_length = 2000)]
    reason: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Decision)]
pub(super) struct DecisionResponse {
    status: ApprovalState,
    /// Approvals so far.
    #[schema(minimum = 0)]
    approvals: u32,
    /// Approvals needed.
    #[schema(minimum = 1)]
    min_approvals: u32,
    /// The grant that was opened, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Id>, nullable = false)]
    grant_id: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Vote)]
pub(super) struct VoteResponse {
    #[schema(example = "ada@example.org")]
    email: String,
    #[schema(value_type = values::VoteVerdict)]
    verdict: &'static str,
    #[schema(required, example = json!(null))]
    reason: Option<String>,
    #[schema(value_type = Time)]
    at: String,
}

/// Absent in lists, and once it is deleted.
#[derive(Serialize, ToSchema)]
#[schema(as = RequestBody)]
pub(super) struct BodyResponse {
    #[schema(value_type = values::BodyEncoding)]
    encoding: &'static str,
    content: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Approval, example = json!({
    "txn_id": "019c1234-5678-7abc-8def-0123456789ab",
    "status": "approved",
    "agent_name": "default-agent",
    "credential_name": "github",
    "method": "POST",
    "target": "https://api.github.com/repos/example/site/issues",
    "target_host": "api.github.com",
    "reason": "Open an issue about the failing build",
    "rule": "gated_default",
    "pattern": null,
    "digest": "9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f",
    "headers": [["x-github-api-version", "2022-11-28"]],
    "body_bytes": 23,
    "content_type": "application/json",
    "channel": "dashboard",
    "min_approvals": 1,
    "passkey_required": false,
    "votes": [{"email": "ada@example.org", "verdict": "approve", "reason": null, "at": "2026-01-31T09:07:30.125Z"}],
    "created_at": "2026-01-31T09:05:00.250Z",
    "expires_at": "2026-01-31T10:05:00.250Z",
    "decided_at": "2026-01-31T09:07:30.125Z",
    "decided_by": "ada@example.org",
    "deny_reason": null,
    "upstream_status": 201,
    "error": null,
    "approval_url": "https://pyxis.example.org/approve/019c1234-5678-7abc-8def-0123456789ab"
}))]
pub(super) struct ApprovalResponse {
    #[schema(value_type = Id)]
    txn_id: String,
    status: ApprovalState,
    #[schema(example = "default-agent")]
    agent_name: String,
    #[schema(example = "github")]
    credential_name: String,
    #[schema(example = "POST")]
    method: String,
    /// Canonical URL, exactly as it will be sent.
    #[schema(example = "https://api.github.com/repos/example/site/issues")]
    target: String,
    #[schema(example = "api.github.com")]
    target_host: String,
    /// The agent's `X-PX-Reason`.
    #[schema(required, example = "Open an issue about the failing build")]
    reason: Option<String>,
    #[schema(value_type = values::Rule)]
    rule: String,
    /// The matching pattern.
    #[schema(required, example = json!(null))]
    pattern: Option<String>,
    /// What a content rule found, if one paused the request. Absent in lists, and once the body is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    content: Option<String>,
    /// SHA-256, in hex, over method, target, forwarded headers, body, credential and its version, and agent. It
    /// ensures that what was shown is what is sent.
    #[schema(example = "9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f")]
    digest: String,
    /// Forwarded headers of the agent that not every client sends, as name and value; `… (length 24)` replaces a
    /// value whose header name suggests a secret. Only when one transaction is shown.
    #[schema(value_type = Vec<values::HeaderPair>)]
    headers: Vec<(String, String)>,
    #[schema(minimum = 0, example = 23)]
    body_bytes: i64,
    #[schema(required, example = "application/json")]
    content_type: Option<String>,
    /// Absent in lists, and once it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    body: Option<BodyResponse>,
    /// Recent requests that a grant opened with the approval would have covered. Only when one pending transaction
    /// is shown and a grant can be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    grant_coverage: Option<GrantCoverage>,
    /// Credentials whose secret is contained in the request. Everything here shows ``[contains the secret of
    /// `name`]`` in its place; the request that is sent still has it. When one transaction is shown, headers and
    /// body are searched too. Absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exposes: Vec<String>,
    /// If someone edited the request: who, when, and what. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    edited: Option<EditResponse>,
    /// Only for signature requests, and not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<signing::PayloadView>, nullable = false)]
    signing: Option<signing::PayloadView>,
    channel: Channel,
    /// The stricter of the policies at the time of the request and now; likewise `passkey_required`.
    #[schema(minimum = 1, example = 1)]
    min_approvals: u32,
    passkey_required: bool,
    votes: Vec<VoteResponse>,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Time)]
    expires_at: String,
    #[schema(value_type = Option<Time>, required)]
    decided_at: Option<String>,
    /// Email address of the person whose vote decided.
    #[schema(required, example = "ada@example.org")]
    decided_by: Option<String>,
    #[schema(required, example = json!(null))]
    deny_reason: Option<String>,
    #[schema(required, example = 201)]
    upstream_status: Option<i64>,
    #[schema(value_type = Option<values::ForwardError>, required)]
    error: Option<String>,
    #[schema(
        format = "uri",
        example = "https://pyxis.example.org/approve/019c1234-5678-7abc-8def-0123456789ab"
    )]
    approval_url: String,
}

/// An edit of a request, and the three records: as asked, as decided, as sent.
#[derive(Serialize, ToSchema)]
#[schema(as = ApprovalEdit)]
pub(super) struct EditResponse {
    /// Email address of the person who edited it last.
    by: String,
    #[schema(value_type = Time)]
    at: String,
    /// Number of edits.
    #[schema(minimum = 1)]
    edits: i64,
    /// Canonical URL of the agent's request. Absent in lists, and once it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    asked_target: Option<String>,
    /// Body of the agent's request. Absent in lists, and once it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    asked_body: Option<BodyResponse>,
    /// The digests, and the difference between the agent's request and the edited one.
    record: EditedRecord,
}

fn edit_response(view: &ApprovalView) -> Option<EditResponse> {
    let record = view.edited()?;
    let asked = view.asked.as_ref();
    Some(EditResponse {
        by: view.row.edited_by_email.clone().unwrap_or_default(),
        at: view.row.edited_at.unwrap_or(view.row.created_at).to_rfc3339(),
        edits: view.row.edits,
        asked_target: asked.map(|asked| asked.target.clone()),
        asked_body: asked.map(|asked| body_response(&asked.body)),
        record,
    })
}

fn body_response(body: &[u8]) -> BodyResponse {
    match std::str::from_utf8(body) {
        Ok(text) => BodyResponse { encoding: "utf-8", content: text.to_owned() },
        Err(_) => BodyResponse { encoding: "base64", content: STANDARD.encode(body) },
    }
}

impl Listed for ApprovalResponse {
    const MEMBER: &'static str = "approvals";
}

impl Paged for ApprovalResponse {
    type Cursor = String;
    const NEXT: &'static str = "next_before";

    fn cursor(&self) -> String {
        self.txn_id.clone()
    }
}

pub(super) type ApprovalListResponse = PagedList<ApprovalResponse>;

fn approval_response(config: &Config, view: ApprovalView, policy: Option<&Policy>) -> ApprovalResponse {
    let headers = view.telling_headers();
    let edited = edit_response(&view);
    let row = view.row;
    let (min_approvals, passkey_required) =
        (viewer_status::approvals_needed(&row, policy), viewer_status::passkey_required(&row, policy));
    ApprovalResponse {
        txn_id: row.txn_id.to_string(),
        status: row.state,
        agent_name: row.agent_name,
        credential_name: row.credential_name,
        method: row.method.to_string(),
        target: view.target,
        target_host: row.target_host,
        reason: row.reason,
        rule: row.rule.to_string(),
        pattern: row.pattern,
        content: view.content,
        digest: row.digest,
        headers,
        body_bytes: row.body_bytes,
        content_type: row.content_type,
        body: view.body.as_deref().map(body_response),
        exposes: view.exposes,
        edited,
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
        approval_url: format!("{}/approve/{}", config.base_url, row.txn_id),
    }
}

fn txn(text: &str) -> Result<TxnId> {
    text.parse().map_err(|_| Error::not_found("transaction"))
}

impl From<DecisionOutcome> for DecisionResponse {
    fn from(decided: DecisionOutcome) -> Self {
        Self {
            status: decided.state,
            approvals: decided.approvals,
            min_approvals: decided.min_approvals,
            grant_id: decided.grant.map(|id| id.to_string()),
        }
    }
}

/// Authentication of a caller of this API.
pub(super) fn auth_method(caller: &Caller) -> AuthMethod {
    match &caller.token {
        None => AuthMethod::Session,
        Some(token) => AuthMethod::Token { id: token.id, name: token.name.clone() },
    }
}

async fn submit_decision(
    state: &State,
    caller: &Caller,
    id: &str,
    word: Decision,
    note: Option<String>,
    reviewed: &Reviewed,
) -> Result<Json<DecisionResponse>> {
    let approver = caller.approver(DecisionSurface::Api);
    let method = auth_method(caller);
    let decided = decide::decide_reviewed(state, &approver, txn(id)?, word, &method, note, reviewed).await?;
    Ok(Json(decided.into()))
}

/// List transactions, newest first.
#[utoipa::path(
    get,
    path = "/approvals",
    tag = "Approvals",
    operation_id = "listApprovals",
    security(("session" = [])),
    params(ApprovalListParams),
    responses(
        (status = 200, description = "Without request bodies.", body = ApprovalListResponse),
        (status = 403, response = Forbidden),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
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
    let among = rights::load(&state.store, &caller.user).await?.approvable();
    let limit = PAGE_SIZE.clamp(which.limit);
    let beyond = match which.before.as_deref() {
        None => None,
        Some(id) => {
            let row = view::row(&state, caller.workspace(), txn(id)?).await?;
            Some((row.created_at, row.txn_id))
        }
    };
    let filter = Filter { state: wanted, among, beyond, limit, ..Filter::default() };
    let views = view::list(&state, caller.workspace(), &filter).await?;
    let policies: HashMap<_, _> =
        policies::list(&state.store, caller.workspace()).await?.into_iter().collect();
    let shown = |view: ApprovalView| {
        let policy = policies.get(&view.row.credential_id);
        approval_response(&state.config, view, policy)
    };
    Ok(Json(PagedList::new(views.into_iter().map(shown).collect(), limit)))
}

/// Show a transaction with the complete request body.
#[utoipa::path(
    get,
    path = "/approvals/{txn_id}",
    tag = "Approvals",
    operation_id = "showApproval",
    security(("session" = [])),
    params(("txn_id" = inline(Id), Path, description = "The transaction, as the 202 names it.")),
    responses(
        (status = 200, description = "The request and its votes.", body = ApprovalResponse, example = json!({
            "txn_id": "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
            "status": "pending",
            "agent_name": "default-agent",
            "credential_name": "github",
            "method": "POST",
            "target": "https://api.github.com/repos/example/site/issues",
            "target_host": "api.github.com",
            "reason": "Open an issue about the failing build",
            "rule": "gated_default",
            "pattern": null,
            "headers": [["x-github-api-version", "2022-11-28"]],
            "digest": "9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f",
            "body_bytes": 23,
            "content_type": "application/json",
            "body": {
                "encoding": "utf-8",
                "content": "{\"title\":\"Build fails\"}"
            },
            "grant_coverage": {
                "looked_at": 1000,
                "covered": 12,
                "agents": [
                    "default-agent"
                ]
            },
            "channel": "agent_reflected",
            "min_approvals": 1,
            "passkey_required": false,
            "votes": [],
            "created_at": "2026-01-31T09:05:00.250Z",
            "expires_at": "2026-01-31T10:05:00.250Z",
            "decided_at": null,
            "decided_by": null,
            "deny_reason": null,
            "upstream_status": null,
            "error": null,
            "approval_url": "https://pyxis.example.org/approve/7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11"
        })),
        (status = 403, response = Forbidden),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(id): Path<String>,
) -> Result<Json<ApprovalResponse>> {
    let view = view::load_view(&state, caller.workspace(), txn(&id)?).await?;
    if !rights::load(&state.store, &caller.user).await?.may_approve(view.row.credential_id) {
        return Err(Error::NotEligible(NOT_YOURS));
    }
    let policy = policies::by_id(&state.store, caller.workspace(), view.row.credential_id).await?;
    let needed = viewer_status::approvals_needed(&view.row, policy.as_ref());
    let waits = view.row.state == ApprovalState::Pending && viewer_status::grantable(&view.row, needed);
    let grant_coverage = if waits {
        RecentRequests::load(&state.store, caller.workspace()).await?.of_view(&view, needed)
    } else {
        None
    };
    Ok(Json(ApprovalResponse { grant_coverage, ..approval_response(&state.config, view, policy.as_ref()) }))
}

/// Approve a request, optionally with a grant.
///
/// With `grant_seconds`, requests with the same method, route and credential need no approval until the grant
/// ends. Query and body are not part of a grant's scope.
///
/// With `edit`, body, query or headers of the request are changed first. The changed request is checked as if the agent
/// had sent it. It gets a new digest, and earlier approvals no longer count. This one is the first.
#[utoipa::path(
    post,
    path = "/approvals/{txn_id}/approve",
    tag = "Approvals",
    operation_id = "approve",
    security(("session" = [])),
    params(("txn_id" = inline(Id), Path, description = "The transaction, as the 202 names it.")),
    request_body(content = Option<Approve>, example = json!({"grant_seconds": 1800, "agent_only": true})),
    responses(
        (status = 200, description = "The vote is recorded. `status` stays `pending` until enough people have approved.", body = DecisionResponse, example = json!({
            "status": "approved",
            "approvals": 1,
            "min_approvals": 1,
            "grant_id": "0190a2b4-7c00-7000-8000-000000000001"
        })),
        (status = 403, response = NotEligible),
        (status = 404, response = NotFound),
        (status = 409, response = NotApproved),
        (status = 412, response = PasskeyRequired),
        (status = 422, response = EditRefused),
        (status = 429, response = NoRoomForEdit),
    ),
)]
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
    let reviewed = Reviewed { digest: input.digest, edit: input.edit };
    submit_decision(&state, &caller, &id, Decision::Approve(wish), input.reason, &reviewed).await
}

/// Deny a request.
///
/// One denial is enough, whatever `min_approvals` is. Nothing is sent upstream.
#[utoipa::path(
    post,
    path = "/approvals/{txn_id}/deny",
    tag = "Approvals",
    operation_id = "deny",
    security(("session" = [])),
    params(("txn_id" = inline(Id), Path, description = "The transaction, as the 202 names it.")),
    request_body(content = Option<Deny>, example = json!({"reason": "Use the staging repository"})),
    responses(
        (status = 200, description = "Denied.", body = DecisionResponse, example = json!({"status": "denied", "approvals": 0, "min_approvals": 1})),
        (status = 403, response = NotEligible),
        (status = 404, response = NotFound),
        (status = 409, response = AlreadyDecided),
    ),
)]
pub(super) async fn deny(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(id): Path<String>,
    Json(input): Json<Deny>,
) -> Result<Json<DecisionResponse>> {
    submit_decision(&state, &caller, &id, Decision::Deny(input.reason), None, &Reviewed::default()).await
}
