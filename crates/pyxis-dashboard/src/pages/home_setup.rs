//! The setup list of the home page.

use std::time::Duration;

use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::agents;
use pyxis_store::{Store, home};

use crate::session::SignedIn;
use crate::view::home::{SetupList, SetupStep};
use crate::{Error, State};

/// Age up to which a backup counts as recent.
const RECENT: Duration = Duration::from_hours(7 * 24);

/// Steps for owners and admins, by the name under which a skipped one is stored.
const FOR_MANAGERS: [&str; 4] = ["credential", "agent", "approver", "backup"];
/// Steps for everyone.
const FOR_EVERYONE: [&str; 2] = ["passkey", "notifications"];

/// Names of the steps that the person's role can do.
pub(super) fn names(who: &SignedIn) -> Vec<&'static str> {
    let managers = if who.person.user.role.is_manager() { &FOR_MANAGERS[..] } else { &[] };
    managers.iter().chain(&FOR_EVERYONE).copied().collect()
}

/// Steps that are neither done nor skipped; `None` if there are none.
pub(super) async fn list(state: &State, who: &SignedIn) -> Result<Option<SetupList>, Error> {
    let (workspace, user) = (who.person.workspace(), who.person.user.id);
    let skipped = home::skipped_steps(&state.gateway.store, workspace, user).await.map_err(Service::from)?;
    let (mut done, mut steps) = (0, Vec::new());
    for name in names(who) {
        if is_done(state, who, name).await? {
            done += 1;
        } else if !skipped.iter().any(|one| one == name) {
            steps.push(step(&state.gateway.store, who, name).await?);
        }
    }
    let total = names(who).len();
    Ok((!steps.is_empty()).then_some(SetupList { done, total, steps }))
}

async fn is_done(state: &State, who: &SignedIn, name: &str) -> Result<bool, Error> {
    let store = &state.gateway.store;
    let (workspace, user) = (who.person.workspace(), who.person.user.id);
    let found = match name {
        "credential" => home::has_credential(store, workspace).await,
        "agent" => return has_connected_agent(&state.gateway, who).await,
        "approver" => home::has_second_approver(store, workspace).await,
        "backup" => home::last_backup(store)
            .await
            .map(|made| made.is_some_and(|at| state.gateway.now().since(at) < RECENT)),
        "passkey" => home::has_passkey(store, workspace, user).await,
        _ => match home::is_notified(store, workspace, user).await {
            Ok(false) => home::is_workspace_notified(store, workspace).await,
            known => known,
        },
    };
    Ok(found.map_err(Service::from)?)
}

/// True if an agent has sent a request. The stored times can lag, so the first agent is also looked up in memory.
async fn has_connected_agent(gateway: &pyxis_gateway::State, who: &SignedIn) -> Result<bool, Error> {
    let (store, workspace) = (&gateway.store, who.person.workspace());
    if home::has_agent_request(store, workspace).await.map_err(Service::from)? {
        return Ok(true);
    }
    match home::first_agent(store, workspace).await.map_err(Service::from)? {
        Some(id) => Ok(agents::last_seen(gateway, workspace, id).await?.is_some()),
        None => Ok(false),
    }
}

async fn step(store: &Store, who: &SignedIn, name: &'static str) -> Result<SetupStep, Error> {
    let (title, purpose, href) = match name {
        "credential" => (
            "Store a credential",
            "Agents send requests with it and never see the secret.",
            "/app/new/credential".to_owned(),
        ),
        "agent" => (
            "Connect an agent",
            "Give a program the agent's key. Done when its first request arrives.",
            connect_page(store, who).await?,
        ),
        "approver" => (
            "Add a second approver",
            "Someone else can decide while you are away. Done when they have signed in.",
            "/app/new/person".to_owned(),
        ),
        "backup" => (
            "Set up backups",
            "Set PX_BACKUP_DIR on the server, or run “pyxis backup” every day.",
            "/app/settings".to_owned(),
        ),
        "passkey" => (
            "Add a passkey",
            "Sign in and confirm decisions with your device instead of a password.",
            "/app/account".to_owned(),
        ),
        _ => (
            "Turn on notifications",
            "Learn about requests in a chat, in this browser or by webhook.",
            "/app/notifications".to_owned(),
        ),
    };
    Ok(SetupStep { name, title, purpose, href })
}

async fn connect_page(store: &Store, who: &SignedIn) -> Result<String, Error> {
    let first = home::first_agent(store, who.person.workspace()).await;
    Ok(match first.map_err(Service::from)? {
        Some(id) => format!("/app/agents/{id}/connect"),
        None => "/app/new/agent".to_owned(),
    })
}
