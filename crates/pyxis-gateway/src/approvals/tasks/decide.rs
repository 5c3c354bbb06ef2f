//! Decisions on tasks, each in one transaction with its audit record.

use pyxis_core::actor::Actor;
use pyxis_core::approval_mode::Role;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{CredentialId, TaskId};
use pyxis_core::metric;
use pyxis_core::policy::Policy;
use pyxis_core::task::{self, TaskState};
use pyxis_store::tasks::{self, TaskActionRow, TaskDecision, TaskRow, TaskStop};
use pyxis_store::{Store, StoreEvent, Tx, agents, credentials, policies};
use serde_json::{Value, json};

pub use super::trimmed::Approval;
use super::trimmed::{self, TrimmedTask};
use super::view::{self, TaskView};
use crate::approvals::announce;
use crate::approvals::reason;
use crate::credentials::redaction::Redactor;
use crate::error::{Error, Result};
use crate::identity::ceremony::VerifiedAssertion;
use crate::identity::voters::{self, Voter};
use crate::runtime::state::State;

/// Reason of a task that a person stopped. The agent does not learn who.
const STOPPED: &str = "stopped by a person";

/// Error for a decision that comes too late.
const DECIDED: Error = Error::Conflict("the task is no longer pending; reload it to see its state");

/// Approves a task, whole or in part.
///
/// # Errors
/// `NotFound`, `NotEligible`, `Conflict` for a task that is no longer pending. `InvalidField` for anything that is not
/// a part of the proposal, or that a policy does not allow in a task. `PasskeyRequired` if the policy of an action that
/// remains requires a passkey; then only a passkey ceremony approves it.
pub async fn approve(
    state: &State,
    by: (&Actor, DecisionSurface),
    id: TaskId,
    approval: &Approval,
) -> Result<TaskView> {
    approve_with(state, by, id, approval, None).await
}

/// Like [`approve`]. An assertion must be for exactly this approval, and is used up.
pub(super) async fn approve_with(
    state: &State,
    (actor, surface): (&Actor, DecisionSurface),
    id: TaskId,
    approval: &Approval,
    proof: Option<&VerifiedAssertion>,
) -> Result<TaskView> {
    let now = state.now();
    let mut change = state.audited.begin(actor).await?;
    let tx = &mut change.tx;
    let (row, actions) = read(tx, actor, id).await?;
    let all = announce::approval_subject::task_credentials(&actions);
    // Changes of these policies wait, so that tightening one also stops this task.
    policies::lock_all(tx, actor.workspace, &all).await?;
    let role = check_eligible(tx, actor, &actions).await?;
    check_waiting(&row, now)?;
    let approved = TrimmedTask::new(&row, &actions, role, approval)?;
    check_agent(tx, &row).await?;
    let needs_passkey = approve_actions(tx, &row, &actions, &approved.kept).await?;
    let digest = trimmed::digest(&row, &actions, &approved)?;
    match proof {
        Some(verified) => {
            let user = actor.user_id().ok_or(Error::Unauthenticated)?;
            verified.check_binding(&trimmed::binding(id, &digest, user))?;
            verified.record(tx, now).await?;
        }
        None if needs_passkey => {
            let url = format!("{}/app/tasks/{id}", state.config.base_url);
            return Err(Error::PasskeyRequired { url });
        }
        None => {}
    }
    let TrimmedTask { kept, length } = approved;
    let expires_at = now.plus(length);
    let decision = TaskDecision {
        state: TaskState::Approved,
        by: Some(&actor.name),
        reason: None,
        expires_at: Some(expires_at),
        passkey: proof.map(|verified| verified.row.name.as_str()),
    };
    store(state, tx, actor, id, decision, now).await?;
    let mut detail = json!({
        "task_id": id,
        "surface": surface.as_str(),
        "purpose": row.purpose,
        "agent": row.agent_name,
        "expires_at": expires_at.to_rfc3339(),
        "minutes": length.as_secs() / 60,
        "proposed_minutes": row.minutes,
        "actions": detail_of(&actions, &kept)?,
        "digest": digest,
    });
    if let Some(VerifiedAssertion { row: key, evidence, .. }) = proof {
        detail["passkey"] = json!({ "id": key.id, "name": key.name, "assertion": evidence });
    }
    change.commit(AuditEvent::TaskApproved, detail).await?;
    count_and_reload(&state.store, state.now(), actor, id, "approved").await
}

