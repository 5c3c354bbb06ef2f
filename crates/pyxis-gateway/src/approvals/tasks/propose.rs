//! Proposals of agents.

use std::time::Duration;

use pyxis_core::actor::{Actor, ActorId};
use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, TaskId};
use pyxis_core::policy::{ContentCondition, Method, PolicyVerdict};
use pyxis_core::task::{self, TaskAction, TaskState, TaskUrl};
use pyxis_core::{digest, metric};
use pyxis_store::audit::{Appender, AuditRecord};
use pyxis_store::tasks::{self, TaskActionRow, TaskRow};
use pyxis_store::{Store, StoreError, StoreEvent, agents};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::approvals::announce;
use crate::config::Config;
use crate::credentials::redaction::Redactor;
use crate::credentials::requests::{authorize, limits};
use crate::error::{Error, NO_NUL, Result};
use crate::runtime::resolve::{ResolvedAgent, ResolvedCredential};
use crate::runtime::state::State;
use crate::values::ForwardMethod;

/// Maximum number of pending proposals of one agent.
const MAX_PROPOSED: i64 = 5;

/// A task that an agent proposes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TaskInput)]
pub(crate) struct Proposal {
    /// Purpose in one sentence, for the approver. 1 to 500 characters.
    #[schema(min_length = 1, max_length = 500, example = "Close the stale issues of example/site")]
    purpose: String,
    /// Requests that the task needs.
    #[schema(min_items = 1, max_items = 20)]
    actions: Vec<ProposedAction>,
    /// Length of the task from its approval, in minutes.
    #[schema(minimum = 1, maximum = 1440, example = 60)]
    minutes: u32,
}

/// One kind of request that a task needs.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TaskActionInput)]
struct ProposedAction {
    /// Name of the credential.
    #[schema(min_length = 1, example = "github")]
    credential: String,
    /// Method of the requests.
    #[schema(value_type = ForwardMethod)]
    method: String,
    /// URL pattern with a scheme and a host, without a query. `*` is one whole segment of the path. The pattern also
    /// covers everything below its path.
    #[schema(
        min_length = 1,
        max_length = 2048,
        example = "https://api.github.com/repos/example/site/issues/*"
    )]
    url: String,
    /// Conditions that the content of each request meets, such as `json /amount <= 100`, `form amount <= 100` or
    /// `graphql mutation closeIssue`. Each is at most 500 bytes. A request that does not meet them all asks as usual.
    #[serde(default)]
    #[schema(max_items = 8, example = json!(["json /state = \"closed\""]))]
    content: Vec<String>,
    /// Maximum number of requests.
    #[schema(minimum = 1, maximum = 1000, example = 20)]
    max_uses: u32,
}

/// Stores a proposed task, or finds an identical pending one of the agent.
pub(super) async fn propose(state: &State, agent: &ResolvedAgent, proposal: Proposal) -> Result<TaskRow> {
    limits::admit(&state.store, state.now(), agent).await?;
    let Proposal { purpose, actions, minutes } = proposal;
    let purpose = purpose.trim();
    let uses: Vec<u32> = actions.iter().map(|action| action.max_uses).collect();
    task::check(purpose, &uses, minutes).map_err(|(field, error)| Error::field(field, error.to_string()))?;
    if purpose.contains('\0') {
        return Err(Error::field("purpose", NO_NUL));
    }
    let mut parsed = Vec::new();
    for (index, action) in actions.into_iter().enumerate() {
        parsed.push(parse(action, &|name: &str| format!("actions[{index}].{name}"))?);
    }
    let fingerprint = fingerprint(purpose, minutes, &parsed);
    // Comes before everything that reads credentials, so that a full list ends all guesses about them.
    if let Some(duplicate) = find_duplicate(&state.store, state.now(), agent, &fingerprint).await? {
        return Ok(duplicate);
    }
    let id = TaskId::new(state.now(), &*state.entropy);
    let mut rows = Vec::new();
    for (index, action) in parsed.iter().enumerate() {
        let field = |name: &str| format!("actions[{index}].{name}");
        let credential = agent.credential(&state.store, &action.credential).await;
        let credential = credential.map_err(|error| match error {
            Error::CredentialNotFound => Error::field(
                field("credential"),
                "this agent has no such credential; GET /agent/services lists those that it can use",
            ),
            error => error,
        })?;
        check_action(&state.net, action, &credential, &field)?;
        rows.push(action_row(id, index, action, &credential));
    }
    let purpose = redact(state, agent, purpose, &mut rows).await?;
    let row = task_row(&state.config, state.now(), agent, id, Words { purpose, fingerprint }, minutes);
    store(state, agent, row, &rows).await
}

