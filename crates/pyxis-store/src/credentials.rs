//! Stored credentials: configuration in the clear, the secret sealed.

use pyxis_core::auth::Connector;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, WorkspaceId};

use crate::cipher::{Aad, Sealed};
use crate::db::{Bind, Rows, fold, row, sql};
use crate::{Executor, StoreError};

row! {
    /// A credential.
    pub CredentialRow: "credentials", credential_columns {
        /// Identifier.
        id: CredentialId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// Name, unique in the workspace whatever its case.
        name: String,
        /// What it is for.
        description: String,
        /// Where requests go.
        connector: Connector,
        /// Address of the sidecar.
        api_base: Option<String>,
        /// How the secret is attached, as JSON (`pyxis_core::auth::Auth`).
        auth: Option<String>,
        /// Host patterns, as a JSON array of strings.
        allowed_hosts: String,
        /// True if plain http targets are accepted.
        allow_http: bool,
        /// Further settings, as a JSON object.
        options: String,
        /// The secret, sealed for [`secret_aad`].
        sealed_secret: Option<Sealed>,
        /// Starts at 1 and rises with every new secret.
        version: i64,
        /// Creation.
        created_at: UnixMillis,
        /// Last change.
        updated_at: UnixMillis,
        /// Last use.
        last_used_at: Option<UnixMillis>,
        /// Last probe.
        verified_at: Option<UnixMillis>,
        /// HTTP status of the last probe.
        verified_status: Option<i64>,
    }
}

/// A credential to add.
#[derive(Clone, Debug)]
pub struct NewCredential {
    /// Identifier.
    pub id: CredentialId,
    /// Workspace.
    pub workspace_id: WorkspaceId,
    /// Name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where requests go.
    pub connector: Connector,
    /// Address of the sidecar.
    pub api_base: Option<String>,
    /// How the secret is attached, as JSON.
    pub auth: Option<String>,
    /// Host patterns, as a JSON array of strings.
    pub allowed_hosts: String,
    /// True if plain http targets are accepted.
    pub allow_http: bool,
    /// Further settings, as a JSON object.
    pub options: String,
    /// The secret, sealed for [`secret_aad`].
    pub sealed_secret: Option<Sealed>,
    /// Creation.
    pub created_at: UnixMillis,
}

/// What to change; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct CredentialChange {
    /// Name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Where requests go.
    pub connector: Option<Connector>,
    /// Address of the sidecar.
    pub api_base: Option<Option<String>>,
    /// How the secret is attached, as JSON.
    pub auth: Option<Option<String>>,
    /// Host patterns, as a JSON array of strings.
    pub allowed_hosts: Option<String>,
    /// Whether plain http targets are accepted.
    pub allow_http: Option<bool>,
    /// Further settings, as a JSON object.
    pub options: Option<String>,
}

/// What a credential's secret is sealed for.
pub fn secret_aad(workspace: WorkspaceId, id: CredentialId) -> Aad {
    Aad::new("credentials", "sealed_secret", workspace, id)
}

/// Adds a credential. `Conflict` when the name is taken.
pub async fn insert(executor: impl Executor, new: &NewCredential) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO credentials (id, workspace_id, name, name_folded, description, connector, api_base, \
         auth, allowed_hosts, allow_http, options, sealed_secret, version, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, $13, $13) ON CONFLICT DO NOTHING",
    )
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(&new.name)
    .bind(fold(&new.name))
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

/// The credential.
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

/// The credential of a name, whatever its case.
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
    executor.optional(query.bind(workspace).bind(fold(name))).await
}

/// The credentials of a workspace by name.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<CredentialRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        credential_columns!(),
        " FROM credentials WHERE workspace_id = $1 ORDER BY name_folded"
    ));
    executor.all(query.bind(workspace)).await
}

/// Applies a change; whether the credential exists. `Conflict` when the new name is taken.
pub async fn update(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: CredentialId,
    change: CredentialChange,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let folded = change.name.as_deref().map(fold);
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

/// Replaces the secret; the new version, or `None` when the credential does not exist.
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

/// Raises the version where it is still `from`: what was fetched with the secret is another secret now. The
/// new version, or `None` where it is not.
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

/// Removes a credential with its policy; whether it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: CredentialId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM credentials WHERE workspace_id = $1 AND id = $2");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Notes the outcome of a probe of that version of the secret.
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

/// Notes last uses, gathered over some time. Does not raise the generation.
pub async fn touch_used(
    executor: impl Executor,
    used: &[(CredentialId, UnixMillis)],
) -> Result<(), StoreError> {
    let rows: Rows = used.iter().map(|(id, at)| vec![at.bind(), id.bind()]).collect();
    executor.execute_each("UPDATE credentials SET last_used_at = $1 WHERE id = $2".into(), rows).await?;
    Ok(())
}
