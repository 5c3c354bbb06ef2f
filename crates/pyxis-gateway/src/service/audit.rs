//! Reading the audit trail.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_store::audit::{self, AuditFilter, Entry};
use serde_json::{Value, json};

use crate::error::Result;
use crate::state::State;

/// Entries of a workspace that fit, newest first, each with its outcome.
pub async fn search(state: &State, workspace: WorkspaceId, filter: &AuditFilter) -> Result<Vec<Entry>> {
    state.audit.flush().await?;
    Ok(audit::search(&state.store, workspace, filter).await?)
}

/// Requests by decision in buckets of `bucket_ms`, for the chart.
pub async fn over_time(
    state: &State,
    workspace: WorkspaceId,
    from: UnixMillis,
    to: UnixMillis,
    bucket_ms: i64,
) -> Result<Vec<(UnixMillis, String, i64)>> {
    Ok(audit::decisions_over_time(&state.store, workspace, from, to, bucket_ms).await?)
}

/// An entry as JSON, for the API and for exports.
pub fn to_json(entry: &Entry) -> Value {
    let record = &entry.record.record;
    let detail = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let mut value = json!({
        "seq": entry.record.seq,
        "at": record.at.to_rfc3339(),
        "workspace_id": record.workspace_id,
        "kind": record.kind,
        "actor": record.actor,
        "actor_name": record.actor_name,
        "credential": record.credential,
        "decision": record.decision,
        "method": record.method,
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
