//! `pyxis mcp-tool`.

use anyhow::{Result, bail};
use pyxis_core::mcp_tool;
use pyxis_gateway::admin::{credentials, mcp_tools};
use pyxis_gateway::{Actor, Error, State};
use pyxis_store::mcp_tools::{McpToolRow, ToolMode};
use serde_json::{Value, json};

use super::{AlreadySo, acting, out};
use crate::cli::{Global, McpToolCommand, ToolPermission};

/// Characters of a fingerprint that a table shows, and the fewest that name one.
const SHORT: usize = 12;
/// Characters of a description that a table shows.
const DESCRIPTION: usize = 60;

pub(super) async fn run(global: &Global, command: McpToolCommand) -> Result<()> {
    let (app, actor) = acting(global).await?;
    let state = &app.gateway;
    match command {
        McpToolCommand::List { credential } => list(global, state, &actor, &credential.get()?).await?,
        McpToolCommand::Show { credential, tool } => {
            let row = find(state, &actor, &credential, &tool).await?;
            if global.json {
                out::json(&tool_json(&row));
            } else {
                print(&row);
            }
        }
        McpToolCommand::Refresh { credential } => {
            let credential = credential.get()?;
            if let Err(error) = mcp_tools::refresh(state, &actor, &credential).await {
                // The trail has a record of the attempt.
                state.audit.stop().await?;
                return Err(match error {
                    Error::InvalidField { .. } => anyhow::anyhow!(no_server(&credential)),
                    error => error.into(),
                });
            }
            list(global, state, &actor, &credential).await?;
        }
        McpToolCommand::Set { credential, tool, permission, fingerprint } => {
            let given = fingerprint.as_deref();
            let row = set(state, &actor, (&credential, &tool), permission, given).await?;
            let text = format_args!("{tool} of {credential}: {}", row.mode.as_str());
            out::outcome(global.json, &tool_json(&row), text);
        }
    }
    state.audit.stop().await?;
    Ok(())
}

async fn list(global: &Global, state: &State, actor: &Actor, credential: &str) -> Result<()> {
    let rows = mcp_tools::list(&state.store, actor.workspace, credential).await?;
    if rows.is_empty() {
        out::notice(no_tool(state, actor, credential).await?);
    }
    let of_table = |row| {
        let mut value = tool_json(row);
        let description = value["definition"]["description"].as_str().unwrap_or_default();
        let cut: String = description.chars().take(DESCRIPTION).collect();
        value["description"] = cut.into();
        value["fingerprint"] = row.seen_fingerprint.chars().take(SHORT).collect::<String>().into();
        value
    };
    let rows: Vec<Value> =
        if global.json { rows.iter().map(tool_json).collect() } else { rows.iter().map(of_table).collect() };
    let columns = ["name", "permission", "changed", "offered", "fingerprint", "description"];
    out::list(global.json, "tools", &columns, &rows);
    Ok(())
}

/// The tool; the error for a credential without any known tool names the next step.
async fn find(state: &State, actor: &Actor, credential: &str, tool: &str) -> Result<McpToolRow> {
    let known = mcp_tools::list(&state.store, actor.workspace, credential).await?;
    if known.is_empty() {
        bail!(no_tool(state, actor, credential).await?);
    }
    Ok(mcp_tools::get(&state.store, actor.workspace, credential, tool).await?)
}

/// Reason that no tool of a credential is known, with the next step.
async fn no_tool(state: &State, actor: &Actor, credential: &str) -> Result<String> {
    let row = credentials::get(&state.store, actor.workspace, credential).await?;
    let is_server = serde_json::from_str::<Value>(&row.options).is_ok_and(|all| all["mcp_url"].is_string());
    Ok(if is_server {
        format!("no tool of {credential} is known; `pyxis mcp-tool refresh {credential}` asks its server")
    } else {
        no_server(credential)
    })
}

fn no_server(credential: &str) -> String {
    format!("{credential} names no MCP server; enter its URL on the credential's page, under MCP tools")
}

/// The members that the API has, with `mode` under the name of the argument.
fn tool_json(row: &McpToolRow) -> Value {
    let parsed = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    json!({
        "name": row.name,
        "permission": row.mode.as_str(),
        "changed": row.has_changed(),
        "offered": row.offered,
        "fingerprint": row.seen_fingerprint,
        "definition": parsed(&row.seen_definition),
        "allowed_definition": row.allowed_definition.as_deref().map(parsed),
        "seen_at": row.seen_at.to_rfc3339(),
    })
}

/// Prints a tool for a person who decides about it.
fn print(row: &McpToolRow) {
    let value = tool_json(row);
    out::line(format_args!("name: {}", out::on_one_line(&row.name)));
    out::line(format_args!("permission: {}", row.mode.as_str()));
    out::line(format_args!("offered: {}", if row.offered { "yes" } else { "no" }));
    out::line(format_args!("fingerprint: {}", row.seen_fingerprint));
    let definition = serde_json::to_string_pretty(&value["definition"]).unwrap_or_default();
    for line in definition.lines() {
        out::line(out::on_one_line(line));
    }
    if !row.has_changed() {
        return;
    }
    out::line("changed since it was allowed:");
    let absent = || "absent".to_owned();
    for (path, before, after) in mcp_tool::differences(&value["allowed_definition"], &value["definition"]) {
        let (before, after) = (before.unwrap_or_else(absent), after.unwrap_or_else(absent));
        out::line(out::on_one_line(&format!("  {path}: {before} -> {after}")));
    }
}

/// Sets the permission for the definition that the person read.
async fn set(
    state: &State,
    actor: &Actor,
    (credential, tool): (&str, &str),
    permission: ToolPermission,
    fingerprint: Option<&str>,
) -> Result<McpToolRow> {
    let row = find(state, actor, credential, tool).await?;
    let read = format!("`pyxis mcp-tool show {credential} {tool}`");
    let seen = row.seen_fingerprint.as_str();
    match fingerprint.map(str::trim) {
        None if permission == ToolPermission::Pass => bail!(
            "pass needs --fingerprint, so that it is given for the definition that you read: {read} prints both"
        ),
        Some(given) if given.len() < SHORT => {
            bail!(
                "the fingerprint {given} is too short; give at least {SHORT} characters of the one in {read}"
            )
        }
        Some(given) if !seen.starts_with(&given.to_ascii_lowercase()) => {
            bail!("{given} is not the fingerprint of {tool}'s newest definition; read it again with {read}")
        }
        _ => {}
    }
    let mode = match permission {
        ToolPermission::Pass => ToolMode::Pass,
        ToolPermission::Ask => ToolMode::Ask,
        ToolPermission::Deny => ToolMode::Deny,
    };
    if row.mode == mode && row.allowed_fingerprint.as_deref() == Some(seen) {
        return Err(AlreadySo(format!("{tool} of {credential} is already {}", mode.as_str())).into());
    }
    match mcp_tools::set_mode(&state.audited, actor, credential, (tool, seen), mode).await {
        Err(Error::Conflict(_)) => bail!("{tool} has changed just now; read it again with {read}"),
        done => Ok(done?),
    }
}