/// Denies a task, with a reason for the agent.
///
/// # Errors
/// `NotFound`, `NotEligible`, `Conflict` for a task that is no longer pending, `InvalidField` for a bad reason.
pub async fn deny(
    state: &State,
    (actor, surface): (&Actor, DecisionSurface),
    id: TaskId,
    reason: Option<String>,
) -> Result<TaskView> {
    let reason = match reason::trimmed(reason)? {
        None => None,
        Some(text) => {
            let workspace = actor.workspace;
            let redactor = Redactor::of_workspace(&state.store, &state.keyring, workspace, &[]).await?;
            Some(redactor.text(&text))
        }
    };
    let now = state.now();
    let mut change = state.audited.begin(actor).await?;
    let tx = &mut change.tx;
    let (row, actions) = read(tx, actor, id).await?;
    check_eligible(tx, actor, &actions).await?;
    check_waiting(&row, now)?;
    let decision = TaskDecision {
        state: TaskState::Denied,
        by: Some(&actor.name),
        reason: reason.as_deref(),
        expires_at: None,
        passkey: None,
    };
    store(state, tx, actor, id, decision, now).await?;
    let detail = json!({
        "task_id": id,
        "surface": surface.as_str(),
        "purpose": row.purpose,
        "agent": row.agent_name,
        "reason": reason,
    });
    change.commit(AuditEvent::TaskDenied, detail).await?;
    count_and_reload(&state.store, state.now(), actor, id, "denied").await
}

/// Stops an approved task immediately. Requests that are being sent are completed.
///
/// # Errors
/// `NotFound`, `NotEligible`, `Conflict` for a task that is not running.
pub async fn stop(
    state: &State,
    (actor, surface): (&Actor, DecisionSurface),
    id: TaskId,
) -> Result<TaskView> {
    let mut change = state.audited.begin(actor).await?;
    let tx = &mut change.tx;
    let (row, actions) = read(tx, actor, id).await?;
    // People whom a policy no longer lists may still stop a running task.
    check_rights(tx, actor, &actions).await?;
    let stop = TaskStop { reason: STOPPED, by: Some(&actor.name), now: state.now() };
    let stopped = tasks::stop(tx, actor.workspace, id, stop).await?;
    let stopped = stopped.ok_or(Error::Conflict("the task is not running; reload it to see its state"))?;
    let detail = json!({
        "task_id": id,
        "surface": surface.as_str(),
        "purpose": row.purpose,
        "agent": row.agent_name,
        "uses": stopped.uses,
        "reason": STOPPED,
    });
    change.commit(AuditEvent::TaskStopped, detail).await?;
    count_and_reload(&state.store, state.now(), actor, id, "stopped").await
}

/// Withdraws an agent's own proposed task.
pub(super) async fn withdraw(state: &State, actor: &Actor, task: &TaskView) -> Result<TaskView> {
    let (id, now) = (task.row.id, state.now());
    let mut change = state.audited.begin(actor).await?;
    let decision =
        TaskDecision { state: TaskState::Withdrawn, by: None, reason: None, expires_at: None, passkey: None };
    store(state, &mut change.tx, actor, id, decision, now).await?;
    change.commit(AuditEvent::TaskWithdrawn, json!({ "task_id": id })).await?;
    count_and_reload(&state.store, state.now(), actor, id, "withdrawn").await
}

/// Counts the outcome of a task, and reads the task again.
async fn count_and_reload(
    store: &Store,
    now: UnixMillis,
    actor: &Actor,
    id: TaskId,
    outcome: &'static str,
) -> Result<TaskView> {
    metrics::counter!(metric::TASKS.name, "outcome" => outcome).increment(1);
    view::load(store, actor.workspace, id, now).await
}

/// Stores a decision and announces it, in the same transaction. Fails if the task is no longer pending.
async fn store(
    state: &State,
    tx: &mut Tx,
    actor: &Actor,
    id: TaskId,
    decision: TaskDecision<'_>,
    now: UnixMillis,
) -> Result<()> {
    if !tasks::decide(tx, actor.workspace, id, decision, now).await? {
        return Err(DECIDED);
    }
    let (row, actions) = read(tx, actor, id).await?;
    announce::tasks::announce_decision(state, tx, &row, &actions).await?;
    tx.notify(StoreEvent::Task { workspace: actor.workspace, task: id });
    Ok(())
}

async fn read(tx: &mut Tx, actor: &Actor, id: TaskId) -> Result<(TaskRow, Vec<TaskActionRow>)> {
    let row = tasks::find(&mut *tx, actor.workspace, id).await?.ok_or(Error::not_found("task"))?;
    let actions = tasks::actions(&mut *tx, actor.workspace, id).await?;
    Ok((row, actions))
}

