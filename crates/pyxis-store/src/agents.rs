//! Agents. Each has one agent key.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, WorkspaceId};

use crate::db::{Bind, Rows, normalize_name, row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// An agent. The key itself is not stored.
    pub AgentRow: "agents", agent_columns {
        /// Unique identifier.
        id: AgentId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// Unique in the workspace, ignoring case.
        name: String,
        /// SHA-256 of the key, hex.
        key_hash: String,
        /// First characters of the key; empty until someone received a key.
        key_hint: String,
        /// Requests per hour; `None` for no limit.
        rate_limit_per_hour: Option<i64>,
        /// Maximum requests that may be pending at once.
        max_pending: i64,
        /// True if the agent may use every credential of the workspace.
        all_credentials: bool,
        /// Time when the agent was disabled; `None` while enabled.
        disabled_at: Option<UnixMillis>,
        /// Creation time.
        created_at: UnixMillis,
        /// Time of the last request.
        last_used_at: Option<UnixMillis>,
    }
}
pub(crate) use agent_columns;

impl AgentRow {
    /// True if someone received its key.
    pub const fn has_key(&self) -> bool {
        !self.key_hint.is_empty()
    }
}

/// An agent to add.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// Unique identifier.
    pub id: AgentId,
    /// Owning workspace.
    pub workspace_id: WorkspaceId,
    /// Unique in the workspace, ignoring case.
    pub name: String,
    /// SHA-256 of the key, hex.
    pub key_hash: String,
    /// First characters of the key.
    pub key_hint: String,
    /// Requests per hour; `None` for no limit.
    pub rate_limit_per_hour: Option<i64>,
    /// Maximum requests that may be pending at once.
    pub max_pending: i64,
    /// True if the agent may use every credential of the workspace.
    pub all_credentials: bool,
    /// Creation time.
    pub created_at: UnixMillis,
}

/// Credentials that an agent may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialScope {
    /// Every credential of the workspace, including ones added later.
    All,
    /// Only these.
    Only(Vec<CredentialId>),
}

/// Change to an agent; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct AgentChange {
    /// New name, unique in the workspace.
    pub name: Option<String>,
    /// Requests per hour; `Some(None)` removes the limit.
    pub rate_limit_per_hour: Option<Option<i64>>,
    /// Maximum requests that may be pending at once.
    pub max_pending: Option<i64>,
    /// `Some(Some(now))` disables, `Some(None)` enables.
    pub disabled_at: Option<Option<UnixMillis>>,
    /// Credentials that replace the current ones.
    pub scope: Option<CredentialScope>,
}

/// Adds an agent and its credentials. `Conflict` if the name is taken, `Reference` if a credential belongs to another
/// workspace.
pub async fn insert(tx: &mut Tx, new: &NewAgent, credentials: &[CredentialId]) -> Result<(), StoreError> {
    let query = sql("INSERT INTO agents (id, workspace_id, name, name_folded, key_hash, key_hint, \
         rate_limit_per_hour, max_pending, all_credentials, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(&new.name)
    .bind(normalize_name(&new.name))
    .bind(&new.key_hash)
    .bind(&new.key_hint)
    .bind(new.rate_limit_per_hour)
    .bind(new.max_pending)
    .bind(new.all_credentials)
    .bind(new.created_at);
    crate::db::insert(&mut *tx, query).await?;
    allow(tx, new.workspace_id, new.id, credentials).await
}

/// The agent with this id.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: AgentId,
) -> Result<Option<AgentRow>, StoreError> {
    let query = sql(concat!("SELECT ", agent_columns!(), " FROM agents WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// The agent with this id. It is not changed or removed by others until the transaction ends.
pub async fn lock(tx: &mut Tx, workspace: WorkspaceId, id: AgentId) -> Result<Option<AgentRow>, StoreError> {
    // On SQLite a transaction has exclusive write access.
    let lock = if tx.is_sqlite() { "" } else { " FOR NO KEY UPDATE" };
    let query = sql(concat!("SELECT ", agent_columns!(), " FROM agents WHERE workspace_id = $1 AND id = $2"));
    tx.optional(query.bind(workspace).bind(id).append(lock)).await
}

/// The agent with this name, ignoring case.
pub async fn find_by_name(
    executor: impl Executor,
    workspace: WorkspaceId,
    name: &str,
) -> Result<Option<AgentRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        agent_columns!(),
        " FROM agents WHERE workspace_id = $1 AND name_folded = $2"
    ));
    executor.optional(query.bind(workspace).bind(normalize_name(name))).await
}

