//! `pyxis bootstrap --reissue`: new keys in place of those that no one received.
//!
//! A bootstrap that is killed between its commits and its output leaves keys that no one knows, or a part of what it
//! makes. Keys that were used are left alone: someone has them.

use anyhow::{Context, Result, bail};
use pyxis_core::actor::Actor;
use pyxis_core::approval_mode::Role;
use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::agents::{self, AgentInput, AgentScope};
use pyxis_gateway::admin::sessions::{self, LinkHolder};
use pyxis_gateway::admin::{people, workspaces};
use pyxis_scoring::service::{api_keys, scorers};
use pyxis_store::users::UserRow;
use pyxis_store::workspaces::WorkspaceRow;

use super::{DEFAULT_OWNER, FIRST_WORKSPACE, First, api_key_input, scorer_input};
use crate::app::App;

/// Completes the first workspace and replaces its unused keys; those in use are `None`. The owner gets another session
/// token and link, and unused ones stop working.
pub(super) async fn reissue(app: &App, all: Vec<WorkspaceRow>, owner_email: Option<&str>) -> Result<First> {
    let Some(workspace) = all.into_iter().find(|workspace| workspace.name == FIRST_WORKSPACE) else {
        bail!(
            "there is no workspace named {FIRST_WORKSPACE}; replace keys with `pyxis agent rotate` instead"
        );
    };
    let actor = Actor::cli(workspace.id);
    // First, because it may refuse.
    let (owner, owner_link) = owner(app, &actor, owner_email).await?;
    let agent_key = agent_key(app, &actor).await?;
    let session =
        sessions::open(&app.gateway, &owner, LinkHolder::Bearer, sessions::SESSION_LIFETIME).await?;
    let scorer = match scorers::list(&app.store, workspace.id, app.scoring.now()).await?.into_iter().next() {
        Some(scorer) => scorer.id,
        None => scorers::create(&app.scoring.audited, &actor, scorer_input()).await?.id,
    };
    let api_key = api_key(app, &actor).await?;
    Ok(First {
        workspace,
        owner_email: owner.email,
        owner_session_token: session.token,
        owner_link,
        agent_key,
        scorer,
        api_key,
    })
}

async fn agent_key(app: &App, actor: &Actor) -> Result<Option<SecretString>> {
    let state = &app.gateway;
    let all = agents::list(&state.store, actor.workspace).await?;
    let Some(agent) = all.into_iter().find(|agent| agent.row.name == workspaces::FIRST_AGENT) else {
        let input = AgentInput {
            name: workspaces::FIRST_AGENT.to_owned(),
            rate_limit_per_hour: None,
            max_pending: None,
            credentials: AgentScope::All,
        };
        return Ok(Some(agents::create(state, actor, input).await?.1));
    };
    if agent.row.last_used_at.is_some() {
        return Ok(None);
    }
    Ok(Some(agents::rotate(state, actor, agent.row.id).await?.1))
}

/// The named or first owner with a new sign-in link.
async fn owner(app: &App, actor: &Actor, email: Option<&str>) -> Result<(UserRow, SecretString)> {
    let state = &app.gateway;
    let people = people::list(&state.store, actor.workspace).await?;
    if people.is_empty() {
        return Ok(people::add(state, actor, email.unwrap_or(DEFAULT_OWNER), Role::Owner).await?);
    }
    let mut owners = people.into_iter().filter(|user| user.role == Role::Owner && user.disabled_at.is_none());
    let owner = match email {
        None => owners.next(),
        Some(email) => {
            Some(owners.find(|user| user.email.eq_ignore_ascii_case(email)).with_context(|| {
                format!("--owner-email: no owner with the address {email} can sign in; nothing was changed")
            })?)
        }
    };
    let owner = owner.context("no owner can sign in; add one with `pyxis user add --role owner`")?;
    let link = people::replace_unused_access(state, actor, owner.id).await?;
    Ok((owner, link))
}

/// A new API key, unless one of this name is in use. Unused ones are revoked.
async fn api_key(app: &App, actor: &Actor) -> Result<Option<SecretString>> {
    let all = api_keys::list(&app.store, actor.workspace).await?;
    let mut is_used = false;
    for key in all.iter().filter(|key| key.name == FIRST_WORKSPACE && key.revoked_at.is_none()) {
        if key.last_used_at.is_some() {
            is_used = true;
        } else {
            api_keys::revoke(&app.scoring.audited, actor, key.id).await?;
        }
    }
    if is_used {
        return Ok(None);
    }
    Ok(Some(api_keys::create(&app.scoring, actor, api_key_input()).await?.1))
}
