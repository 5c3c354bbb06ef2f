//! Access and refresh tokens of connections.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ConnectionId, WorkspaceId};

use super::AgentConnectionRow;
use crate::db::{row, sql};
use crate::{Executor, Store, StoreError};

row! {
    /// A token of a connection. The token text is not stored.
    ///
    /// Refresh tokens of a connection begin with the same secret, its family. The family has a row of its own, so that a
    /// refresh token that was exchanged is recognized although its row is gone.
    pub ConnectionTokenRow: "connection_tokens", token_columns {
        /// SHA-256 of the token, hex.
        token_hash: String,
        /// Workspace of the connection.
        workspace_id: WorkspaceId,
        /// Connection that the token belongs to.
        connection_id: ConnectionId,
        /// True for a refresh token or a family, false for an access token.
        is_refresh: bool,
        /// Expiry time.
        expires_at: UnixMillis,
        /// Time of the connection's first tokens, in the row of a family. `None` in that of a token.
        used_at: Option<UnixMillis>,
    }
}

/// The agent behind a live access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHolder {
    /// SHA-256 of the agent's key, hex.
    pub key_hash: String,
    /// Name of the program.
    pub client_name: String,
}

/// Adds a token. Its hash must be new.
pub async fn insert(executor: impl Executor, new: &ConnectionTokenRow) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO connection_tokens (token_hash, workspace_id, connection_id, is_refresh, expires_at, \
         used_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
    )
    .bind(&new.token_hash)
    .bind(new.workspace_id)
    .bind(new.connection_id)
    .bind(new.is_refresh)
    .bind(new.expires_at)
    .bind(new.used_at);
    crate::db::insert(executor, query).await
}

/// The token with this hash, expired or used or not, and its connection. The token determines the workspace.
pub async fn find(
    store: &Store,
    token_hash: &str,
) -> Result<Option<(ConnectionTokenRow, AgentConnectionRow)>, StoreError> {
    let query = sql(concat!("SELECT ", token_columns!(), " FROM connection_tokens WHERE token_hash = $1"));
    let found: Option<ConnectionTokenRow> = store.optional(query.bind(token_hash)).await?;
    let Some(token) = found else { return Ok(None) };
    let connection = super::find(store, token.workspace_id, token.connection_id).await?;
    Ok(connection.map(|connection| (token, connection)))
}

/// The enabled agent behind an access token that has not expired.
pub async fn holder(
    executor: impl Executor,
    token_hash: &str,
    now: UnixMillis,
) -> Result<Option<TokenHolder>, StoreError> {
    let query = sql("SELECT agents.key_hash, agent_connections.client_name FROM connection_tokens \
         JOIN agent_connections ON agent_connections.workspace_id = connection_tokens.workspace_id \
         AND agent_connections.id = connection_tokens.connection_id \
         JOIN agents ON agents.workspace_id = agent_connections.workspace_id \
         AND agents.id = agent_connections.agent_id \
         WHERE connection_tokens.token_hash = $1 AND NOT connection_tokens.is_refresh \
         AND connection_tokens.expires_at > $2 AND agents.disabled_at IS NULL");
    let found: Option<(String, String)> = executor.optional(query.bind(token_hash).bind(now)).await?;
    Ok(found.map(|(key_hash, client_name)| TokenHolder { key_hash, client_name }))
}

/// Deletes a refresh token for its one use. At most one of several callers gets true, and none after it expired.
pub async fn consume(
    executor: impl Executor,
    workspace: WorkspaceId,
    token_hash: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM connection_tokens WHERE workspace_id = $1 AND token_hash = $2 \
         AND is_refresh AND used_at IS NULL AND expires_at > $3");
    Ok(executor.execute(query.bind(workspace).bind(token_hash).bind(now)).await? == 1)
}

/// Keeps a family until `expires_at`.
pub async fn extend(
    executor: impl Executor,
    workspace: WorkspaceId,
    token_hash: &str,
    expires_at: UnixMillis,
) -> Result<(), StoreError> {
    let query =
        sql("UPDATE connection_tokens SET expires_at = $1 WHERE workspace_id = $2 AND token_hash = $3");
    executor.execute(query.bind(expires_at).bind(workspace).bind(token_hash)).await?;
    Ok(())
}

/// Deletes one token. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    token_hash: &str,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM connection_tokens WHERE workspace_id = $1 AND token_hash = $2");
    Ok(executor.execute(query.bind(workspace).bind(token_hash)).await? == 1)
}

/// Deletes expired tokens.
pub(super) async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM connection_tokens WHERE expires_at <= $1").bind(now)).await
}