pub(super) fn check_waiting(row: &TaskRow, now: UnixMillis) -> Result<()> {
    if row.state.at(now, row.expires_at, false) == TaskState::Proposed { Ok(()) } else { Err(DECIDED) }
}

/// Fails unless the person may decide requests of every credential of the task. Returns the person's role.
async fn check_eligible(tx: &mut Tx, actor: &Actor, actions: &[TaskActionRow]) -> Result<Role> {
    let mut role = None;
    for action in actions {
        let policy = voters::policy_of(&mut *tx, actor.workspace, action.credential_id).await?;
        role = Some(check(tx, actor, action.credential_id, policy.as_ref()).await?);
    }
    role.ok_or(Error::Unauthenticated)
}

/// Fails unless the person has the Approve right on every credential of the task.
async fn check_rights(tx: &mut Tx, actor: &Actor, actions: &[TaskActionRow]) -> Result<()> {
    for action in actions {
        check(tx, actor, action.credential_id, None).await?;
    }
    Ok(())
}

async fn check(
    tx: &mut Tx,
    actor: &Actor,
    credential: CredentialId,
    policy: Option<&Policy>,
) -> Result<Role> {
    let user = actor.user_id().ok_or(Error::Unauthenticated)?;
    // Current rows, not those at sign-in.
    let voter = Voter::load(tx, actor.workspace, user, credential).await?.ok_or(Error::Unauthenticated)?;
    voter.check(policy)?;
    Ok(voter.user.role)
}

async fn check_agent(tx: &mut Tx, row: &TaskRow) -> Result<()> {
    // From here on, the agent is not disabled, and loses no credential, before this task can be seen.
    let agent = agents::lock(tx, row.workspace_id, row.agent_id).await?;
    if agent.is_some_and(|agent| agent.disabled_at.is_none()) {
        return Ok(());
    }
    Err(Error::Conflict("the agent is disabled or was removed, so the task cannot be used; deny it"))
}

/// Stores the numbers of uses. Returns true if the policy of an action that remains requires a passkey. Fails if a task
/// may not use its credential.
async fn approve_actions(
    tx: &mut Tx,
    row: &TaskRow,
    actions: &[TaskActionRow],
    kept: &[u32],
) -> Result<bool> {
    let mut needs_passkey = false;
    for (action, uses) in actions.iter().zip(kept) {
        let mut version = action.credential_version;
        if *uses > 0 {
            let credential = usable(tx, row, action).await?;
            version = credential.version;
            needs_passkey |= credential.passkey_required;
        }
        let place = (row.id, action.position);
        tasks::approve_action(tx, row.workspace_id, place, i64::from(*uses), version).await?;
    }
    Ok(needs_passkey)
}

/// A credential that a task may use.
struct UsableCredential {
    /// Current version.
    version: i64,
    passkey_required: bool,
}

/// The credential of an action. Fails if a task may not use it.
async fn usable(tx: &mut Tx, row: &TaskRow, action: &TaskActionRow) -> Result<UsableCredential> {
    let (workspace, position) = (row.workspace_id, action.position);
    let refuse = |why: &str| Error::field("actions", format!("action {position} cannot be approved: {why}"));
    let credential = credentials::find(&mut *tx, workspace, action.credential_id).await?;
    let credential = credential.ok_or_else(|| refuse("its credential was removed; remove the action"))?;
    if !agents::may_use(&mut *tx, workspace, row.agent_id, credential.id).await? {
        return Err(refuse("the agent may no longer use its credential; remove the action"));
    }
    let policy = voters::policy_of(&mut *tx, workspace, credential.id).await?;
    if let Some(blocker) = task::task_blocker(policy.as_ref()) {
        return Err(refuse(&format!("{blocker}; remove the action")));
    }
    let passkey_required = task::passkey_required(policy.as_ref());
    Ok(UsableCredential { version: credential.version, passkey_required })
}

fn detail_of(actions: &[TaskActionRow], kept: &[u32]) -> Result<Vec<Value>> {
    let each = actions.iter().zip(kept);
    each.map(|(action, uses)| -> Result<Value> {
        Ok(json!({
            "credential": action.credential_name,
            "method": action.method.as_str(),
            "url": action.redacted_url(),
            "content": action.shown_conditions()?,
            "max_uses": uses,
            "proposed_uses": action.proposed_uses,
        }))
    })
    .collect()
}