/// The identical proposal that waits. Fails if as many wait as may.
async fn find_duplicate(
    store: &Store,
    now: UnixMillis,
    agent: &ResolvedAgent,
    fingerprint: &str,
) -> Result<Option<TaskRow>> {
    let workspace = agent.workspace_id();
    let duplicate = tasks::find_proposed(store, workspace, agent.id(), fingerprint, now).await?;
    if duplicate.is_none() && tasks::count_waiting(store, workspace, agent.id(), now).await? >= MAX_PROPOSED {
        return Err(Error::TooManyTasks { limit: MAX_PROPOSED });
    }
    Ok(duplicate)
}

fn parse(action: ProposedAction, field: &impl Fn(&str) -> String) -> Result<TaskAction> {
    let method = Method::parse_http(&action.method).ok_or_else(|| {
        Error::field(field("method"), "must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
    })?;
    let url = TaskUrl::parse(&action.url).map_err(|error| Error::field(field("url"), error.to_string()))?;
    let content = task::conditions(&action.content);
    let content = content.map_err(|error| Error::field(field("content"), error.to_string()))?;
    Ok(TaskAction { credential: action.credential, method, url, content, max_uses: action.max_uses })
}

/// Refuses an action that no request could use, so that people only see usable ones. Each request is checked again.
fn check_action(
    net: &pyxis_net::Client,
    action: &TaskAction,
    credential: &ResolvedCredential,
    field: &impl Fn(&str) -> String,
) -> Result<()> {
    let refuse = |name: &str, detail: &str| Err(Error::field(field(name), detail));
    if credential.options.mcp_url.is_some() {
        return refuse(
            "credential",
            "this credential is for an MCP server, whose tools cannot be part of a task; leave it out",
        );
    }
    if let Some(blocker) = task::task_blocker(authorize::policy_of(credential)) {
        return refuse("credential", &format!("{blocker}; leave it out"));
    }
    let Some(example) = action.url.example() else {
        return refuse("url", "the URL cannot be read; write it as in https://api.example.com/v1/*/items");
    };
    let in_field = |error: Error| Error::field(field("url"), error.to_string());
    authorize::check_allowed_hosts(credential, &example).map_err(in_field)?;
    net.check_form(&authorize::host_port(&example)).map_err(|error| in_field(error.into()))?;
    if authorize::decide(credential, action.method, &example).verdict == PolicyVerdict::Deny {
        return refuse(
            "url",
            "the policy denies these requests, and a task cannot allow them; leave them out",
        );
    }
    Ok(())
}

/// Hides secrets from people: returns the purpose without them, and sets the URLs and conditions to show. A secret of a
/// credential of the task is refused, and recorded. The agent learns nothing about those of others.
async fn redact(
    state: &State,
    agent: &ResolvedAgent,
    purpose: &str,
    actions: &mut [TaskActionRow],
) -> Result<String> {
    let own: Vec<CredentialId> = actions.iter().map(|action| action.credential_id).collect();
    let workspace = agent.workspace_id();
    let redactor = Redactor::of_workspace(&state.store, &state.keyring, workspace, &own).await?;
    for (index, action) in actions.iter_mut().enumerate() {
        if redactor.has_own_secret(&action.url) {
            record_refusal(&state.audit, state.now(), agent, action);
            let detail = "the URL contains the secret of a credential of this task; leave the action out";
            return Err(Error::field(format!("actions[{index}].url"), detail));
        }
        for condition in action.conditions()? {
            if redactor.has_own_secret(&condition) {
                record_refusal(&state.audit, state.now(), agent, action);
                let detail =
                    "a condition contains the secret of a credential of this task; compare another field";
                return Err(Error::field(format!("actions[{index}].content"), detail));
            }
        }
        action.shown_url = Some(redactor.text(&action.url)).filter(|shown| *shown != action.url);
        action.shown_content = shown_content(&redactor, action)?;
    }
    Ok(redactor.text(purpose))
}

/// The conditions of an action without secrets, if they have any.
fn shown_content(redactor: &Redactor, action: &TaskActionRow) -> Result<Option<String>> {
    let conditions = action.conditions()?;
    let shown: Vec<String> = conditions.iter().map(|condition| redactor.text(condition)).collect();
    Ok((shown != conditions).then(|| json!(shown).to_string()))
}

/// Records a proposal that was refused because of a secret in it.
fn record_refusal(audit: &Appender, now: UnixMillis, agent: &ResolvedAgent, action: &TaskActionRow) {
    let mut record = AuditRecord::new(now, AuditEvent::TaskProposed);
    record.workspace_id = Some(agent.workspace_id());
    record.actor = ActorId::Agent(agent.id());
    record.actor_name.clone_from(&agent.row.name);
    record.credential = Some(action.credential_name.clone());
    record.decision = Some(AuditDecision::Refused.into());
    record.method = Some(action.method.clone());
    record.detail = json!({ "rule": "stored_secret", "action": action.position }).to_string();
    audit.append_detached(record);
}

/// Digest of the agent's own words, by which identical proposals are found. That of redacted words would tell which ones
/// were redacted.
fn fingerprint(purpose: &str, minutes: u32, actions: &[TaskAction]) -> String {
    let shape: Vec<_> = actions
        .iter()
        .map(|action| {
            let (method, url) = (action.method.as_str(), action.url.as_str());
            (&action.credential, method, url, texts(action), action.max_uses)
        })
        .collect();
    digest::sha256_hex(json!([purpose, minutes, shape]).to_string().as_bytes())
}

fn action_row(
    task: TaskId,
    index: usize,
    action: &TaskAction,
    credential: &ResolvedCredential,
) -> TaskActionRow {
    TaskActionRow {
        task_id: task,
        position: i64::try_from(index).unwrap_or(i64::MAX).saturating_add(1),
        workspace_id: credential.row.workspace_id,
        credential_id: credential.row.id,
        credential_name: credential.row.name.clone(),
        credential_version: credential.row.version,
        method: action.method.into(),
        url: action.url.as_str().to_owned(),
        content: json!(texts(action)).to_string(),
        proposed_uses: action.max_uses.into(),
        max_uses: action.max_uses.into(),
        uses: 0,
        last_used_at: None,
        shown_url: None,
        shown_content: None,
    }
}

/// The conditions of an action, as written.
fn texts(action: &TaskAction) -> Vec<&str> {
    action.content.iter().map(ContentCondition::as_str).collect()
}

/// Text of a proposal.
struct Words {
    /// The purpose as people see it.
    purpose: String,
    fingerprint: String,
}

fn task_row(
    config: &Config,
    now: UnixMillis,
    agent: &ResolvedAgent,
    id: TaskId,
    words: Words,
    minutes: u32,
) -> TaskRow {
    let of_workspace = agent.workspace.approval_timeout_secs.and_then(|secs| u64::try_from(secs).ok());
    let window = of_workspace.map_or(config.approval_timeout, Duration::from_secs);
    TaskRow {
        id,
        workspace_id: agent.workspace_id(),
        agent_id: agent.id(),
        agent_name: agent.row.name.clone(),
        purpose: words.purpose,
        fingerprint: words.fingerprint,
        state: TaskState::Proposed,
        minutes: minutes.into(),
        created_at: now,
        expires_at: now.plus(window),
        decided_at: None,
        decided_by_email: None,
        reason: None,
        stopped_by_email: None,
        ended_at: None,
        passkey: None,
    }
}

async fn store(
    state: &State,
    agent: &ResolvedAgent,
    row: TaskRow,
    actions: &[TaskActionRow],
) -> Result<TaskRow> {
    let (workspace, now) = (row.workspace_id, state.now());
    let actor = Actor::agent(workspace, agent.id(), &agent.row.name);
    let mut change = state.audited.begin(&actor).await?;
    let tx = &mut change.tx;
    // Once it is disabled or removed, its proposals are withdrawn.
    let live = agents::lock(tx, workspace, agent.id()).await?;
    if live.is_none_or(|agent| agent.disabled_at.is_some()) {
        return Err(Error::InvalidKey);
    }
    let (waiting, expired) = tasks::lock_proposals(tx, workspace, agent.id(), now).await?;
    let duplicate = tasks::find_proposed(&mut *tx, workspace, agent.id(), &row.fingerprint, now).await?;
    if let Some(duplicate) = duplicate {
        return Ok(duplicate);
    }
    if waiting >= MAX_PROPOSED {
        return Err(Error::TooManyTasks { limit: MAX_PROPOSED });
    }
    match tasks::insert(tx, &row, actions).await {
        Err(StoreError::Conflict { .. }) => {
            return Err(Error::Conflict("an identical task is being proposed right now; propose it again"));
        }
        other => other?,
    }
    announce::tasks::announce_proposal(state, tx, &row, actions).await?;
    tx.notify(StoreEvent::Task { workspace, task: row.id });
    let mut requested = Vec::new();
    for action in actions {
        requested.push(json!({
            "credential": action.credential_name,
            "method": action.method.as_str(),
            "url": action.redacted_url(),
            "content": action.shown_conditions()?,
            "max_uses": action.max_uses,
        }));
    }
    let detail = json!({
        "task_id": row.id,
        "purpose": row.purpose,
        "minutes": row.minutes,
        "actions": requested,
    });
    change.commit(AuditEvent::TaskProposed, detail).await?;
    state.work.wake_notifiers();
    state.work.expiry().notify_one();
    metrics::counter!(metric::TASKS.name, "outcome" => "expired").increment(expired);
    metrics::counter!(metric::TASKS.name, "outcome" => "proposed").increment(1);
    Ok(row)
}
