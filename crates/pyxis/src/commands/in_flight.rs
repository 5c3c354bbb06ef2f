//! `pyxis audit in-flight`: requests that were open when a standby was promoted.
//!
//! An asynchronous standby may lack the primary's last transactions. What the database says about these requests can
//! then be older than what happened: a person compares each with its upstream.

use std::time::Duration;

use anyhow::{Context, Result};
use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::audit::{self, AuditEntry, AuditFilter};
use pyxis_store::promotions;
use serde_json::{Value, json};

use super::{out, workspace};
use crate::app::App;
use crate::cli::Global;

/// Most requests without approval that are read.
const LIMIT: u32 = 1000;

pub(super) async fn list(app: &App, global: &Global, around: Option<UnixMillis>, margin: u64) -> Result<()> {
    let around = match around {
        Some(around) => around,
        None => promotions::noticed_at(&app.store)
            .await?
            .context("no promotion was noticed; name a time with --around")?,
    };
    let margin = Duration::from_secs(margin);
    let (from, to) = (around.minus(margin), around.plus(margin));
    let workspace = workspace(app, global).await?.id;
    let mut found: Vec<Value> = Vec::new();
    for row in approvals::list_in_flight(&app.store, workspace, from, to).await? {
        found.push(of_approval(&row));
    }
    let filter = AuditFilter {
        events: vec![AuditEvent::RequestReceived],
        from: Some(from),
        to: Some(to),
        rising: true,
        limit: LIMIT,
        ..AuditFilter::default()
    };
    let passed = audit::search(&app.store, workspace, &filter).await?;
    found.extend(passed.iter().filter(|entry| is_unfinished(entry)).map(of_pass));
    found.sort_by(|one, other| one["at"].as_str().cmp(&other["at"].as_str()));
    print(global, from, to, &found);
    Ok(())
}

fn print(global: &Global, from: UnixMillis, to: UnixMillis, found: &[Value]) {
    if global.json {
        out::json(&json!({ "from": from.to_rfc3339(), "to": to.to_rfc3339(), "requests": found }));
        return;
    }
    for one in found {
        let text = |name: &str| one[name].as_str().unwrap_or("-").to_owned();
        out::line(format_args!(
            "{} {} {} {} {} {} {}",
            text("at"),
            text("state"),
            text("agent"),
            text("credential"),
            text("method"),
            text("host"),
            text("txn_id")
        ));
    }
    out::line(format_args!(
        "{} between {} and {}; compare each with its upstream",
        out::count_noun(found.len(), "request"),
        from.to_rfc3339(),
        to.to_rfc3339()
    ));
}

fn of_approval(row: &ApprovalRow) -> Value {
    json!({
        "at": row.created_at.to_rfc3339(),
        "state": state(row),
        "agent": row.agent_name,
        "credential": row.credential_name,
        "method": row.method,
        "host": row.target_host,
        "txn_id": row.txn_id.to_string(),
        "decided_at": row.decided_at.map(UnixMillis::to_rfc3339),
        "attempt_at": row.attempt_at.map(UnixMillis::to_rfc3339),
        "finished_at": row.finished_at.map(UnixMillis::to_rfc3339),
        "status": row.upstream_status,
    })
}

/// State of a request, as one word.
fn state(row: &ApprovalRow) -> &str {
    match (row.state, row.forward_state) {
        (ApprovalState::Approved, ForwardState::Ready) => "approved",
        (ApprovalState::Approved, ForwardState::Sending) => "sending",
        (ApprovalState::Approved, _) => row.error.as_deref().unwrap_or("done"),
        (other, _) => other.as_str(),
    }
}

/// True if the request passed without approval and has no recorded end.
fn is_unfinished(entry: &AuditEntry) -> bool {
    let passed = matches!(entry.record.record.decision.as_deref(), Some("auto" | "grant" | "task"));
    passed && entry.outcome.is_none()
}

fn of_pass(entry: &AuditEntry) -> Value {
    let record = &entry.record.record;
    json!({
        "at": record.at.to_rfc3339(),
        "state": "passed",
        "agent": record.actor_name,
        "credential": record.credential,
        "method": record.method,
        "host": record.host,
        "txn_id": null,
        "seq": entry.record.seq,
    })
}
