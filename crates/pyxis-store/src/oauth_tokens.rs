//! Access tokens fetched with a credential, and pending OAuth connections.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, UserId, WorkspaceId};

use crate::cipher::{Aad, Sealed};
use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// Tokens from a token endpoint, for one version of a credential's secret.
    pub TokenRow: "oauth_tokens", token_columns {
        /// Credential that they belong to.
        credential_id: CredentialId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// Version of the secret that they were issued for.
        credential_version: i64,
        /// Access token and optional refresh token, sealed for [`tokens_aad`].
        sealed_tokens: Option<Sealed>,
        /// Expiry of the access token.
        expires_at: UnixMillis,
        /// Code of the problem that prevents a refresh.
        problem: Option<String>,
        /// Scope granted by the endpoint; `None` means the requested one.
        granted_scope: Option<String>,
        /// Time of the last change.
        updated_at: UnixMillis,
    }
}

row! {
    /// A pending authorization at a provider's consent page.
    pub ConnectionRow: "oauth_connections", connection_columns {
        /// SHA-256 of the `state` parameter, hex.
        state_hash: String,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// Credential to connect.
        credential_id: CredentialId,
        /// Version of the credential's secret.
        credential_version: i64,
        /// User who connects.
        user_id: UserId,
        /// PKCE verifier, sealed for [`verifier_aad`].
        sealed_verifier: Sealed,
        /// Creation time.
        created_at: UnixMillis,
        /// Expiry time.
        expires_at: UnixMillis,
    }
}

/// Associated data that binds sealed tokens to their credential.
pub fn tokens_aad(workspace: WorkspaceId, credential: CredentialId) -> Aad {
    Aad::new("oauth_tokens", "sealed_tokens", workspace, credential)
}

/// Associated data that binds a sealed verifier to its credential.
pub fn verifier_aad(workspace: WorkspaceId, credential: CredentialId) -> Aad {
    Aad::new("oauth_connections", "sealed_verifier", workspace, credential)
}

/// Stored tokens of a credential.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
) -> Result<Option<TokenRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        token_columns!(),
        " FROM oauth_tokens WHERE workspace_id = $1 AND credential_id = $2"
    ));
    executor.optional(query.bind(workspace).bind(credential)).await
}

/// Stores tokens and replaces earlier ones, unless those are for a newer version of the secret. Returns true if stored.
pub async fn put(executor: impl Executor, row: &TokenRow) -> Result<bool, StoreError> {
    let query =
        sql("INSERT INTO oauth_tokens (credential_id, workspace_id, credential_version, sealed_tokens, \
         expires_at, problem, granted_scope, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (credential_id) DO UPDATE SET credential_version = excluded.credential_version, \
         sealed_tokens = excluded.sealed_tokens, expires_at = excluded.expires_at, \
         problem = excluded.problem, granted_scope = excluded.granted_scope, updated_at = excluded.updated_at \
         WHERE oauth_tokens.workspace_id = excluded.workspace_id \
         AND oauth_tokens.credential_version <= excluded.credential_version")
        .bind(row.credential_id)
        .bind(row.workspace_id)
        .bind(row.credential_version)
        .bind(&row.sealed_tokens)
        .bind(row.expires_at)
        .bind(&row.problem)
        .bind(&row.granted_scope)
        .bind(row.updated_at);
    Ok(executor.execute(query).await? == 1)
}

/// Expires an access token immediately, if its version and expiry match, and keeps the refresh token. Returns true if
/// they matched.
pub async fn end(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
    (version, expires_at): (i64, UnixMillis),
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE oauth_tokens SET expires_at = $1, updated_at = $2 WHERE workspace_id = $3 \
         AND credential_id = $4 AND credential_version = $5 AND expires_at = $6")
    .bind(now)
    .bind(now)
    .bind(workspace)
    .bind(credential)
    .bind(version)
    .bind(expires_at);
    Ok(executor.execute(query).await? == 1)
}

/// Adds a pending connection.
pub async fn begin_connection(executor: impl Executor, row: &ConnectionRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO oauth_connections (state_hash, workspace_id, credential_id, \
         credential_version, user_id, sealed_verifier, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING")
    .bind(&row.state_hash)
    .bind(row.workspace_id)
    .bind(row.credential_id)
    .bind(row.credential_version)
    .bind(row.user_id)
    .bind(&row.sealed_verifier)
    .bind(row.created_at)
    .bind(row.expires_at);
    crate::db::insert(executor, query).await
}

/// Takes a pending connection of this user. At most one of several callers gets the row.
pub async fn take_connection(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
    state_hash: &str,
    now: UnixMillis,
) -> Result<Option<ConnectionRow>, StoreError> {
    let query = sql(concat!(
        "DELETE FROM oauth_connections WHERE workspace_id = $1 AND user_id = $2 AND state_hash = $3 \
         AND expires_at > $4 RETURNING ",
        connection_columns!()
    ));
    Ok(executor.returning(query.bind(workspace).bind(user).bind(state_hash).bind(now)).await?.pop())
}

/// Deletes expired connections of all workspaces. Returns their number.
pub async fn purge_connections(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM oauth_connections WHERE expires_at <= $1").bind(now)).await
}
