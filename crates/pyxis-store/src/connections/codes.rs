//! Authorization codes: consents of people that are still to be exchanged for tokens.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, ConnectionId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// An authorization code. The code itself is not stored.
    pub AuthorizationCodeRow: "authorization_codes", code_columns {
        /// SHA-256 of the code, hex.
        code_hash: String,
        /// Id of the connection that the exchange creates.
        connection_id: ConnectionId,
        /// Workspace of the agent.
        workspace_id: WorkspaceId,
        /// Agent that the person chose.
        agent_id: AgentId,
        /// Client that asked.
        client_id: String,
        /// Name that the client gives itself, as the person read it.
        client_name: String,
        /// Redirect URI that the code was sent to.
        redirect_uri: String,
        /// PKCE challenge (S256).
        challenge: String,
        /// E-mail address of the person who consented.
        allowed_by: String,
        /// Expiry time.
        expires_at: UnixMillis,
        /// Time of the exchange.
        used_at: Option<UnixMillis>,
    }
}

/// Adds a code. Its hash must be new.
pub async fn insert(executor: impl Executor, new: &AuthorizationCodeRow) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO authorization_codes (code_hash, connection_id, workspace_id, agent_id, client_id, \
         client_name, redirect_uri, challenge, allowed_by, expires_at, used_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING")
        .bind(&new.code_hash)
        .bind(new.connection_id)
        .bind(new.workspace_id)
        .bind(new.agent_id)
        .bind(&new.client_id)
        .bind(&new.client_name)
        .bind(&new.redirect_uri)
        .bind(&new.challenge)
        .bind(&new.allowed_by)
        .bind(new.expires_at)
        .bind(new.used_at);
    crate::db::insert(executor, query).await
}

/// The code with this hash, used or expired or not. The code determines the workspace.
pub async fn find(
    executor: impl Executor,
    code_hash: &str,
) -> Result<Option<AuthorizationCodeRow>, StoreError> {
    let query = sql(concat!("SELECT ", code_columns!(), " FROM authorization_codes WHERE code_hash = $1"));
    executor.optional(query.bind(code_hash)).await
}

/// Uses a code up. At most one of several callers gets true, and none after it expired.
pub async fn consume(
    executor: impl Executor,
    workspace: WorkspaceId,
    code_hash: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query =
        sql("UPDATE authorization_codes SET used_at = $1 WHERE workspace_id = $2 AND code_hash = $3 \
         AND used_at IS NULL AND expires_at > $4");
    Ok(executor.execute(query.bind(now).bind(workspace).bind(code_hash).bind(now)).await? == 1)
}

/// Deletes codes by which a person let a program act. Returns their number.
pub(super) async fn remove_allowed_by(
    executor: impl Executor,
    workspace: WorkspaceId,
    email: &str,
) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM authorization_codes WHERE workspace_id = $1 AND allowed_by = $2");
    executor.execute(query.bind(workspace).bind(email)).await
}

/// Deletes codes that expired before a time.
pub(super) async fn purge(executor: impl Executor, before: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM authorization_codes WHERE expires_at <= $1").bind(before)).await
}
