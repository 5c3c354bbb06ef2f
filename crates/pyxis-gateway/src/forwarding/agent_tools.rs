//! Tools of MCP servers that an agent may use: their list, and the target of a call.

use std::sync::Arc;

use futures_util::future::join_all;
use pyxis_core::actor::ActorId;
use pyxis_core::mcp_tool;
use pyxis_store::mcp_tools::{self, ToolMode};
use pyxis_store::{Store, agents, credentials};
use serde_json::Value;

pub use crate::credentials::mcp_servers::message;
use crate::credentials::mcp_servers::{self, Asker};
use crate::credentials::requests::caller::CallerKey;
use crate::error::{Error, Result};
use crate::runtime::resolve::{ResolvedAgent, ResolvedCredential};
use crate::runtime::state::State;

/// Servers asked for a list. Further ones are left out.
const MAX_SERVERS: usize = 32;
/// Tools in a list. Further ones are left out.
const MAX_LISTED: usize = 256;

/// A tool that is offered to an agent.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    /// Name under which the agent calls it.
    pub name: String,
    /// Definition as its server gives it, without invisible characters.
    pub definition: Value,
}

/// Place to which a call of a tool is sent.
#[derive(Clone, Debug)]
pub struct ToolTarget {
    /// Name of the credential.
    pub credential: String,
    /// URL of its server.
    pub url: String,
    /// Name of the tool on its server.
    pub tool: String,
}

/// The tools of every MCP server that the agent may use, by name. A server that fails is left out.
pub async fn offered(state: &State, key: CallerKey) -> Result<Vec<OfferedTool>> {
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    let servers = servers(&state.store, &agent).await?;
    let asker = asker(&agent);
    let lists = join_all(servers.iter().map(|server| of_server(state, server, &asker))).await;
    let mut offered: Vec<OfferedTool> = lists.into_iter().flatten().collect();
    offered.truncate(MAX_LISTED);
    Ok(offered)
}

async fn servers(store: &Store, agent: &ResolvedAgent) -> Result<Vec<Arc<ResolvedCredential>>> {
    let (workspace, mut servers) = (agent.workspace_id(), Vec::new());
    for row in credentials::list(store, workspace).await? {
        // The members of the options are few; this spares most credentials the rest.
        let is_server = row.options.contains("\"mcp_url\"");
        if is_server && agents::may_use(store, workspace, agent.id(), row.id).await? {
            servers.push(agent.credential(store, &row.name).await?);
        }
    }
    servers.truncate(MAX_SERVERS);
    Ok(servers)
}

async fn of_server(state: &State, server: &ResolvedCredential, asker: &Asker) -> Vec<OfferedTool> {
    let row = &server.row;
    let listed = match mcp_servers::tools(state, server, asker).await {
        Ok(listed) => listed,
        Err(error) => {
            tracing::warn!(credential = row.name, %error, "an MCP server does not list its tools");
            return Vec::new();
        }
    };
    let known = match mcp_tools::list(&state.store, row.workspace_id, row.id).await {
        Ok(known) => known,
        Err(error) => {
            tracing::warn!(credential = row.name, %error, "cannot read the permissions of tools");
            return Vec::new();
        }
    };
    let is_denied = |name: &str| known.iter().any(|tool| tool.name == name && tool.mode == ToolMode::Deny);
    let offered = listed.tools.iter().filter(|tool| !is_denied(&tool.name)).filter_map(|tool| {
        let name = mcp_tool::prefixed(&row.name, &tool.name)?;
        Some(OfferedTool { name, definition: tool.shown.clone() })
    });
    offered.collect()
}

/// The place of a tool that the agent may use and that its server offers. Its newest definition is known by then.
pub async fn target(state: &State, key: CallerKey, name: &str) -> Result<ToolTarget> {
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    let (credential, tool) = mcp_tool::parts(name).ok_or(Error::not_found("tool"))?;
    let credential = agent.credential(&state.store, credential).await?;
    let url = credential.options.mcp_url.clone().ok_or(Error::not_found("tool"))?;
    let listed = mcp_servers::tools(state, &credential, &asker(&agent)).await?;
    if !listed.tools.iter().any(|known| known.name == tool) {
        return Err(Error::not_found("tool"));
    }
    Ok(ToolTarget { credential: credential.row.name.clone(), url, tool: tool.to_owned() })
}

fn asker(agent: &ResolvedAgent) -> Asker {
    Asker { actor: ActorId::Agent(agent.id()), name: agent.row.name.clone() }
}
