//! Agents and their keys.

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::Entropy;
use pyxis_store::audit::Change;
use std::collections::HashMap;

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::entropy;
use pyxis_core::hex;
use pyxis_core::id::{AgentId, CredentialId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_core::window;
use pyxis_store::agents::{self, AgentChange, AgentRow, NewAgent};
use pyxis_store::tasks::{self, TaskStop};
use pyxis_store::{Store, StoreError, Tx, credentials, grants, limits};
use serde_json::json;

use super::credentials::check_name;
use crate::approvals::tasks::{TaskEnds, withdraw_proposals};
use crate::credentials::requests::control::KEY_PREFIX;
use crate::error::{Error, Result};
use crate::runtime::resolve::key_hash;
use crate::runtime::state::State;
use pyxis_core::actor::Actor;
use pyxis_core::admin_error::Missing;
use pyxis_core::nearest::suggestion;

/// Characters of a key that stay readable, to tell keys apart.
const HINT: usize = KEY_PREFIX.len() + 6;

/// Default limit on an agent's pending requests.
pub const MAX_PENDING: u32 = 100;
/// Maximum configurable limit, more than people could decide.
const MOST_PENDING: u32 = 100_000;

/// Credentials that an agent may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentScope {
    /// All credentials of the workspace, including ones added later.
    All,
    /// Only these, by name.
    Named(Vec<String>),
}

/// Settings of a new agent.
#[derive(Clone, Debug)]
pub struct AgentInput {
    /// Unique in the workspace.
    pub name: String,
    /// Requests per hour; `None` for no limit.
    pub rate_limit_per_hour: Option<u32>,
    /// Maximum pending requests; `None` uses [`MAX_PENDING`].
    pub max_pending: Option<u32>,
    /// Credentials that it may use.
    pub credentials: AgentScope,
}

/// Change to an agent; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct AgentPatch {
    /// New name.
    pub name: Option<String>,
    /// New limit in requests per hour; `Some(None)` removes it.
    pub rate_limit_per_hour: Option<Option<u32>>,
    /// New maximum of pending requests; `Some(None)` uses [`MAX_PENDING`].
    pub max_pending: Option<Option<u32>>,
    /// New set of credentials.
    pub credentials: Option<AgentScope>,
    /// True enables, false disables.
    pub enabled: Option<bool>,
}

/// An agent with its credentials.
#[derive(Clone, Debug)]
pub struct Agent {
    pub row: AgentRow,
    /// Credentials that it may use.
    pub credentials: AgentScope,
}

/// Creates an agent. Its key is returned only here.
pub async fn create(state: &State, actor: &Actor, input: AgentInput) -> Result<(Agent, SecretString)> {
    check_name("name", &input.name)?;
    check_limit(input.rate_limit_per_hour)?;
    check_pending(input.max_pending)?;
    let key = new_key(&*state.entropy);
    let now = state.now();
    let id = AgentId::new(now, &*state.entropy);
    let mut change = state.audited.begin(actor).await?;
    let assigned = resolve_scope(&mut change.tx, actor.workspace, &input.credentials).await?;
    let new = NewAgent {
        id,
        workspace_id: actor.workspace,
        name: input.name.clone(),
        key_hash: hash_of(&key),
        key_hint: key.expose()[..HINT].to_owned(),
        rate_limit_per_hour: input.rate_limit_per_hour.map(i64::from),
        max_pending: input.max_pending.unwrap_or(MAX_PENDING).into(),
        all_credentials: input.credentials == AgentScope::All,
        created_at: now,
    };
    match agents::insert(&mut change.tx, &new, &assigned).await {
        Err(StoreError::Conflict { .. }) => return Err(Error::NameTaken(input.name)),
        other => other?,
    }
    change.commit(AuditEvent::AgentCreated, json!({ "agent": input.name, "id": id })).await?;
    Ok((get(&state.store, actor.workspace, id).await?, key))
}

pub async fn get(store: &Store, workspace: WorkspaceId, id: AgentId) -> Result<Agent> {
    let row = agents::find(store, workspace, id).await?.ok_or(Error::not_found("agent"))?;
    with_scope(store, row).await
}

/// Time of an agent's latest message, also of one that is not written yet.
pub async fn last_seen(state: &State, workspace: WorkspaceId, id: AgentId) -> Result<Option<UnixMillis>> {
    let agent = get(&state.store, workspace, id).await?;
    Ok(state.last_used.of_agent(id).max(agent.row.last_used_at))
}

