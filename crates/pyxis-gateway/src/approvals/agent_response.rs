//! Responses to agents about a transaction: the 202, the poll response, the withdrawal.

use std::time::Duration;

use axum::Extension;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CACHE_CONTROL, HeaderName, LOCATION, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use pyxis_core::approval_mode::{ApprovalState, Channel, ForwardState};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Method;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path, Query};
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::cipher::Keyring;
use pyxis_store::{Store, undelivered};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::announcement_record::{AnnouncementRecord, AnonymousAnnouncement};
use super::decide::is_settled;
use super::edit_record::{EditedRecord, PX_EDITED, YES};
use super::expire;
use super::failure::ForwardFailure;
use super::wait_for_decision::wait_until_settled;
use crate::config::Config;
use crate::credentials::requests::caller::CallerKey;
use crate::credentials::requests::control::MAX_WAIT;
use crate::credentials::requests::presence::{ClientPresence, WaitLimit};
use crate::error::lost_answer::LostAnswer;
use crate::error::{Error, Result};
use crate::problems::AlreadyDecided;
use crate::runtime::resolve::{ConfigCache, ResolvedAgent};
use crate::runtime::state::State;
use crate::runtime::stored::StoredResponse;
use crate::values;

const PX_TXN: HeaderName = HeaderName::from_static("px-txn");
/// Seconds between polls.
const POLL_AGAIN: HeaderValue = HeaderValue::from_static("2");

/// The 202 response: the request is pending, or approved and being sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "status": "pending", "txn_id": "019c1234-5678-7abc-8def-0123456789ab",
    "poll_url": "https://pyxis.example.org/agent/approvals/019c1234-5678-7abc-8def-0123456789ab",
    "approval_url": "https://pyxis.example.org/approve/019c1234-5678-7abc-8def-0123456789ab",
    "expires_at": "2026-01-31T10:05:00.250Z", "expires_in": 3600, "notification_channel": "agent_reflected",
    "agent_hint": "A person must approve this POST request to api.github.com. Ask them to open https://pyxis.example.org/approve/019c1234-5678-7abc-8def-0123456789ab"
}))]
pub struct Paused {
    /// `pending` or `approved`.
    status: ApprovalState,
    /// Transaction id.
    #[schema(value_type = Id)]
    txn_id: String,
    /// URL at which the agent polls for the outcome.
    #[schema(
        format = "uri",
        example = "https://pyxis.example.org/agent/approvals/019c1234-5678-7abc-8def-0123456789ab"
    )]
    poll_url: String,
    /// URL of the approval page.
    #[schema(
        format = "uri",
        example = "https://pyxis.example.org/approve/019c1234-5678-7abc-8def-0123456789ab"
    )]
    approval_url: String,
    /// End of the approval window.
    #[schema(value_type = Time)]
    expires_at: String,
    /// Seconds until `expires_at`.
    #[schema(minimum = 0, example = 3600)]
    expires_in: u64,
    /// Channel that announced the approval.
    notification_channel: Channel,
    /// One sentence that the agent can show to its user.
    #[schema(example = "A person must approve this POST request to api.github.com.")]
    agent_hint: String,
}

