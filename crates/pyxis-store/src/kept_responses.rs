//! Long responses that their agent reads in parts, for a short time.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, ResponseId, WorkspaceId};

use crate::cipher::{Aad, Sealed};
use crate::db::sql;
use crate::{Executor, StoreError, Tx};

/// A response to keep.
#[derive(Clone, Debug)]
pub struct NewKeptResponse {
    /// Random identifier.
    pub id: ResponseId,
    /// Workspace of the agent.
    pub workspace: WorkspaceId,
    /// The only agent that may read it.
    pub agent: AgentId,
    /// The response, sealed for [`response_aad`].
    pub sealed: Sealed,
    /// Creation time.
    pub created_at: UnixMillis,
    /// Expiry time.
    pub expires_at: UnixMillis,
}

/// Associated data that binds a sealed response to its agent.
pub fn response_aad(workspace: WorkspaceId, agent: AgentId, id: ResponseId) -> Aad {
    Aad::new("kept_responses", "sealed_response", workspace, format_args!("{agent}/{id}"))
}

/// Keeps a response, and forgets the agent's oldest ones beyond `most`.
pub async fn insert(tx: &mut Tx, new: &NewKeptResponse, most: i64) -> Result<(), StoreError> {
    let query = sql("INSERT INTO kept_responses (id, workspace_id, agent_id, sealed_response, created_at, \
         expires_at) VALUES ($1, $2, $3, $4, $5, $6)")
    .bind(new.id)
    .bind(new.workspace)
    .bind(new.agent)
    .bind(&new.sealed)
    .bind(new.created_at)
    .bind(new.expires_at);
    tx.execute(query).await?;
    let beyond = sql("DELETE FROM kept_responses WHERE workspace_id = $1 AND agent_id = $2 AND id NOT IN \
         (SELECT id FROM kept_responses WHERE workspace_id = $1 AND agent_id = $2 \
         ORDER BY created_at DESC, id DESC LIMIT $3)");
    tx.execute(beyond.bind(new.workspace).bind(new.agent).bind(most)).await?;
    Ok(())
}

/// The agent's response with this id, unless it has expired.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    id: ResponseId,
    now: UnixMillis,
) -> Result<Option<Sealed>, StoreError> {
    let query = sql("SELECT sealed_response FROM kept_responses WHERE workspace_id = $1 AND agent_id = $2 \
         AND id = $3 AND expires_at > $4");
    let row = executor.optional(query.bind(workspace).bind(agent).bind(id).bind(now)).await?;
    Ok(row.map(|(sealed,)| sealed))
}

/// Deletes expired responses. Returns their number.
pub async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM kept_responses WHERE expires_at <= $1").bind(now)).await
}