/// The agent with this name, for managers: the refusal names the nearest one.
pub async fn by_name(store: &Store, workspace: WorkspaceId, name: &str) -> Result<Agent> {
    if let Some(row) = agents::find_by_name(store, workspace, name).await? {
        return with_scope(store, row).await;
    }
    let known = agents::list(store, workspace).await?;
    Err(Error::NotFound(Missing::with_name("agent", name, known.iter().map(|row| row.name.as_str()))))
}

/// All agents of a workspace.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<Agent>> {
    let mut all = Vec::new();
    for row in agents::list(store, workspace).await? {
        all.push(with_scope(store, row).await?);
    }
    Ok(all)
}

/// Requests counted against each agent's limit in the current hour.
pub async fn used_this_hour(
    store: &Store,
    workspace: WorkspaceId,
    now: UnixMillis,
) -> Result<HashMap<AgentId, i64>> {
    let used = limits::used(store, workspace, window::hour_start(now)).await?;
    Ok(used.into_iter().collect())
}

/// Changes an agent. Disabling it ends grants that cover only this agent and its tasks, and withdraws its proposed ones.
/// Tasks with a credential that it may no longer use stop as well.
pub async fn update(state: &State, actor: &Actor, id: AgentId, patch: AgentPatch) -> Result<Agent> {
    let before = get(&state.store, actor.workspace, id).await?;
    if let Some(name) = &patch.name {
        check_name("name", name)?;
    }
    check_limit(patch.rate_limit_per_hour.flatten())?;
    check_pending(patch.max_pending.flatten())?;
    let now = state.now();
    let mut change = state.audited.begin(actor).await?;
    let assigned = match &patch.credentials {
        None => None,
        Some(AgentScope::All) => Some(agents::CredentialScope::All),
        Some(named) => {
            Some(agents::CredentialScope::Only(resolve_scope(&mut change.tx, actor.workspace, named).await?))
        }
    };
    let wanted = AgentChange {
        name: patch.name.clone(),
        rate_limit_per_hour: patch.rate_limit_per_hour.map(|limit| limit.map(i64::from)),
        max_pending: patch.max_pending.map(|limit| limit.unwrap_or(MAX_PENDING).into()),
        scope: assigned,
        disabled_at: patch.enabled.map(|enabled| (!enabled).then_some(now)),
    };
    match agents::update(&mut change.tx, actor.workspace, id, wanted).await {
        Err(StoreError::Conflict { .. }) => return Err(Error::NameTaken(patch.name.unwrap_or_default())),
        other => other?,
    };
    let mut ends = TaskEnds::default();
    if let Some(AgentScope::Named(_)) = patch.credentials {
        let stop = TaskStop::after_change("credential taken from the agent", now);
        let stopped = tasks::stop_beyond_scope(&mut change.tx, actor.workspace, id, stop).await?;
        ends.add_stopped(stop.reason, stopped);
    }
    if patch.enabled == Some(false) {
        end_all(state, &mut change, &mut ends, id, "agent disabled").await?;
    }
    let event = match patch.enabled {
        Some(true) => AuditEvent::AgentEnabled,
        Some(false) => AuditEvent::AgentDisabled,
        None => AuditEvent::AgentUpdated,
    };
    ends.record(&mut change).await?;
    change.commit(event, json!({ "agent": before.row.name, "id": id })).await?;
    ends.count();
    get(&state.store, actor.workspace, id).await
}

/// Ends the grants and tasks of an agent, and withdraws its proposals.
async fn end_all(
    state: &State,
    change: &mut Change<'_>,
    ends: &mut TaskEnds,
    id: AgentId,
    reason: &str,
) -> Result<()> {
    let (workspace, now) = (change.actor.workspace, state.now());
    grants::end_for_agent(&mut change.tx, workspace, id, reason, now).await?;
    let stop = TaskStop::after_change(reason, now);
    ends.add_stopped(reason, tasks::stop_for_agent(&mut change.tx, workspace, id, stop).await?);
    ends.add_withdrawn(reason, withdraw_proposals(state, &mut change.tx, (workspace, id), reason).await?);
    Ok(())
}

