//! Stored credentials: plain configuration with a sealed secret.

use pyxis_core::auth::Connector;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, WorkspaceId};

use crate::cipher::{Aad, Sealed};
use crate::db::{Bind, Rows, normalize_name, readable, row, sql};
use crate::{Executor, StoreError};

row! {
    /// A stored credential.
    pub CredentialRow: "credentials", credential_columns {
        /// Unique identifier.
        id: CredentialId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// Unique in the workspace, ignoring case.
        name: String,
        /// Purpose of the credential.
        description: String,
        /// Destination of requests.
        connector: Connector,
        /// Base URL of the sidecar.
        api_base: Option<String>,
        /// Authentication method, as JSON (`pyxis_core::auth::Auth`).
        auth: Option<String>,
        /// Host patterns, as a JSON array of strings.
        allowed_hosts: String,
        /// True if plain http targets are allowed.
        allow_http: bool,
        /// Further settings, as a JSON object.
        options: String,
        /// The secret, sealed for [`secret_aad`].
        sealed_secret: Option<Sealed>,
        /// Secret version. Starts at 1 and rises with each new secret.
        version: i64,
        /// Creation time.
        created_at: UnixMillis,
        /// Time of the last change.
        updated_at: UnixMillis,
        /// Time of the last use.
        last_used_at: Option<UnixMillis>,
        /// Time of the last probe.
        verified_at: Option<UnixMillis>,
        /// HTTP status of the last probe.
        verified_status: Option<i64>,
    }
}
pub(crate) use credential_columns;

/// A stored credential to add.
#[derive(Clone, Debug)]
pub struct NewCredential {
    /// Unique identifier.
    pub id: CredentialId,
    /// Owning workspace.
    pub workspace_id: WorkspaceId,
    /// Unique in the workspace, ignoring case.
    pub name: String,
    /// Purpose of the credential.
    pub description: String,
    /// Destination of requests.
    pub connector: Connector,
    /// Base URL of the sidecar.
    pub api_base: Option<String>,
    /// Authentication method, as JSON.
    pub auth: Option<String>,
    /// Host patterns, as a JSON array of strings.
    pub allowed_hosts: String,
    /// True if plain http targets are allowed.
    pub allow_http: bool,
    /// Further settings, as a JSON object.
    pub options: String,
    /// The secret, sealed for [`secret_aad`].
    pub sealed_secret: Option<Sealed>,
    /// Creation time.
    pub created_at: UnixMillis,
}

/// Change to a credential; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct CredentialChange {
    /// New name, unique in the workspace.
    pub name: Option<String>,
    /// Purpose of the credential.
    pub description: Option<String>,
    /// Destination of requests.
    pub connector: Option<Connector>,
    /// Base URL of the sidecar; `Some(None)` removes it.
    pub api_base: Option<Option<String>>,
    /// Authentication method, as JSON; `Some(None)` removes it.
    pub auth: Option<Option<String>>,
    /// Host patterns, as a JSON array of strings.
    pub allowed_hosts: Option<String>,
    /// True allows plain http targets.
    pub allow_http: Option<bool>,
    /// Further settings, as a JSON object.
    pub options: Option<String>,
}

/// Associated data that binds a sealed secret to its credential.
pub fn secret_aad(workspace: WorkspaceId, id: CredentialId) -> Aad {
    Aad::new("credentials", "sealed_secret", workspace, id)
}

/// Adds a credential. `Conflict` if the name is taken.
pub async fn insert(executor: impl Executor, new: &NewCredential) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO credentials (id, workspace_id, name, name_folded, description, connector, api_base, \
         auth, allowed_hosts, allow_http, options, sealed_secret, version, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, $13, $13) ON CONFLICT DO NOTHING",
    )
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(&new.name)
    .bind(normalize_name(&new.name))
    .bind(&new.description)
    .bind(new.connector)
    .bind(&new.api_base)
    .bind(&new.auth)
    .bind(&new.allowed_hosts)
    .bind(new.allow_http)
    .bind(&new.options)
    .bind(&new.sealed_secret)
    .bind(new.created_at);
    crate::db::insert(executor, query).await
}

