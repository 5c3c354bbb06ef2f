//! Sends an approved request upstream, at most once.
//!
//! Claim, check again, record the attempt, and only then send. A process that dies after recording the attempt leaves
//! `sending` behind. Recovery turns that into `outcome_unknown`: the request may have been executed, so no one sends it
//! again.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use pyxis_core::actor::ActorId;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_core::policy::{Method, PolicyVerdict};
use pyxis_core::target::Target;
use pyxis_store::approvals::{self, ApprovalKind, ApprovalRow, Finish};
use pyxis_store::cipher::Keyring;
use pyxis_store::{Store, StoreEvent, agents, audit, credentials, generations, policies, workspaces};
use tokio::time::{Instant, timeout_at};

use super::failure;
use super::pause::request_digest;
use crate::approvals::announce;
use crate::config::Config;
use crate::credentials::mcp_servers::{self, Asker};
use crate::credentials::outbound::{ConnectionUse, Outbound, UpstreamResponse};
use crate::credentials::requests::{authorize, content, tool_rules};
use crate::credentials::{records, signing};
use crate::error::lost_answer::LostAnswer;
use crate::error::{Error, Result};
use crate::runtime::exchange_metrics::{ExchangeMetrics, micros};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;
use crate::runtime::stored::{StoredRequest, StoredResponse};

/// Lifetime of a claim before the attempt is recorded. Another node may take over afterwards.
const CLAIM: Duration = Duration::from_secs(30);

/// Delays between attempts to store a result. After the last one the outcome counts as unknown, although there was a
/// response.
const AGAIN: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(15)];

/// Time after the decision within which its agent must open an approved WebSocket.
pub(crate) const OPENED_WITHIN: Duration = Duration::from_mins(15);

/// Everything needed for sending, checked again just before.
pub(crate) struct Cleared {
    pub(crate) credential: ResolvedCredential,
    pub(crate) target: Target,
    method: Method,
    pub(crate) request: StoredRequest,
}

/// An attempt that is on record: send.
pub(crate) struct ForwardAttempt {
    pub(crate) row: ApprovalRow,
    pub(crate) cleared: Cleared,
    /// Number of its audit record.
    pub(crate) seq: i64,
    pub(crate) started: Instant,
}