/// Status of a transaction, as polled by its agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Outcome, example = json!({
    "txn_id": "019c1234-5678-7abc-8def-0123456789ab", "status": "approved",
    "created_at": "2026-01-31T09:05:00.250Z", "expires_at": "2026-01-31T10:05:00.250Z",
    "decided_at": "2026-01-31T09:07:30.125Z", "reason": null, "upstream_status": 201, "error": null,
    "response": {
        "status": 201, "headers": [["content-type", "application/json"]], "body": "{\"number\":12}",
        "body_encoding": "utf-8", "truncated": false
    },
    "asked": [{"channel": "slack", "kind": "room", "at": "2026-01-31T09:05:00.600Z"}]
}))]
pub struct TransactionStatus {
    /// Transaction id.
    #[schema(value_type = Id)]
    txn_id: String,
    /// `pending`, `approved`, `denied` or `expired`.
    status: ApprovalState,
    /// Time of the request.
    #[schema(value_type = Time)]
    created_at: String,
    /// End of the approval window.
    #[schema(value_type = Time)]
    expires_at: String,
    /// Time of the decision.
    #[schema(value_type = Option<Time>, required)]
    decided_at: Option<String>,
    /// The approver's reason for a denial.
    #[schema(required)]
    reason: Option<String>,
    /// Status of the target's response.
    #[schema(required)]
    upstream_status: Option<i64>,
    /// The target's response; null while the request is being forwarded and once it is deleted (24 hours after the
    /// decision).
    #[schema(required)]
    response: Option<RetainedResponse>,
    /// Reason that an approved call could not be completed.
    #[schema(value_type = Option<values::ForwardError>, required)]
    error: Option<String>,
    /// With `error`: the same in a sentence; as long as a response is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    detail: Option<String>,
    /// With `error`, if a person can fix it: the page on which the account is connected again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", nullable = false, example = "https://pyxis.example.org/app/credentials/github")]
    url: Option<String>,
    /// Changes that a person made to the request before approving it. Absent if no one edited it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    edited: Option<EditedRecord>,
    /// Rooms and people that were asked, oldest first, without saying which.
    asked: Vec<AnonymousAnnouncement>,
    /// Time at which more people or another room are asked. Absent if none are to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Time>, nullable = false)]
    next_step_at: Option<String>,
}

/// A stored upstream response.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeptResponse)]
pub struct RetainedResponse {
    /// HTTP status.
    #[schema(minimum = 100, maximum = 999)]
    status: u16,
    /// Names and values in order. A value that is not UTF-8 is read as ISO 8859-1, one character per byte, and
    /// also listed in `headers_base64`.
    #[schema(value_type = Vec<values::HeaderPair>)]
    headers: Vec<(String, String)>,
    /// The values of `headers` that are not UTF-8, byte for byte. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headers_base64: Vec<HeaderBytes>,
    /// The body, as text or base64.
    body: String,
    /// `utf-8` or `base64`.
    #[schema(value_type = values::BodyEncoding)]
    body_encoding: &'static str,
    /// True if the body is incomplete: longer than the limit (`PX_RESPONSE_MAX_BYTES`, 10 MiB), too slow, cut off,
    /// or deleted.
    truncated: bool,
}

/// A header value that is not UTF-8.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeaderBytes {
    /// Position in `headers`, from 0.
    #[schema(minimum = 0)]
    index: usize,
    /// Header name.
    name: String,
    /// Value bytes, in base64.
    #[schema(content_encoding = "base64")]
    value: String,
}

/// Query of the poll endpoint.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PollQuery {
    /// Seconds to wait for the outcome; values above 60 count as 60.
    #[param(minimum = 0, example = 30)]
    wait: Option<u64>,
}

/// Answers a paused request immediately, or after the time that the agent prefers to wait.
pub(crate) async fn respond_pending(
    state: &State,
    agent: &ResolvedAgent,
    row: ApprovalRow,
    wait: Option<Duration>,
) -> Result<Response> {
    let row = match wait {
        None => row,
        Some(wait) => wait_until_settled(state, agent, row, &wait.into()).await?,
    };
    answer(state, row).await
}

/// Answers a repeated request that had become `txn`.
pub(crate) async fn respond_to_duplicate(
    state: &State,
    agent: &ResolvedAgent,
    txn: TxnId,
    wait: Option<Duration>,
) -> Result<Response> {
    let found = approvals::find_for_agent(&state.store, agent.workspace_id(), agent.id(), txn).await?;
    let row = expire::expire_if_due(state, found.ok_or(Error::not_found("transaction"))?).await?;
    respond_pending(state, agent, row, wait).await
}

/// The agent's response for an entry point in this process, with a record of the announcements while the request is
/// pending.
pub(super) async fn answer_entry_point(state: &State, row: ApprovalRow) -> Result<Response> {
    let is_pending = row.state == ApprovalState::Pending;
    let asked = if is_pending {
        Some(AnnouncementRecord::load(&state.store, &row, state.now()).await?)
    } else {
        None
    };
    let mut response = answer(state, row).await?;
    if let Some(asked) = asked {
        response.extensions_mut().insert(asked);
    }
    Ok(response)
}

