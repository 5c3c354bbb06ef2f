//! Audit records of the data path, built in one place.

use pyxis_core::actor::ActorId;
use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{NodeId, TaskId, TxnId, WorkspaceId};
use pyxis_core::policy::{Method, Rule};
use pyxis_core::target::Target;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::audit::{AuditRecord, AuditRow};
use serde::Serialize;

use crate::config::Config;
use crate::credentials::redaction::{RedactedRequest, Redactor};
use crate::credentials::requests::authorize::{AllowedBy, Matched};
use crate::credentials::requests::entry_point::EntryPoint;
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::error::Error;
use crate::runtime::exchange_metrics::{ExchangeMetrics, SocketEnd};
use crate::runtime::metrics_recorder::MetricsRecorder;
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;

/// `detail` of a forward record. The query stays out: it may carry what nobody meant to log.
#[derive(Serialize)]
struct ForwardDetail<'a> {
    target: &'a str,
    rule: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Name of the entry point, unless it is the HTTP interface itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    door: Option<&'static str>,
    /// Name that the client there gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    /// Tool of an MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    /// Node that sends it, unless there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<NodeId>,
    /// Task that allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<TaskId>,
}

impl<'a> ForwardDetail<'a> {
    fn new(
        asked: &'a ValidatedRequest<'_>,
        rule: &'a str,
        pattern: Option<&'a str>,
        words: &'a RedactedRequest,
    ) -> Self {
        let entry_point = EntryPoint::from_request(asked.head);
        Self {
            target: &words.route,
            rule,
            pattern,
            reason: words.reason.as_deref(),
            door: entry_point.map(|entry_point| entry_point.name),
            client: entry_point.and_then(|entry_point| entry_point.client.as_deref()),
            tool: entry_point.and_then(|entry_point| entry_point.tool.as_deref()),
            node: None,
            task_id: None,
        }
    }
}

/// `detail` of an outcome record; times in microseconds, sizes in bytes.
#[derive(Serialize)]
struct OutcomeDetail {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head_micros: Option<u64>,
    total_micros: u64,
    bytes: u64,
    redactions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    websocket: Option<SocketEnd>,
}

/// A request that is about to be sent without asking a human.
pub(crate) fn forward(
    state: &State,
    asked: &ValidatedRequest<'_>,
    allowed_by: &AllowedBy,
    words: &RedactedRequest,
) -> AuditRecord {
    let mut record = base(state.now(), asked, AuditDecision::Auto, words);
    let (rule, pattern) = (allowed_by.matched.rule.as_str(), allowed_by.matched.pattern.as_deref());
    let node = sending_node(&state.config, state.node);
    let task_id = allowed_by.task.map(|claimed| claimed.task);
    record.detail = json(&ForwardDetail { node, task_id, ..ForwardDetail::new(asked, rule, pattern, words) });
    if task_id.is_some() {
        record.decision = Some(AuditDecision::Task.into());
    }
    if let Some(grant) = &allowed_by.grant {
        record.decision = Some(AuditDecision::Grant.into());
        record.grant_id = Some(grant.id);
        state.metrics().grant_uses.increment(1);
    }
    state.metrics().passed.increment(1);
    record
}

/// The node that a record of a sent request names, so that the others can settle it if the node dies.
fn sending_node(config: &Config, node: NodeId) -> Option<NodeId> {
    (!config.sole_node).then_some(node)
}

/// A list of tools that is about to be asked for.
pub(crate) fn listing(
    config: &Config,
    node: NodeId,
    now: UnixMillis,
    credential: &ResolvedCredential,
    target: &Target,
    (actor, name): (ActorId, &str),
) -> AuditRecord {
    let mut record = AuditRecord::new(now, AuditEvent::RequestReceived);
    record.workspace_id = Some(credential.row.workspace_id);
    record.actor = actor;
    name.clone_into(&mut record.actor_name);
    record.credential = Some(credential.row.name.clone());
    record.decision = Some(AuditDecision::Auto.into());
    record.method = Some(Method::Post.into());
    record.host = Some(target.authority().to_owned());
    record.detail = json(&ForwardDetail {
        target: &target.route(),
        rule: Rule::Tool.as_str(),
        pattern: None,
        reason: None,
        door: Some("mcp"),
        client: None,
        tool: Some("tools/list"),
        node: sending_node(config, node),
        task_id: None,
    });
    record
}

/// A request that now waits for a human.
pub(crate) fn pending_record(
    metrics: &MetricsRecorder,
    now: UnixMillis,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    txn: TxnId,
    words: &RedactedRequest,
) -> AuditRecord {
    let mut record = build(now, asked, AuditDecision::Pending, matched, words);
    record.txn_id = Some(txn);
    metrics.paused.increment(1);
    record
}

