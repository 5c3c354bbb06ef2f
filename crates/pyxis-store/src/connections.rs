//! Programs that act as an agent with OAuth tokens: each row is one person's consent, and one family of tokens.

pub mod clients;
pub mod codes;
pub mod tokens;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, ConnectionId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// A program connected to an agent.
    pub AgentConnectionRow: "agent_connections", connection_columns {
        /// Unique identifier.
        id: ConnectionId,
        /// Workspace of the agent.
        workspace_id: WorkspaceId,
        /// Agent as which the program acts.
        agent_id: AgentId,
        /// OAuth client: an id from registration, or the URL of its metadata document; `pyxis run` for a run.
        client_id: String,
        /// Name that the program gives itself, as the person read it.
        client_name: String,
        /// Host or scheme that the authorization code was sent to; `command line` for `pyxis run`.
        destination: String,
        /// E-mail address of the person who consented; `command line` for `pyxis run`.
        allowed_by: String,
        /// Time of the first tokens.
        created_at: UnixMillis,
        /// Time of the newest tokens.
        last_used_at: UnixMillis,
    }
}

/// Adds a connection. The id must be new.
pub async fn insert(executor: impl Executor, new: &AgentConnectionRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO agent_connections (id, workspace_id, agent_id, client_id, client_name, destination, \
         allowed_by, created_at, last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(new.agent_id)
    .bind(&new.client_id)
    .bind(&new.client_name)
    .bind(&new.destination)
    .bind(&new.allowed_by)
    .bind(new.created_at)
    .bind(new.last_used_at);
    crate::db::insert(executor, query).await
}

/// The connection with this id.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ConnectionId,
) -> Result<Option<AgentConnectionRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        connection_columns!(),
        " FROM agent_connections WHERE workspace_id = $1 AND id = $2"
    ));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Connections of an agent, newest first.
pub async fn list_for_agent(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
) -> Result<Vec<AgentConnectionRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        connection_columns!(),
        " FROM agent_connections WHERE workspace_id = $1 AND agent_id = $2 ORDER BY id DESC"
    ));
    executor.all(query.bind(workspace).bind(agent)).await
}

/// Records that tokens were issued.
pub async fn touch(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ConnectionId,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE agent_connections SET last_used_at = $1 WHERE workspace_id = $2 AND id = $3");
    executor.execute(query.bind(now).bind(workspace).bind(id)).await?;
    Ok(())
}

/// Ends a connection and all its tokens. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ConnectionId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM agent_connections WHERE workspace_id = $1 AND id = $2");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Ends every connection that a person allowed, with its tokens, and deletes codes that are still to be exchanged.
/// Returns the number of connections.
pub async fn remove_allowed_by(tx: &mut Tx, workspace: WorkspaceId, email: &str) -> Result<u64, StoreError> {
    codes::remove_allowed_by(&mut *tx, workspace, email).await?;
    let query = sql("DELETE FROM agent_connections WHERE workspace_id = $1 AND allowed_by = $2");
    tx.execute(query.bind(workspace).bind(email)).await
}

/// Deletes expired codes, tokens and registrations, and connections that have no token left. Used codes stay until
/// `keep_codes_after`, so that a replay is noticed.
pub async fn purge(
    executor: impl Executor + Copy,
    now: UnixMillis,
    keep_codes_after: UnixMillis,
) -> Result<(), StoreError> {
    codes::purge(executor, keep_codes_after).await?;
    tokens::purge(executor, now).await?;
    let idle = "DELETE FROM agent_connections WHERE NOT EXISTS (SELECT 1 FROM connection_tokens \
         WHERE connection_tokens.workspace_id = agent_connections.workspace_id \
         AND connection_tokens.connection_id = agent_connections.id)";
    executor.execute(sql(idle)).await?;
    clients::purge(executor, now).await?;
    Ok(())
}
