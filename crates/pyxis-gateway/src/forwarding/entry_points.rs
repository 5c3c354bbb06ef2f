//! Functions for the interfaces in front of `/forward`: identify an agent, and explain a request.

use pyxis_core::id::{AgentId, WorkspaceId};

use crate::admin::policies;
pub use crate::admin::policies::{ExplainedRequest, Explanation};
use crate::error::Result;
use crate::runtime::state::State;

/// An agent, known by its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentIdentity {
    /// Its id.
    pub id: AgentId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Its name.
    pub name: String,
}

/// The enabled agent that a key belongs to.
pub async fn authenticate(state: &State, key: &str) -> Result<AgentIdentity> {
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    state.last_used.note_agent(agent.id(), state.now());
    Ok(AgentIdentity { id: agent.id(), workspace: agent.workspace_id(), name: agent.row.name.clone() })
}

/// Explains a request without sending it. A credential that the agent may not use is as unknown as one
/// that does not exist.
pub async fn explain(
    state: &State,
    key: &str,
    credential: &str,
    request: ExplainedRequest<'_>,
) -> Result<Explanation> {
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    let credential = agent.credential(&state.store, credential).await?;
    let (workspace, name) = (agent.workspace_id(), &credential.row.name);
    let request = ExplainedRequest { agent: Some(&agent.row.name), ..request };
    policies::explain(state, workspace, name, &request).await
}