/// Executes one approved transaction, unless another node does.
pub(crate) async fn execute(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<()> {
    // Set before the attempt is recorded, so that a recorded attempt always has an executor.
    let _carried = state.work.track_in_flight(txn);
    match attempt(state, workspace, txn).await? {
        Some(attempt) => send(state, attempt).await,
        None => Ok(()),
    }
}

/// Claims an approved transaction, checks it again and records the attempt. `None` if another one has it, or it has ended
/// because of a check.
pub(crate) async fn attempt(
    state: &State,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Option<ForwardAttempt>> {
    let now = state.now();
    if !approvals::claim(&state.store, workspace, txn, state.node, now, now.plus(CLAIM)).await? {
        return Ok(None);
    }
    let found = approvals::find(&state.store, workspace, txn).await?;
    let row = found.ok_or(Error::not_found("transaction"))?;
    loop {
        // Read before the checks that depend on it, and compared in the transaction that records the attempt.
        let generation = generations::read(&state.store).await?;
        let cleared = match clear(state, &row).await {
            Ok(cleared) => cleared,
            // Not a final result: the claim expires and the work is resumed.
            Err(error @ Error::Unavailable(_)) => return Err(error),
            Err(error) => {
                finish(state, &row, None, Err(error), ExchangeMetrics::default()).await?;
                return Ok(None);
            }
        };
        let started = Instant::now();
        match begin(state, &row, &cleared, generation).await? {
            Begun::Recorded(seq) => return Ok(Some(ForwardAttempt { row, cleared, seq, started })),
            Begun::Lost => return Ok(None),
            Begun::Stale => {}
        }
    }
}

/// Checks that everything that held at the pause still holds (`docs/reference/behavior/proxy.md#at-most-once`).
async fn clear(state: &State, row: &ApprovalRow) -> Result<Cleared> {
    let store = &state.store;
    if is_unused(state.now(), row) {
        return Err(Error::NoLongerAllowed("the agent did not open the WebSocket within 15 minutes"));
    }
    let credential = current_credential(store, row).await?;
    let request = open_request(store, &state.keyring, row).await?;
    if request_digest(&request, row.method.as_str(), &credential.row, row.agent_id) != row.digest {
        return Err(Error::NoLongerAllowed("the stored request differs from the approved one"));
    }
    let method = row.method.known().ok_or(Error::InvalidMethod)?;
    let target = Target::parse(&request.target).map_err(|error| Error::Internal(Box::new(error)))?;
    // A signature is not sent anywhere, so there is no target to check.
    if row.kind == ApprovalKind::Forward {
        authorize::check_allowed_hosts(&credential, &target)?;
        if is_denied(&credential, method, &target, &request) {
            return Err(Error::NoLongerAllowed("the policy now denies it"));
        }
        tool_rules::recheck(store, row, &credential, &request).await?;
        state.net.check(&authorize::host_port(&target)).await?;
    }
    Ok(Cleared { credential, target, method, request })
}

/// The credential of a request as it is configured now, if its agent may still use it.
pub(super) async fn current_credential(store: &Store, row: &ApprovalRow) -> Result<ResolvedCredential> {
    let workspace = row.workspace_id;
    let agent = agents::find(store, workspace, row.agent_id).await?;
    if agent.is_none_or(|agent| agent.disabled_at.is_some()) {
        return Err(Error::NoLongerAllowed("the agent was disabled or removed"));
    }
    let found = credentials::find(store, workspace, row.credential_id).await?;
    let credential = found.ok_or(Error::NoLongerAllowed("the credential was removed"))?;
    if credential.version != row.credential_version {
        return Err(Error::NoLongerAllowed(
            "the credential's secret was replaced, or its account connected again",
        ));
    }
    let assigned = agents::may_use(store, workspace, row.agent_id, row.credential_id).await?;
    if !assigned {
        return Err(Error::NoLongerAllowed("the agent may no longer use the credential"));
    }
    let policy = policies::find(store, workspace, row.credential_id).await?;
    let mode = workspaces::find(store, workspace).await?.map_or(ApprovalMode::Gated, |found| found.mode);
    let document = policy.as_ref().map(|policy| policy.document.as_str());
    ResolvedCredential::parse(credential, document, mode)
}

/// True for a WebSocket that its agent did not open in time.
fn is_unused(now: UnixMillis, row: &ApprovalRow) -> bool {
    let last = now.minus(OPENED_WITHIN);
    row.method.is(Method::WebSocket) && row.decided_at.is_none_or(|decided| decided <= last)
}

/// True if the policy denies the request, by its URL or by its content.
pub(super) fn is_denied(
    credential: &ResolvedCredential,
    method: Method,
    target: &Target,
    request: &StoredRequest,
) -> bool {
    let by_url = authorize::decide(credential, method, target);
    let seen = content::build(&request.headers, target, &request.body);
    let by_content = content::finding(credential, &by_url, method, target, &seen);
    by_url.verdict == PolicyVerdict::Deny
        || by_content.is_some_and(|found| found.verdict == PolicyVerdict::Deny)
}

/// The request to be sent.
pub(super) async fn open_request(
    store: &Store,
    keyring: &Keyring,
    row: &ApprovalRow,
) -> Result<StoredRequest> {
    let sealed = approvals::request(store, row.workspace_id, row.txn_id).await?;
    let sealed = sealed.ok_or(Error::NoLongerAllowed("the stored request was purged"))?;
    let aad = approvals::request_aad(row.workspace_id, row.txn_id);
    let bytes = keyring.open(&aad, &sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    StoredRequest::decode(&bytes).map_err(|error| Error::Internal(Box::new(error)))
}

async fn send(state: &State, attempt: ForwardAttempt) -> Result<()> {
    let ForwardAttempt { row, cleared, seq, started } = attempt;
    let row = &row;
    state.last_used.record_use(row.agent_id, row.credential_id, state.now());
    let Cleared { credential, target, method, request } = cleared;
    if row.kind == ApprovalKind::Sign {
        let signed = signing::carry_out(&state.keyring, &credential, &request.body);
        return finish(state, row, Some(seq), signed, ExchangeMetrics::default()).await;
    }
    let headers = request.headers;
    let connection = ConnectionUse::Fresh;
    let outbound = Outbound { credential: &credential, method, target: &target, headers, connection };
    let mut facts = ExchangeMetrics::default();
    let is_tool = credential.options.mcp_url.is_some();
    let asker = || Asker { actor: ActorId::Agent(row.agent_id), name: row.agent_name.clone() };
    let body = pyxis_net::body::full(request.body);
    let result = match mcp_servers::dispatch(state, asker, outbound, body).await {
        Err(error) => {
            facts.status = error.upstream_status();
            Err(error)
        }
        Ok(answer) => {
            facts.status = Some(answer.status);
            facts.head_micros = Some(micros(started));
            Ok(read_response(&state.config, answer, &mut facts, is_tool).await)
        }
    };
    facts.total_micros = micros(started);
    finish(state, row, Some(seq), result, facts).await
}

/// Stores the end of an attempt to open a WebSocket that did not open.
pub(crate) async fn not_opened(
    state: &State,
    attempt: &ForwardAttempt,
    result: Result<UpstreamResponse>,
) -> Result<()> {
    let mut facts = ExchangeMetrics {
        status: result.as_ref().err().and_then(Error::upstream_status),
        ..Default::default()
    };
    let result = match result {
        Err(error) => Err(error),
        Ok(answer) => {
            facts.status = Some(answer.status);
            facts.head_micros = Some(micros(attempt.started));
            Ok(read_response(&state.config, answer, &mut facts, false).await)
        }
    };
    facts.total_micros = micros(attempt.started);
    finish(state, &attempt.row, Some(attempt.seq), result, facts).await
}

/// Stores that an approved WebSocket is open. Its audit record follows when it ends.
pub(crate) async fn opened(state: &State, attempt: &ForwardAttempt, headers: HeaderMap) -> Result<()> {
    let (workspace, txn) = (attempt.row.workspace_id, attempt.row.txn_id);
    let status = StatusCode::SWITCHING_PROTOCOLS;
    let answer = StoredResponse { status, headers, body: Bytes::new(), truncated: false };
    let aad = approvals::response_aad(workspace, txn);
    let sealed = state.keyring.seal(&*state.entropy, &aad, answer.encode().expose());
    let status = Some(i64::from(status.as_u16()));
    let end = Finish { status, error: None, response: Some(sealed), now: state.now() };
    store_end(state, &attempt.row, &end, &[]).await
}

/// Result of beginning an attempt.
enum Begun {
    /// Durably recorded under this number: send.
    Recorded(i64),
    /// Another node has the claim.
    Lost,
    /// The configuration changed since the checks, and nothing was stored: check again.
    Stale,
}

/// Durably records the attempt and its audit record, together.
async fn begin(state: &State, row: &ApprovalRow, cleared: &Cleared, generation: i64) -> Result<Begun> {
    let digest = request_digest(&cleared.request, row.method.as_str(), &cleared.credential.row, row.agent_id);
    let mut tx = state.store.begin().await?;
    let (workspace, txn) = (row.workspace_id, row.txn_id);
    if !approvals::begin_attempt(&mut tx, workspace, txn, state.node, &digest, state.now()).await? {
        return Ok(Begun::Lost);
    }
    let record = records::execute(&state.config, state.node, state.now(), row);
    let seqs = audit::append_in(&mut tx, &state.audit_keys, &[record]).await?;
    // The append has acquired the lock that a configuration change holds while it commits.
    if generations::read(&mut tx).await? != generation {
        return Ok(Begun::Stale);
    }
    tx.commit().await?;
    seqs.first().copied().map(Begun::Recorded).ok_or(Error::OutcomeUnknown(LostAnswer::NotStored))
}

/// Reads the response for polling, up to the stored size. A host that never ends its response must not block a slot
/// forever. A broken response is still a response: its beginning is stored.
///
/// An MCP server may keep its stream of events open after the answer, which is therefore the end.
async fn read_response(
    config: &Config,
    answer: UpstreamResponse,
    facts: &mut ExchangeMetrics,
    is_tool: bool,
) -> StoredResponse {
    let UpstreamResponse { status, headers, mut body, .. } = answer;
    let max = config.response_max;
    let end = Instant::now() + config.response_time;
    let (mut kept, mut truncated) = (Vec::new(), false);
    let mut search = mcp_servers::message::AnswerSearch::default();
    loop {
        let frame = match timeout_at(end, body.frame()).await {
            Ok(None) => break,
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => {
                tracing::debug!(error = %error, "the response to an approved request ended early");
                facts.error = Some("upstream_error");
                truncated = true;
                break;
            }
            Err(_) => {
                truncated = true;
                break;
            }
        };
        let Ok(data) = frame.into_data() else { continue };
        if kept.len() + data.len() > max {
            kept.extend_from_slice(&data[..max - kept.len()]);
            truncated = true;
            break;
        }
        kept.extend_from_slice(&data);
        if is_tool && search.find(&kept).is_some() {
            break;
        }
    }
    (facts.bytes, facts.redactions) = (body.relayed(), body.redactions());
    StoredResponse { status, headers, body: kept.into(), truncated }
}

/// Stores the result: a response or a definite failure.
async fn finish(
    state: &State,
    row: &ApprovalRow,
    seq: Option<i64>,
    result: Result<StoredResponse>,
    mut facts: ExchangeMetrics,
) -> Result<()> {
    let (workspace, txn) = (row.workspace_id, row.txn_id);
    let (status, error, response) = match result {
        Ok(answer) => {
            let aad = approvals::response_aad(workspace, txn);
            let sealed = state.keyring.seal(&*state.entropy, &aad, answer.encode().expose());
            // A signature has no upstream, and therefore no status.
            let status = (row.kind == ApprovalKind::Forward).then(|| i64::from(answer.status.as_u16()));
            (status, None, Some(sealed))
        }
        Err(error) => {
            let sealed = failure::seal(&state.keyring, &*state.entropy, workspace, txn, &error);
            (facts.status.map(|status| i64::from(status.as_u16())), Some(outcome_code(&error)), Some(sealed))
        }
    };
    facts.error = error.or(facts.error);
    state.metrics().ended(&facts);
    let end = Finish { status, error: error.map(str::to_owned), response, now: state.now() };
    let record = match seq {
        Some(seq) => records::outcome(state.now(), workspace, seq, &facts),
        None => records::not_sent(state.now(), row, error.unwrap_or_default()),
    };
    for pause in AGAIN {
        match store_end(state, row, &end, std::slice::from_ref(&record)).await {
            Err(error @ Error::Unavailable(_)) => {
                tracing::warn!(%txn, %error, "cannot store the outcome of an approved request yet; will retry");
            }
            outcome => return outcome,
        }
        tokio::time::sleep(pause).await;
    }
    store_end(state, row, &end, std::slice::from_ref(&record)).await
}

/// Stores the result with its records, unless there is one already.
async fn store_end(
    state: &State,
    row: &ApprovalRow,
    end: &Finish,
    records: &[audit::AuditRecord],
) -> Result<()> {
    let (workspace, txn) = (row.workspace_id, row.txn_id);
    let mut tx = state.store.begin().await?;
    if approvals::finish(&mut tx, workspace, txn, state.node, end).await? {
        audit::append_in(&mut tx, &state.audit_keys, records).await?;
        announce::sent(&state.outbox, state.now(), &mut tx, row, end.status.filter(|_| end.error.is_none()))
            .await?;
        tx.notify(StoreEvent::Approval { workspace, txn });
        tx.commit().await?;
    }
    Ok(())
}

/// Code for an approved call that was not completed, one of four in the poll response. [`failure`] stores the rest.
fn outcome_code(error: &Error) -> &'static str {
    match error {
        Error::UpstreamTimeout | Error::ConnectTimeout => "upstream_timeout",
        Error::NoLongerAllowed(_)
        | Error::HostNotAllowed(_)
        | Error::TargetNotAllowed(_)
        | Error::InvalidTarget(_)
        | Error::OauthParameter(_)
        | Error::EncodedForm
        | Error::DuplicateHeader(_)
        | Error::InvalidHeader { .. } => "no_longer_allowed",
        Error::OutcomeUnknown(_) => "outcome_unknown",
        _ => "upstream_error",
    }
}