/// The agent with this key hash, disabled or not. The key determines the workspace.
pub async fn find_by_key_hash(
    executor: impl Executor,
    key_hash: &str,
) -> Result<Option<AgentRow>, StoreError> {
    let query = sql(concat!("SELECT ", agent_columns!(), " FROM agents WHERE key_hash = $1"));
    executor.optional(query.bind(key_hash)).await
}

/// Agents of a workspace, oldest first.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<AgentRow>, StoreError> {
    let query = sql(concat!("SELECT ", agent_columns!(), " FROM agents WHERE workspace_id = $1 ORDER BY id"));
    executor.all(query.bind(workspace)).await
}

/// Applies a change. Returns true if the agent exists. `Conflict` if the new name is taken.
pub async fn update(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: AgentId,
    change: AgentChange,
) -> Result<bool, StoreError> {
    let folded = change.name.as_deref().map(normalize_name);
    let all = change.scope.as_ref().map(|scope| *scope == CredentialScope::All);
    let query = sql("UPDATE agents SET id = id")
        .push_if(", name = ?", change.name)
        .push_if(", name_folded = ?", folded)
        .push_if(", rate_limit_per_hour = ?", change.rate_limit_per_hour)
        .push_if(", max_pending = ?", change.max_pending)
        .push_if(", disabled_at = ?", change.disabled_at)
        .push_if(", all_credentials = ?", all)
        .push(" WHERE workspace_id = ?", workspace)
        .push(" AND id = ?", id);
    if tx.execute(query).await? == 0 {
        return Ok(false);
    }
    if let Some(scope) = change.scope {
        let forget = sql("DELETE FROM agent_credentials WHERE workspace_id = $1 AND agent_id = $2");
        tx.execute(forget.bind(workspace).bind(id)).await?;
        if let CredentialScope::Only(credentials) = scope {
            allow(tx, workspace, id, &credentials).await?;
        }
    }
    Ok(true)
}

/// Removes an agent but keeps its records. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: AgentId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM agents WHERE workspace_id = $1 AND id = $2");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Replaces the key. Returns true if the agent exists.
pub async fn set_key(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: AgentId,
    key_hash: &str,
    key_hint: &str,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE agents SET key_hash = $1, key_hint = $2 WHERE workspace_id = $3 AND id = $4");
    Ok(executor.execute(query.bind(key_hash).bind(key_hint).bind(workspace).bind(id)).await? == 1)
}

/// Credentials assigned to an agent individually.
pub async fn credential_ids(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: AgentId,
) -> Result<Vec<CredentialId>, StoreError> {
    let query = sql("SELECT credential_id FROM agent_credentials WHERE workspace_id = $1 AND agent_id = $2 \
         ORDER BY credential_id");
    let rows: Vec<(CredentialId,)> = executor.all(query.bind(workspace).bind(id)).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// True if an agent may use a credential of its workspace.
pub async fn may_use(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    credential: CredentialId,
) -> Result<bool, StoreError> {
    let query = sql("SELECT count(*) FROM agents JOIN credentials \
         ON credentials.workspace_id = agents.workspace_id \
         WHERE agents.workspace_id = $1 AND agents.id = $2 AND credentials.id = $3 \
         AND (agents.all_credentials OR EXISTS (SELECT 1 FROM agent_credentials \
         WHERE agent_credentials.agent_id = agents.id AND agent_credentials.credential_id = credentials.id))");
    let found: Option<(i64,)> = executor.optional(query.bind(workspace).bind(agent).bind(credential)).await?;
    Ok(found.is_some_and(|(count,)| count > 0))
}

/// Records last uses, collected over some time. Does not raise the generation.
pub async fn touch_used(executor: impl Executor, used: &[(AgentId, UnixMillis)]) -> Result<(), StoreError> {
    let rows: Rows = used.iter().map(|(id, at)| vec![at.bind(), id.bind()]).collect();
    executor.execute_each("UPDATE agents SET last_used_at = $1 WHERE id = $2".into(), rows).await?;
    Ok(())
}

async fn allow(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: AgentId,
    credentials: &[CredentialId],
) -> Result<(), StoreError> {
    let rows: Rows =
        credentials.iter().map(|credential| vec![workspace.bind(), id.bind(), credential.bind()]).collect();
    tx.execute_each(
        "INSERT INTO agent_credentials (workspace_id, agent_id, credential_id) VALUES ($1, $2, $3) \
         ON CONFLICT DO NOTHING"
            .into(),
        rows,
    )
    .await?;
    Ok(())
}
