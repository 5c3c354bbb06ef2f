//! Workspaces and their settings.

use pyxis_store::audit::AuditedStore;
use std::time::Duration;

use pyxis_core::approval_mode::{ApprovalMode, Role};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::WorkspaceId;
use pyxis_core::policy::MAX_TIMEOUT_SECS;
use pyxis_core::secret::SecretString;
use pyxis_store::workspaces::{self, WorkspaceRow};
use pyxis_store::{Store, StoreError, users};
use serde_json::json;

use super::agents::{self, AgentInput, AgentScope};
use super::credentials::check_name;
use super::people;
use crate::error::{Error, Result};
use crate::runtime::state::State;
use pyxis_core::actor::Actor;

/// Name of every workspace's first agent (`docs/reference/behavior/proxy.md#workspaces`).
pub const FIRST_AGENT: &str = "default-agent";
/// Allowed approval window, in seconds.
const WINDOW: std::ops::RangeInclusive<u64> = 1..=MAX_TIMEOUT_SECS;

/// A newly created workspace.
pub struct CreatedWorkspace {
    pub workspace: WorkspaceRow,
    /// Agent key of `default-agent`.
    pub agent_key: SecretString,
    /// First owner, with a sign-in link.
    pub owner: Option<(users::UserRow, SecretString)>,
}

/// Creates a workspace with its first agent and, if an address is given, its first owner.
pub async fn create(
    state: &State,
    name: &str,
    mode: ApprovalMode,
    owner: Option<&str>,
) -> Result<CreatedWorkspace> {
    check_name("name", name)?;
    let now = state.now();
    let id = WorkspaceId::new(now, &*state.entropy);
    let actor = Actor::cli(id);
    let mut change = state.audited.begin(&actor).await?;
    let new = WorkspaceRow { id, name: name.to_owned(), mode, approval_timeout_secs: None, created_at: now };
    match workspaces::insert(&mut change.tx, &new).await {
        Err(StoreError::Conflict { .. }) => return Err(Error::NameTaken(name.to_owned())),
        other => other?,
    }
    change.commit(AuditEvent::WorkspaceCreated, json!({ "name": name, "mode": mode })).await?;
    let input = AgentInput {
        name: FIRST_AGENT.to_owned(),
        rate_limit_per_hour: None,
        max_pending: None,
        credentials: AgentScope::All,
    };
    let (_, agent_key) = agents::create(state, &actor, input).await?;
    let owner = match owner {
        Some(email) => Some(people::add(state, &actor, email, Role::Owner).await?),
        None => None,
    };
    Ok(CreatedWorkspace { workspace: get(&state.store, id).await?, agent_key, owner })
}

pub async fn get(store: &Store, id: WorkspaceId) -> Result<WorkspaceRow> {
    workspaces::find(store, id).await?.ok_or(Error::not_found("workspace"))
}

/// All workspaces of the installation.
pub async fn list(store: &Store) -> Result<Vec<WorkspaceRow>> {
    Ok(workspaces::list(store).await?)
}

/// Changes the settings. `None` leaves one unchanged; `Some(None)` restores the installation's default.
pub async fn update(
    db: &AuditedStore,
    actor: &Actor,
    mode: Option<ApprovalMode>,
    window: Option<Option<Duration>>,
) -> Result<WorkspaceRow> {
    let before = get(&db.store, actor.workspace).await?;
    let mode = mode.unwrap_or(before.mode);
    let timeout = match window {
        None => before.approval_timeout_secs,
        Some(None) => None,
        Some(Some(window)) if WINDOW.contains(&window.as_secs()) => i64::try_from(window.as_secs()).ok(),
        Some(Some(_)) => {
            return Err(Error::field("approval_timeout_secs", "must be 1 second to 7 days"));
        }
    };
    let mut change = db.begin(actor).await?;
    workspaces::update_settings(&mut change.tx, actor.workspace, mode, timeout).await?;
    let detail = json!({ "default_approval_mode": mode, "approval_timeout_secs": timeout });
    change.commit(AuditEvent::SettingsChanged, detail).await?;
    get(&db.store, actor.workspace).await
}