/// The agent's response for a transaction in any state. If a person edited the request, it says so.
pub(crate) async fn answer(state: &State, row: ApprovalRow) -> Result<Response> {
    if row.edits == 0 {
        return plain_answer(state, row).await;
    }
    let edited = EditedRecord::load(&state.store, &state.keyring, &row).await?;
    let answer = plain_answer(state, row).await;
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    response.headers_mut().insert(PX_EDITED, YES);
    // For entry points in this process, which tell the difference as well.
    if let Some(edited) = edited {
        response.extensions_mut().insert(edited);
    }
    Ok(response)
}

async fn plain_answer(state: &State, row: ApprovalRow) -> Result<Response> {
    match row.state {
        ApprovalState::Denied => Err(Error::ApprovalDenied { txn: row.txn_id, reason: row.deny_reason }),
        ApprovalState::Expired => Err(Error::ApprovalExpired { txn: row.txn_id }),
        ApprovalState::Approved if row.forward_state == ForwardState::Done => {
            upstream(&state.store, &state.keyring, &row).await
        }
        ApprovalState::Approved | ApprovalState::Pending => Ok(accepted(&state.config, state.now(), &row)),
    }
}

/// The reason that a response is missing where none is stored, as for a request that a dead node left unfinished.
fn lost_answer(code: &str) -> Option<LostAnswer> {
    (code == "outcome_unknown").then_some(LostAnswer::NotStored)
}

/// The stored upstream response in its original form.
async fn upstream(store: &Store, keyring: &Keyring, row: &ApprovalRow) -> Result<Response> {
    if let Some(code) = &row.error {
        let kept = open(store, keyring, row).await?;
        let failure = kept.as_ref().map(ForwardFailure::read).unwrap_or_default();
        if let Some(error) = failure.into_error() {
            return Err(error);
        }
        if let Some(lost) = lost_answer(code) {
            return Err(Error::OutcomeUnknown(lost));
        }
        return Err(match code.as_str() {
            "upstream_timeout" => Error::UpstreamTimeout,
            "no_longer_allowed" => Error::NoLongerAllowed("see the transaction"),
            _ => Error::Upstream("the approved request could not be completed".into()),
        });
    }
    let kept =
        open(store, keyring, row).await?.ok_or(Error::not_found("the response is no longer stored"))?;
    if kept.truncated {
        // Sent as the response, its beginning would be mistaken for the whole.
        return Err(Error::Upstream(
            format!(
                "the request was sent and the host answered {}; the response was too large to store, too \
                 slow or incomplete; the transaction has its beginning",
                kept.status.as_u16()
            )
            .into(),
        ));
    }
    let mut response = (kept.status, kept.body).into_response();
    *response.headers_mut() = kept.headers;
    Ok(response)
}

/// Whole seconds, rounded up, so that a new window has its full length.
fn seconds_up(left: Duration) -> u64 {
    left.as_secs() + u64::from(left.subsec_nanos() > 0)
}

