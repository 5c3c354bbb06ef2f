//! `pyxis agent`.

use anyhow::Result;
use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::agents::{self, Agent, AgentInput, AgentPatch, AgentScope};
use pyxis_gateway::admin::credentials;
use pyxis_gateway::{Actor, State};
use serde_json::{Value, json};

use super::confirm::confirm;
use super::{AlreadySo, acting, out};
use crate::app::App;
use crate::cli::{AgentCommand, Global};

pub(super) async fn run(global: &Global, command: AgentCommand) -> Result<()> {
    let (app, actor) = acting(global).await?;
    let state = &app.gateway;
    match command {
        AgentCommand::Add { name, rate_limit_per_hour, max_pending, credentials } => {
            let name = name.get()?;
            let credentials = scope(credentials);
            let input = AgentInput { name, rate_limit_per_hour, max_pending, credentials };
            let (agent, key) = agents::create(state, &actor, input).await?;
            print_key(global.json, &agent, &key);
            if !global.json {
                let may_use = scope_text(state, &agent).await?;
                out::notice(format_args!(
                    "{may_use}; to change that: `pyxis agent set-credentials`, or its page on the dashboard"
                ));
            }
        }
        AgentCommand::Limit { name, rate_limit_per_hour, max_pending } => {
            let name = name.get()?;
            let agent = agents::by_name(&state.store, actor.workspace, &name).await?;
            let patch = AgentPatch {
                rate_limit_per_hour: rate_limit_per_hour.map(|limit| (limit > 0).then_some(limit)),
                max_pending: max_pending.map(Some),
                ..AgentPatch::default()
            };
            let agent = agents::update(state, &actor, agent.row.id, patch).await?;
            if global.json {
                out::json(&agent_json(&agent));
            } else {
                let hourly = agent.row.rate_limit_per_hour.map(|limit| out::count_noun(limit, "request"));
                out::line(format_args!(
                    "{name}: {} per hour, {}",
                    hourly.as_deref().unwrap_or("unlimited requests"),
                    out::count_noun(agent.row.max_pending, "pending approval")
                ));
            }
        }
        AgentCommand::SetCredentials { name, credentials, all: _ } => {
            let agent = agents::by_name(&state.store, actor.workspace, &name.get()?).await?;
            let patch = AgentPatch { credentials: Some(scope(credentials)), ..AgentPatch::default() };
            let agent = agents::update(state, &actor, agent.row.id, patch).await?;
            if global.json {
                out::json(&agent_json(&agent));
            } else {
                out::line(scope_text(state, &agent).await?);
            }
        }
        AgentCommand::List => {
            let rows: Vec<_> =
                agents::list(&state.store, actor.workspace).await?.iter().map(agent_json).collect();
            let columns = [
                "name",
                "enabled",
                "rate_limit_per_hour",
                "max_pending",
                "credentials",
                "key_hint",
                "last_used_at",
            ];
            out::list(global.json, "agents", &columns, &rows);
        }
        AgentCommand::Show { name } => {
            let agent = agents::by_name(&state.store, actor.workspace, &name.get()?).await?;
            let mut value = agent_json(&agent);
            value["created_at"] = agent.row.created_at.to_rfc3339().into();
            out::record(global.json, &value);
        }
        AgentCommand::Enable { name } => set_enabled(&app, &actor, &name.get()?, true, global.json).await?,
        AgentCommand::Disable { name } => set_enabled(&app, &actor, &name.get()?, false, global.json).await?,
        AgentCommand::Rotate { name } => {
            let agent = agents::by_name(&state.store, actor.workspace, &name.get()?).await?;
            let (agent, key) = agents::rotate(state, &actor, agent.row.id).await?;
            print_key(global.json, &agent, &key);
        }
        AgentCommand::Remove { name, confirmation } => {
            let agent = agents::by_name(&state.store, actor.workspace, &name.get()?).await?;
            confirm(confirmation, &format!("remove the agent {} and its key", agent.row.name))?;
            agents::remove(state, &actor, agent.row.id).await?;
            if global.json {
                out::json(&json!({ "removed": agent.row.name }));
            } else {
                out::line(format_args!("removed {}", agent.row.name));
            }
        }
    }
    app.gateway.audit.stop().await?;
    Ok(())
}

/// These credentials, or all if none is named.
fn scope(names: Vec<String>) -> AgentScope {
    if names.is_empty() { AgentScope::All } else { AgentScope::Named(names) }
}

async fn set_enabled(app: &App, actor: &Actor, name: &str, enabled: bool, as_json: bool) -> Result<()> {
    let agent = agents::by_name(&app.gateway.store, actor.workspace, name).await?;
    if agent.row.disabled_at.is_none() == enabled {
        return Err(already(name, enabled).into());
    }
    let patch = AgentPatch { enabled: Some(enabled), ..AgentPatch::default() };
    let agent = agents::update(&app.gateway, actor, agent.row.id, patch).await?;
    if as_json {
        out::json(&agent_json(&agent));
    } else {
        out::line(format_args!("{name} is {}", if enabled { "enabled" } else { "disabled" }));
    }
    Ok(())
}

fn already(name: &str, enabled: bool) -> AlreadySo {
    AlreadySo(format!("{name} is already {}", if enabled { "enabled" } else { "disabled" }))
}

fn agent_json(agent: &Agent) -> Value {
    json!({
        "id": agent.row.id,
        "name": agent.row.name,
        "enabled": agent.row.disabled_at.is_none(),
        "rate_limit_per_hour": agent.row.rate_limit_per_hour,
        "max_pending": agent.row.max_pending,
        "credentials": match &agent.credentials {
            AgentScope::All => json!("all"),
            AgentScope::Named(names) => json!(names),
        },
        "key_hint": agent.row.key_hint,
        "last_used_at": agent.row.last_used_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
    })
}

fn print_key(as_json: bool, agent: &Agent, key: &SecretString) {
    if as_json {
        let mut value = agent_json(agent);
        value["key"] = key.expose().as_str().into();
        out::json(&value);
    } else {
        out::line(format_args!("key of {} (shown once): {}", agent.row.name, key.expose()));
    }
}

/// Credentials that an agent may use, as a sentence.
async fn scope_text(state: &State, agent: &Agent) -> Result<String> {
    let name = &agent.row.name;
    if let AgentScope::Named(names) = &agent.credentials {
        return Ok(format!("{name} may use only {}", names.join(", ")));
    }
    let all = credentials::list(&state.store, agent.row.workspace_id).await?;
    let names: Vec<&str> = all.iter().map(|row| row.name.as_str()).collect();
    let now = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
    Ok(format!("{name} may use all credentials, including ones added later (now: {now})"))
}
