//! Queries on the audit trail.

use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::clock::UnixMillis;
use pyxis_core::csv;
use pyxis_core::id::WorkspaceId;
use pyxis_http::openapi::{Id, Time};
use pyxis_store::audit::{self, Appender, AuditEntry, AuditFilter, ChainVerdict, Tally};
use pyxis_store::home::{self, Decisions, RefusedCredential};
use pyxis_store::{Store, StoredName};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::error::Result;
use crate::runtime::anchor;
use crate::runtime::state::State;

/// True if the log stores pending records and can be read.
pub async fn answers(store: &Store, audit: &Appender) -> bool {
    let newest = audit::stream(store, i64::MAX, None, 1);
    audit.flush().await.is_ok() && newest.await.is_ok()
}

/// Matching entries of a workspace, in the order of the filter, each with its outcome.
pub async fn search(
    store: &Store,
    audit: &Appender,
    workspace: WorkspaceId,
    filter: &AuditFilter,
) -> Result<Vec<AuditEntry>> {
    audit.flush().await?;
    Ok(audit::search(store, workspace, filter).await?)
}

/// Requests by decision in buckets of `bucket_ms`, for the chart.
pub async fn over_time(
    store: &Store,
    workspace: WorkspaceId,
    from: UnixMillis,
    to: UnixMillis,
    bucket_ms: i64,
) -> Result<Vec<(UnixMillis, StoredName<AuditDecision>, i64)>> {
    Ok(audit::decisions_over_time(store, workspace, from, to, bucket_ms).await?)
}

/// Records since a time by event and decision, as the home page counts them.
pub async fn decisions(
    store: &Store,
    audit: &Appender,
    workspace: WorkspaceId,
    since: UnixMillis,
) -> Result<Vec<Decisions>> {
    audit.flush().await?;
    Ok(home::decisions(store, workspace, since).await?)
}

/// Credentials whose requests APIs refused since a time, most refused first.
pub async fn refused_credentials(
    store: &Store,
    audit: &Appender,
    workspace: WorkspaceId,
    since: UnixMillis,
    limit: u32,
) -> Result<Vec<RefusedCredential>> {
    audit.flush().await?;
    Ok(home::refused_credentials(store, workspace, since, limit).await?)
}

/// Requests by agent and decision in buckets of `bucket_ms` that start at `from`.
pub async fn requests_over_time(
    store: &Store,
    audit: &Appender,
    workspace: WorkspaceId,
    from: UnixMillis,
    to: UnixMillis,
    bucket_ms: i64,
) -> Result<Vec<Tally>> {
    audit.flush().await?;
    Ok(audit::requests_over_time(store, workspace, from, to, bucket_ms).await?)
}

/// Recomputes the chain of the whole installation and compares it with the head kept outside the database.
pub async fn verify(state: &State) -> Result<ChainVerdict> {
    state.audit.flush().await?;
    let anchor = match &state.config.anchor {
        Some(path) => anchor::read(path).await?,
        None => None,
    };
    Ok(audit::verify(&state.store, &state.audit_keys, anchor.as_ref(), |_, _| {}).await?)
}

/// Columns of a CSV export.
const COLUMNS: [&str; 15] = [
    "seq",
    "at",
    "workspace_id",
    "kind",
    "actor",
    "actor_name",
    "credential",
    "decision",
    "method",
    "host",
    "txn_id",
    "grant_id",
    "upstream_status",
    "detail",
    "outcome",
];

/// First line of a CSV export, without its line end.
pub fn csv_head() -> String {
    COLUMNS.join(",")
}

/// An entry as a line of CSV (RFC 4180), without its line end.
pub fn to_csv(entry: &AuditEntry) -> String {
    let value = to_json(entry);
    csv::line(COLUMNS.iter().map(|column| text(&value[*column])))
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// An entry as [`to_json`] writes it.
#[derive(ToSchema)]
#[schema(example = json!({
    "seq": 812,
    "at": "2026-01-31T09:05:00.250Z",
    "workspace_id": "019c1234-5678-7abc-8def-0123456789ab",
    "kind": "request.received",
    "actor": "agent:0190a2b4-7c00-7000-8000-000000000001",
    "actor_name": "default-agent",
    "credential": "github",
    "decision": "auto",
    "method": "GET",
    "host": "api.github.com",
    "txn_id": null,
    "grant_id": null,
    "upstream_status": 200,
    "detail": {"target": "https://api.github.com:443/user", "rule": "gated_default"},
    "outcome": {"head_micros": 81_200, "total_micros": 84_900, "bytes": 1320, "redactions": 0}
}))]
#[expect(dead_code, reason = "an entry is written as JSON; this is its description")]
pub(crate) struct AuditRecord {
    /// Position in the chain.
    seq: i64,
    #[schema(value_type = Time)]
    at: String,
    #[schema(value_type = Option<Id>, required)]
    workspace_id: Option<String>,
    kind: String,
    /// For example `agent:<id>`, `user:<id>`, `cli`.
    actor: String,
    actor_name: String,
    #[schema(required)]
    credential: Option<String>,
    #[schema(required)]
    decision: Option<String>,
    #[schema(required)]
    method: Option<String>,
    #[schema(required)]
    host: Option<String>,
    #[schema(value_type = Option<Id>, required)]
    txn_id: Option<String>,
    #[schema(value_type = Option<Id>, required)]
    grant_id: Option<String>,
    #[schema(required)]
    upstream_status: Option<i64>,
    /// Further data, by kind; never a secret.
    detail: Value,
    /// Outcome of a request that was sent: `error`, `head_micros`, `total_micros`, `bytes`, `redactions`.
    #[schema(value_type = Option<Object>, required)]
    outcome: Option<Value>,
}

/// An entry as JSON, for the API and for exports.
pub fn to_json(entry: &AuditEntry) -> Value {
    let record = &entry.record.record;
    let detail = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let mut value = json!({
        "seq": entry.record.seq,
        "at": record.at.to_rfc3339(),
        "workspace_id": record.workspace_id,
        "kind": record.event.name(),
        "actor": record.actor.to_string(),
        "actor_name": record.actor_name,
        "credential": record.credential,
        "decision": record.decision.as_ref().map(StoredName::as_str),
        "method": record.method.as_ref().map(StoredName::as_str),
        "host": record.host,
        "txn_id": record.txn_id,
        "grant_id": record.grant_id,
        "upstream_status": null,
        "detail": detail(&record.detail),
        "outcome": null,
    });
    if let Some(outcome) = &entry.outcome {
        value["upstream_status"] = outcome.record.status.into();
        value["outcome"] = detail(&outcome.record.detail);
    }
    value
}