fn accepted(config: &Config, now: UnixMillis, row: &ApprovalRow) -> Response {
    let base = &config.base_url;
    let poll_url = format!("{base}/agent/approvals/{}", row.txn_id);
    let approval_url = format!("{base}/approve/{}", row.txn_id);
    let is_websocket = row.method.is(Method::WebSocket);
    let agent_hint = if is_websocket && row.state == ApprovalState::Approved {
        format!("The WebSocket to {} is approved. Open it again within 15 minutes", row.target_host)
    } else if row.state == ApprovalState::Approved {
        format!(
            "The {} request to {} is approved and in progress. Poll for the response",
            row.method, row.target_host
        )
    } else {
        format!(
            "A person must approve this {} request to {}. Ask them to open {approval_url}",
            row.method, row.target_host
        )
    };
    let body = Paused {
        status: row.state,
        txn_id: row.txn_id.to_string(),
        agent_hint,
        approval_url,
        expires_at: row.expires_at.to_rfc3339(),
        expires_in: seconds_up(row.expires_at.since(now)),
        notification_channel: row.channel,
        poll_url: poll_url.clone(),
    };
    let mut response = (StatusCode::ACCEPTED, Json(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, POLL_AGAIN);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::try_from(poll_url) {
        headers.insert(LOCATION, value);
    }
    if let Ok(value) = HeaderValue::try_from(row.txn_id.to_string()) {
        headers.insert(PX_TXN, value);
    }
    response
}

/// Get the outcome of a pending request.
///
/// Always 200 for the key that sent the request, in every state; 404 for other keys. `approved` with null in both
/// `response` and `error`: the request is being forwarded.
#[utoipa::path(
    get,
    path = "/agent/approvals/{txn_id}",
    tag = "Agent",
    operation_id = "pollApproval",
    security(("agentKey" = [])),
    params(("txn_id" = inline(Id), Path, description = "The transaction, as the 202 names it."), PollQuery),
    responses(
        (status = 200, description = "The current state.", headers(("Retry-After" = u64, description = "Seconds to wait before the next poll; absent once the outcome is final."), ("Cache-Control" = String, description = "Always `no-store`.")), body = TransactionStatus, example = json!({
            "txn_id": "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
            "status": "approved",
            "created_at": "2026-01-31T09:05:00.250Z",
            "expires_at": "2026-01-31T10:05:00.250Z",
            "decided_at": "2026-01-31T09:06:12.004Z",
            "reason": null,
            "upstream_status": 201,
            "asked": [{"channel": "slack", "kind": "room", "at": "2026-01-31T09:05:00.250Z"}],
            "response": {
                "status": 201,
                "headers": [
                    [
                        "content-type",
                        "application/json"
                    ]
                ],
                "body": "{\"number\":42}",
                "body_encoding": "utf-8",
                "truncated": false
            },
            "error": null
        })),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub async fn poll(
    Extract(state): Extract<State>,
    Path(txn): Path<String>,
    Query(query): Query<PollQuery>,
    presence: Option<Extension<ClientPresence>>,
    key: CallerKey,
) -> Result<Response> {
    let (agent, row) = find(&state.store, &state.config_cache, key, &txn).await?;
    let wait = query.wait.map(|seconds| Duration::from_secs(seconds).min(MAX_WAIT));
    let row = match wait {
        Some(time) => {
            let client = presence.map(|Extension(presence)| presence).unwrap_or_default();
            wait_until_settled(&state, &agent, row, &WaitLimit { time, client }).await?
        }
        None => expire::expire_if_due(&state, row).await?,
    };
    let now = state.now();
    let mut response = Json(outcome(&state.store, &state.keyring, &row, now).await?).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !is_settled(&row) {
        response.headers_mut().insert(RETRY_AFTER, POLL_AGAIN);
    }
    Ok(response)
}

/// Withdraw a pending request.
#[utoipa::path(
    delete,
    path = "/agent/approvals/{txn_id}",
    tag = "Agent",
    operation_id = "withdrawRequest",
    security(("agentKey" = [])),
    params(("txn_id" = inline(Id), Path, description = "The transaction, as the 202 names it.")),
    responses(
        (status = 204, description = "Withdrawn; the transaction has expired."),
        (status = 404, response = NotFound),
        (status = 409, response = AlreadyDecided),
    ),
)]
pub async fn withdraw(
    Extract(state): Extract<State>,
    Path(txn): Path<String>,
    key: CallerKey,
) -> Result<StatusCode> {
    let (agent, row) = find(&state.store, &state.config_cache, key, &txn).await?;
    let row = expire::expire_if_due(&state, row).await?;
    let (workspace, now) = (agent.workspace_id(), state.now());
    let mut tx = state.store.begin().await?;
    if !approvals::withdraw(&mut tx, workspace, agent.id(), row.txn_id, now).await? {
        return Err(Error::AlreadyDecided(row.state));
    }
    // The agent knows this outcome. The same request again is a new one.
    undelivered::claim(&mut tx, workspace, row.txn_id).await?;
    expire::record_end(&state, &mut tx, workspace, row.txn_id, AuditEvent::ApprovalWithdrawn, now).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The current row of the transaction, if this agent key created it.
pub(crate) async fn current_row(state: &State, key: CallerKey, txn: &str) -> Result<ApprovalRow> {
    let (_, row) = find(&state.store, &state.config_cache, key, txn).await?;
    expire::expire_if_due(state, row).await
}

/// The transaction, if this agent key created it.
async fn find(
    store: &Store,
    config_cache: &ConfigCache,
    key: CallerKey,
    txn: &str,
) -> Result<(std::sync::Arc<ResolvedAgent>, ApprovalRow)> {
    let agent = config_cache.agent_now(store, key).await?;
    let txn: TxnId = txn.parse().map_err(|_| Error::not_found("transaction"))?;
    let found = approvals::find_for_agent(store, agent.workspace_id(), agent.id(), txn).await?;
    Ok((agent, found.ok_or(Error::not_found("transaction"))?))
}

async fn outcome(
    store: &Store,
    keyring: &Keyring,
    row: &ApprovalRow,
    now: UnixMillis,
) -> Result<TransactionStatus> {
    let kept = open(store, keyring, row).await?;
    let (response, failure) = match (&kept, &row.error) {
        (Some(kept), Some(_)) => (None, ForwardFailure::read(kept)),
        (Some(kept), None) => (Some(self::retained_response(kept)), ForwardFailure::default()),
        // Two nulls would mean that it is still being sent.
        (None, None) if row.forward_state == ForwardState::Done => {
            (Some(purged_response(row)), ForwardFailure::default())
        }
        (None, _) => (None, ForwardFailure::default()),
    };
    let (asked, next_step_at) = AnnouncementRecord::load(store, row, now).await?.into_parts();
    Ok(TransactionStatus {
        txn_id: row.txn_id.to_string(),
        status: row.state,
        created_at: row.created_at.to_rfc3339(),
        expires_at: row.expires_at.to_rfc3339(),
        decided_at: row.decided_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
        reason: row.deny_reason.clone(),
        upstream_status: row.upstream_status,
        response,
        error: row.error.clone(),
        detail: failure.detail.or_else(|| Some(lost_answer(row.error.as_deref()?)?.detail().to_owned())),
        url: failure.url,
        edited: EditedRecord::load(store, keyring, row).await?,
        asked,
        next_step_at,
    })
}

/// The stored response of a transaction.
pub(crate) async fn open(
    store: &Store,
    keyring: &Keyring,
    row: &ApprovalRow,
) -> Result<Option<StoredResponse>> {
    if row.forward_state != ForwardState::Done {
        return Ok(None);
    }
    let sealed = approvals::response(store, row.workspace_id, row.txn_id).await?;
    let Some(sealed) = sealed else { return Ok(None) };
    let aad = approvals::response_aad(row.workspace_id, row.txn_id);
    let bytes = keyring.open(&aad, &sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    StoredResponse::decode(&bytes).map(Some).map_err(|error| Error::Internal(Box::new(error)))
}

fn retained_response(stored: &StoredResponse) -> RetainedResponse {
    let (mut headers, mut headers_base64) = (Vec::with_capacity(stored.headers.len()), Vec::new());
    for (index, (name, value)) in stored.headers.iter().enumerate() {
        let (name, bytes) = (name.as_str().to_owned(), value.as_bytes());
        let text = if let Ok(text) = std::str::from_utf8(bytes) {
            text.to_owned()
        } else {
            headers_base64.push(HeaderBytes { index, name: name.clone(), value: STANDARD.encode(bytes) });
            bytes.iter().copied().map(char::from).collect()
        };
        headers.push((name, text));
    }
    let (body, body_encoding) = match std::str::from_utf8(&stored.body) {
        Ok(text) => (text.to_owned(), "utf-8"),
        Err(_) => (STANDARD.encode(&stored.body), "base64"),
    };
    RetainedResponse {
        status: stored.status.as_u16(),
        headers,
        headers_base64,
        body,
        body_encoding,
        truncated: stored.truncated,
    }
}

/// The remains of a response that is no longer stored.
fn purged_response(row: &ApprovalRow) -> RetainedResponse {
    // A signature has no upstream; its response had status 200.
    let status = row.upstream_status.and_then(|status| u16::try_from(status).ok()).unwrap_or(200);
    RetainedResponse {
        status,
        headers: Vec::new(),
        headers_base64: Vec::new(),
        body: String::new(),
        body_encoding: "utf-8",
        truncated: true,
    }
}
