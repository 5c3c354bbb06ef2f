//! Functions for the interfaces in front of `/forward`: identify an agent, and explain a request.

use pyxis_core::hex;
use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_store::connections::tokens;

use crate::admin::policies;
pub use crate::admin::policies::{ExplainedRequest, Explanation};
use crate::connections::is_access_token;
use crate::error::{Error, Result};
pub use crate::requests::caller::CallerKey;
use crate::runtime::resolve::key_hash;
use crate::runtime::state::State;

/// An authenticated agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentIdentity {
    /// Its id.
    pub id: AgentId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Its name.
    pub name: String,
    /// Name of the connected program, if it came with an access token.
    pub connected_program: Option<String>,
    /// Stands for the agent's key in requests made inside this process.
    pub key: CallerKey,
}

/// The enabled agent that a bearer token belongs to: an agent key, or an access token of a connected program.
///
/// Only the MCP server calls this, so that an access token is good there and nowhere else.
pub async fn authenticate(state: &State, bearer: &str) -> Result<AgentIdentity> {
    let (key, connected_program) =
        if is_access_token(bearer) { of_token(state, bearer).await? } else { (CallerKey::of(bearer), None) };
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    state.last_used.note_agent(agent.id(), state.now());
    Ok(AgentIdentity {
        id: agent.id(),
        workspace: agent.workspace_id(),
        name: agent.row.name.clone(),
        connected_program,
        key,
    })
}

async fn of_token(state: &State, token: &str) -> Result<(CallerKey, Option<String>)> {
    let hash = hex::encode(&key_hash(token));
    let holder = tokens::holder(&state.store, &hash, state.now()).await?.ok_or(Error::InvalidKey)?;
    Ok((CallerKey::of_digest(&holder.key_hash)?, Some(holder.client_name)))
}

/// Explains a request without sending it. A credential that the agent may not use is as unknown as one
/// that does not exist.
pub async fn explain(
    state: &State,
    key: CallerKey,
    credential: &str,
    request: ExplainedRequest<'_>,
) -> Result<Explanation> {
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    let credential = agent.credential(&state.store, credential).await?;
    let (workspace, name) = (agent.workspace_id(), &credential.row.name);
    let request = ExplainedRequest { agent: Some(&agent.row.name), ..request };
    policies::explain(state, workspace, name, &request).await
}
