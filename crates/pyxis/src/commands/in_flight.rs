//! `pyxis audit in-flight`: requests that were open when a standby was promoted.
//!
//! An asynchronous standby may lack the primary's last transactions. What the database says about these requests can
//! then be older than what happened: a person compares each with its upstream.

use std::time::Duration;

use anyhow::{Context, Result};
use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_gateway::admin::workspaces;
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::audit::{self, AuditEntry};
use pyxis_store::{StoredName, promotions};
use serde_json::{Value, json};

use super::{out, workspace};
use crate::app::App;
use crate::cli::Global;

/// Longest time that a request without a limit of its own is taken to be open.
const LONGEST: Duration = Duration::from_hours(24);

/// Columns of a line.
const COLUMNS: [&str; 8] = ["at", "state", "workspace", "agent", "credential", "method", "host", "txn_id"];

/// The workspaces that a listing covers, by their names.
struct Scope {
    workspaces: Vec<(WorkspaceId, String)>,
    /// The only one, if the person named it.
    only: Option<WorkspaceId>,
}

impl Scope {
    async fn read(app: &App, global: &Global) -> Result<Self> {
        if global.workspace.is_some() {
            let one = workspace(app, global).await?;
            return Ok(Self { only: Some(one.id), workspaces: vec![(one.id, one.name)] });
        }
        let all = workspaces::list(&app.store).await?;
        Ok(Self { only: None, workspaces: all.into_iter().map(|one| (one.id, one.name)).collect() })
    }

    fn name(&self, id: Option<WorkspaceId>) -> Option<&str> {
        let found = self.workspaces.iter().find(|(known, _)| Some(*known) == id);
        found.map(|(_, name)| name.as_str())
    }

    /// The scope in words.
    fn describe(&self) -> String {
        match self.workspaces.as_slice() {
            [(_, name)] => format!("workspace {name}"),
            all => format!("all {}", out::count_noun(all.len(), "workspace")),
        }
    }
}

pub(super) async fn list(app: &App, global: &Global, around: Option<UnixMillis>, margin: u64) -> Result<()> {
    let around = match around {
        Some(around) => around,
        None => promotions::noticed_at(&app.store)
            .await?
            .context("no promotion was noticed; name a time with --around")?,
    };
    let margin = Duration::from_secs(margin);
    let (from, to) = (around.minus(margin), around.plus(margin));
    let scope = Scope::read(app, global).await?;
    let mut found: Vec<Value> = Vec::new();
    for (id, name) in &scope.workspaces {
        let rows = approvals::list_in_flight(&app.store, *id, from, to).await?;
        found.extend(rows.iter().map(|row| approval_json(row, name)));
    }
    let longest = LONGEST.max(app.config.websocket_time).max(app.config.response_time);
    let passed = audit::open_between(&app.store, scope.only, (from, to), longest).await?;
    found.extend(passed.iter().map(|entry| pass_json(entry, scope.name(entry.record.record.workspace_id))));
    found.sort_by(|one, other| one["at"].as_str().cmp(&other["at"].as_str()));
    print(global, from, to, &scope, &found);
    Ok(())
}

fn print(global: &Global, from: UnixMillis, to: UnixMillis, scope: &Scope, found: &[Value]) {
    if global.json {
        let names: Vec<&str> = scope.workspaces.iter().map(|(_, name)| name.as_str()).collect();
        out::json(&json!({
            "from": from.to_rfc3339(), "to": to.to_rfc3339(), "workspaces": names, "requests": found,
        }));
        return;
    }
    for one in found {
        out::line(format_args!("{}", COLUMNS.map(|name| one[name].as_str().unwrap_or("-")).join(" ")));
    }
    out::line(format_args!(
        "{} between {} and {} in {}; compare each with its upstream",
        out::count_noun(found.len(), "request"),
        from.to_rfc3339(),
        to.to_rfc3339(),
        scope.describe()
    ));
}

fn approval_json(row: &ApprovalRow, workspace: &str) -> Value {
    json!({
        "workspace": workspace,
        "at": row.created_at.to_rfc3339(),
        "state": state(row),
        "agent": row.agent_name,
        "credential": row.credential_name,
        "method": row.method.as_str(),
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

/// A request that passed without approval: still open, as far as the trail tells, or of unknown outcome.
fn pass_json(entry: &AuditEntry, workspace: Option<&str>) -> Value {
    let record = &entry.record.record;
    json!({
        "workspace": workspace,
        "at": record.at.to_rfc3339(),
        "state": if entry.outcome.is_some() { "outcome_unknown" } else { "passed" },
        "agent": record.actor_name,
        "credential": record.credential,
        "method": record.method.as_ref().map(StoredName::as_str),
        "host": record.host,
        "txn_id": record.txn_id.map(|txn| txn.to_string()),
        "seq": entry.record.seq,
        "finished_at": entry.outcome.as_ref().map(|outcome| outcome.record.at.to_rfc3339()),
    })
}