/// A request that was refused; recorded, but not waited for: nothing was sent.
pub(crate) fn record_refusal(state: &State, asked: &ValidatedRequest<'_>, error: &Error) {
    let (decision, pattern) = match error {
        Error::DeniedByPolicy { pattern } => (AuditDecision::Denied, pattern.clone()),
        _ => (AuditDecision::Refused, None),
    };
    let words = Redactor::of_credential(&state.keyring, asked).redact_request(asked);
    let mut record = base(state.now(), asked, decision, &words);
    record.detail = json(&ForwardDetail::new(asked, error.code(), pattern.as_deref(), &words));
    state.metrics().refused.increment(1);
    state.audit.append_detached(record);
}

/// An approved request that is about to be sent.
pub(crate) fn execute(config: &Config, node: NodeId, now: UnixMillis, row: &ApprovalRow) -> AuditRecord {
    let mut record = of_approved(now, row);
    if row.method.is(Method::WebSocket)
        && let Some(node) = sending_node(config, node)
    {
        // Its approval ends when it opens; from then on it is settled like a request that no one was asked about.
        record.detail = json(&serde_json::json!({ "node": node }));
    }
    if row.edits > 0 {
        // The records of the edits name it as well.
        record.detail = json(&serde_json::json!({ "digest": row.digest }));
    }
    record
}

fn of_approved(now: UnixMillis, row: &ApprovalRow) -> AuditRecord {
    let mut record = AuditRecord::new(now, AuditEvent::RequestExecuted);
    record.workspace_id = Some(row.workspace_id);
    record.actor = ActorId::Agent(row.agent_id);
    record.actor_name.clone_from(&row.agent_name);
    record.credential = Some(row.credential_name.clone());
    record.decision = Some(AuditDecision::Approved.into());
    record.method = Some(row.method.clone());
    record.host = Some(row.target_host.clone());
    record.txn_id = Some(row.txn_id);
    record
}

/// Outcome record of the request recorded as `seq`.
pub(crate) fn outcome(
    now: UnixMillis,
    workspace: WorkspaceId,
    seq: i64,
    facts: &ExchangeMetrics,
) -> AuditRecord {
    let mut record = AuditRecord::new(now, AuditEvent::RequestCompleted);
    record.workspace_id = Some(workspace);
    record.ref_seq = Some(seq);
    record.status = facts.status.map(|status| i64::from(status.as_u16()));
    record.detail = json(&OutcomeDetail {
        error: facts.error,
        head_micros: facts.head_micros,
        total_micros: facts.total_micros,
        bytes: facts.bytes,
        redactions: facts.redactions,
        websocket: facts.socket.clone(),
    });
    record
}

/// The outcome of a request whose node died before it could record one.
pub(crate) fn outcome_unknown(now: UnixMillis, sent: &AuditRow) -> AuditRecord {
    let mut record = AuditRecord::new(now, AuditEvent::RequestCompleted);
    record.workspace_id = sent.record.workspace_id;
    record.actor = ActorId::System;
    record.ref_seq = Some(sent.seq);
    record.detail = json(&serde_json::json!({ "error": "outcome_unknown" }));
    record
}

fn build(
    now: UnixMillis,
    asked: &ValidatedRequest<'_>,
    decision: AuditDecision,
    matched: &Matched,
    words: &RedactedRequest,
) -> AuditRecord {
    let mut record = base(now, asked, decision, words);
    let (rule, pattern) = (matched.rule.as_str(), matched.pattern.as_deref());
    record.detail = json(&ForwardDetail::new(asked, rule, pattern, words));
    record
}

fn base(
    now: UnixMillis,
    asked: &ValidatedRequest<'_>,
    decision: AuditDecision,
    words: &RedactedRequest,
) -> AuditRecord {
    let mut record = AuditRecord::new(now, AuditEvent::RequestReceived);
    record.workspace_id = Some(asked.agent.workspace_id());
    record.actor = ActorId::Agent(asked.agent.id());
    record.actor_name.clone_from(&asked.agent.row.name);
    record.credential = Some(asked.credential.row.name.clone());
    record.decision = Some(decision.into());
    record.method = Some(asked.method.into());
    record.host = Some(words.host.clone());
    record
}

/// `detail` as JSON text. These structs always serialize.
pub(crate) fn json(detail: &impl Serialize) -> String {
    serde_json::to_string(detail).unwrap_or_else(|_| "{}".to_owned())
}

/// An approved request that was not sent after all.
pub(crate) fn not_sent(now: UnixMillis, row: &ApprovalRow, code: &str) -> AuditRecord {
    let mut record = of_approved(now, row);
    record.decision = Some(AuditDecision::Refused.into());
    record.detail = json(&serde_json::json!({ "error": code }));
    record
}