/// Replaces the key. The old one stops working immediately.
pub async fn rotate(state: &State, actor: &Actor, id: AgentId) -> Result<(Agent, SecretString)> {
    let agent = get(&state.store, actor.workspace, id).await?;
    let key = new_key(&*state.entropy);
    let mut change = state.audited.begin(actor).await?;
    let hint = &key.expose()[..HINT];
    agents::set_key(&mut change.tx, actor.workspace, id, &hash_of(&key), hint).await?;
    change.commit(AuditEvent::AgentRotated, json!({ "agent": agent.row.name, "id": id })).await?;
    Ok((get(&state.store, actor.workspace, id).await?, key))
}

/// Replaces an agent's key, which no one received, with one that no one knows. [`rotate`] creates the first usable key.
pub async fn withhold_key(state: &State, actor: &Actor, name: &str) -> Result<()> {
    let agent = by_name(&state.store, actor.workspace, name).await?;
    let unknown = new_key(&*state.entropy);
    let mut change = state.audited.begin(actor).await?;
    agents::set_key(&mut change.tx, actor.workspace, agent.row.id, &hash_of(&unknown), "").await?;
    let detail = json!({ "agent": agent.row.name, "id": agent.row.id, "without_key": true });
    Ok(change.commit(AuditEvent::AgentRotated, detail).await?)
}

/// Removes an agent, its key, and grants that cover only this agent. Stops its tasks, and withdraws its proposed ones.
pub async fn remove(state: &State, actor: &Actor, id: AgentId) -> Result<()> {
    let agent = get(&state.store, actor.workspace, id).await?;
    let mut change = state.audited.begin(actor).await?;
    // No task of the agent is proposed or approved in between.
    agents::lock(&mut change.tx, actor.workspace, id).await?;
    let mut ends = TaskEnds::default();
    end_all(state, &mut change, &mut ends, id, "agent removed").await?;
    agents::remove(&mut change.tx, actor.workspace, id).await?;
    ends.record(&mut change).await?;
    change.commit(AuditEvent::AgentRemoved, json!({ "agent": agent.row.name, "id": id })).await?;
    ends.count();
    Ok(())
}

fn new_key(entropy: &dyn Entropy) -> SecretString {
    SecretString::new(entropy::token::<32>(entropy, KEY_PREFIX))
}

fn hash_of(key: &SecretString) -> String {
    hex::encode(&key_hash(key.expose()))
}

fn check_limit(limit: Option<u32>) -> Result<()> {
    match limit {
        Some(0) => Err(Error::field("rate_limit_per_hour", "must be at least 1; omit it for no limit")),
        _ => Ok(()),
    }
}

fn check_pending(limit: Option<u32>) -> Result<()> {
    match limit {
        Some(limit) if !(1..=MOST_PENDING).contains(&limit) => Err(Error::field(
            "max_pending",
            format!("must be 1 to {MOST_PENDING}; omit it for {MAX_PENDING}"),
        )),
        _ => Ok(()),
    }
}

async fn with_scope(store: &Store, row: AgentRow) -> Result<Agent> {
    if row.all_credentials {
        return Ok(Agent { row, credentials: AgentScope::All });
    }
    let ids = agents::credential_ids(store, row.workspace_id, row.id).await?;
    let all = credentials::list(store, row.workspace_id).await?;
    let names =
        all.into_iter().filter(|credential| ids.contains(&credential.id)).map(|credential| credential.name);
    Ok(Agent { credentials: AgentScope::Named(names.collect()), row })
}

async fn resolve_scope(tx: &mut Tx, workspace: WorkspaceId, scope: &AgentScope) -> Result<Vec<CredentialId>> {
    let AgentScope::Named(names) = scope else { return Ok(Vec::new()) };
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let found = credentials::find_by_name(&mut *tx, workspace, name).await?;
        let Some(found) = found else { return Err(unknown_credential(tx, workspace, name).await?) };
        if !ids.contains(&found.id) {
            ids.push(found.id);
        }
    }
    Ok(ids)
}

/// A refusal with the nearest name: who may change an agent may list the credentials.
async fn unknown_credential(tx: &mut Tx, workspace: WorkspaceId, name: &str) -> Result<Error> {
    let all = credentials::list(tx, workspace).await?;
    let suggestion = suggestion(name, all.iter().map(|row| row.name.as_str()));
    Ok(Error::field("credentials", format!("unknown credential {name}{suggestion}")))
}