/// The credential with this id.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: CredentialId,
) -> Result<Option<CredentialRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        credential_columns!(),
        " FROM credentials WHERE workspace_id = $1 AND id = $2"
    ));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// The credential with this name, ignoring case.
pub async fn find_by_name(
    executor: impl Executor,
    workspace: WorkspaceId,
    name: &str,
) -> Result<Option<CredentialRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        credential_columns!(),
        " FROM credentials WHERE workspace_id = $1 AND name_folded = $2"
    ));
    executor.optional(query.bind(workspace).bind(normalize_name(name))).await
}

/// Credentials of a workspace, by name.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<CredentialRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        credential_columns!(),
        " FROM credentials WHERE workspace_id = $1 ORDER BY name_folded"
    ));
    Ok(readable(executor.all(query.bind(workspace)).await?))
}

/// Applies a change. Returns true if the credential exists. `Conflict` if the new name is taken.
pub async fn update(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: CredentialId,
    change: CredentialChange,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let folded = change.name.as_deref().map(normalize_name);
    let query = sql("UPDATE credentials SET updated_at = $1")
        .bind(now)
        .push_if(", name = ?", change.name)
        .push_if(", name_folded = ?", folded)
        .push_if(", description = ?", change.description)
        .push_if(", connector = ?", change.connector)
        .push_if(", api_base = ?", change.api_base)
        .push_if(", auth = ?", change.auth)
        .push_if(", allowed_hosts = ?", change.allowed_hosts)
        .push_if(", allow_http = ?", change.allow_http)
        .push_if(", options = ?", change.options)
        .push(" WHERE workspace_id = ?", workspace)
        .push(" AND id = ?", id);
    Ok(executor.execute(query).await? == 1)
}

/// Replaces the secret. Returns the new version, or `None` if the credential does not exist.
pub async fn replace_secret(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: CredentialId,
    secret: Sealed,
    now: UnixMillis,
) -> Result<Option<i64>, StoreError> {
    let query = sql("UPDATE credentials SET sealed_secret = $1, updated_at = $2, version = version + 1, \
         verified_at = NULL, verified_status = NULL WHERE workspace_id = $3 AND id = $4 RETURNING version");
    let row = executor.returning(query.bind(secret).bind(now).bind(workspace).bind(id)).await?.pop();
    Ok(row.map(|(version,)| version))
}

/// Raises the version if it is still `from`, because data fetched with the secret must now be fetched again. Returns
/// the new version, or `None` if it differed.
pub async fn raise_version(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: CredentialId,
    from: i64,
    now: UnixMillis,
) -> Result<Option<i64>, StoreError> {
    let query = sql("UPDATE credentials SET updated_at = $1, version = version + 1, verified_at = NULL, \
         verified_status = NULL WHERE workspace_id = $2 AND id = $3 AND version = $4 RETURNING version");
    let row = executor.returning(query.bind(now).bind(workspace).bind(id).bind(from)).await?.pop();
    Ok(row.map(|(version,)| version))
}

/// Removes a credential with its policy. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: CredentialId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM credentials WHERE workspace_id = $1 AND id = $2");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Records the result of probing that version of the secret.
pub async fn record_verification(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: CredentialId,
    version: i64,
    status: Option<i64>,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE credentials SET verified_at = $1, verified_status = $2 \
         WHERE workspace_id = $3 AND id = $4 AND version = $5")
    .bind(now)
    .bind(status)
    .bind(workspace)
    .bind(id)
    .bind(version);
    Ok(executor.execute(query).await? == 1)
}

/// Records last uses, collected over some time. Does not raise the generation.
pub async fn touch_used(
    executor: impl Executor,
    used: &[(CredentialId, UnixMillis)],
) -> Result<(), StoreError> {
    let rows: Rows = used.iter().map(|(id, at)| vec![at.bind(), id.bind()]).collect();
    executor.execute_each("UPDATE credentials SET last_used_at = $1 WHERE id = $2".into(), rows).await?;
    Ok(())
}
