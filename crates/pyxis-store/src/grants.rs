//! Grants: time-limited permissions opened with an approval (`docs/reference/behavior/proxy.md#grants`).

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, GrantId, TxnId, UserId, WorkspaceId};
use pyxis_core::policy::Method;

use crate::db::{SqlQuery, readable, row, sql};
use crate::page::Page;
use crate::{Executor, StoreError, StoredName, Tx};

row! {
    pub GrantRow: "grants", grant_columns {
        /// Unique identifier.
        id: GrantId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// Credential that it covers.
        credential_id: CredentialId,
        /// Version of the secret at approval time.
        credential_version: i64,
        /// The only agent that it covers; `None` covers all.
        agent_id: Option<AgentId>,
        /// HTTP method.
        method: StoredName<Method>,
        /// Exact canonical route.
        route: String,
        /// Approval that opened it.
        txn_id: Option<TxnId>,
        /// User who opened it.
        created_by: UserId,
        /// Email address of that user at that time.
        created_by_email: String,
        /// Creation time.
        created_at: UnixMillis,
        /// Expiry time.
        expires_at: UnixMillis,
        /// Maximum number of uses; `None` for unlimited.
        max_uses: Option<i64>,
        /// Number of uses so far.
        uses: i64,
        /// Time of the last use.
        last_used_at: Option<UnixMillis>,
        /// Time when it was ended early.
        ended_at: Option<UnixMillis>,
        /// Reason for the early end.
        ended_reason: Option<String>,
    }
}
pub(crate) use grant_columns;

/// A grant to add.
#[derive(Clone, Debug)]
pub struct NewGrant {
    /// Unique identifier.
    pub id: GrantId,
    /// Owning workspace.
    pub workspace_id: WorkspaceId,
    /// Credential that it covers.
    pub credential_id: CredentialId,
    /// Version of the secret at approval time.
    pub credential_version: i64,
    /// The only agent that it covers; `None` covers all.
    pub agent_id: Option<AgentId>,
    /// HTTP method.
    pub method: Method,
    /// Exact canonical route.
    pub route: String,
    /// Approval that opened it.
    pub txn_id: Option<TxnId>,
    /// User who opened it.
    pub created_by: UserId,
    /// Email address of that user.
    pub created_by_email: String,
    /// Creation time.
    pub created_at: UnixMillis,
    /// Expiry time.
    pub expires_at: UnixMillis,
    /// Maximum number of uses; `None` for unlimited.
    pub max_uses: Option<i64>,
}

/// Search for a grant that covers a request.
#[derive(Clone, Copy, Debug)]
pub struct GrantLookup<'a> {
    /// Workspace of the request.
    pub workspace: WorkspaceId,
    /// Credential to use.
    pub credential: CredentialId,
    /// Current version of the credential.
    pub credential_version: i64,
    /// HTTP method.
    pub method: Method,
    /// Exact canonical route.
    pub route: &'a str,
    /// Requesting agent. `None` finds only grants for all agents.
    pub agent: Option<AgentId>,
    /// Current time.
    pub now: UnixMillis,
}

/// Adds a grant. The id must be new.
pub async fn insert(executor: impl Executor, new: &NewGrant) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO grants (id, workspace_id, credential_id, credential_version, agent_id, method, route, \
         txn_id, created_by, created_by_email, created_at, expires_at, max_uses, uses) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0) ON CONFLICT DO NOTHING",
    )
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(new.credential_id)
    .bind(new.credential_version)
    .bind(new.agent_id)
    .bind(new.method.as_str())
    .bind(&new.route)
    .bind(new.txn_id)
    .bind(new.created_by)
    .bind(&new.created_by_email)
    .bind(new.created_at)
    .bind(new.expires_at)
    .bind(new.max_uses);
    crate::db::insert(executor, query).await
}

/// The grant with this id.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: GrantId,
) -> Result<Option<GrantRow>, StoreError> {
    let query = sql(concat!("SELECT ", grant_columns!(), " FROM grants WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Grants, newest first. `include_ended` adds expired and ended ones.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    include_ended: bool,
    page: Page<GrantId>,
    now: UnixMillis,
) -> Result<Vec<GrantRow>, StoreError> {
    let mut query =
        sql(concat!("SELECT ", grant_columns!(), " FROM grants WHERE workspace_id = $1")).bind(workspace);
    if !include_ended {
        query = query.push(" AND ended_at IS NULL AND expires_at > ?", now);
    }
    if let Some((at, id)) = page.before {
        query = query.push(" AND (created_at, id) < (?", at).push(", ?)", id);
    }
    let query = query.append(" ORDER BY created_at DESC, id DESC").limit(page.limit);
    Ok(readable(executor.all(query).await?))
}

/// All active grants of a credential, newest first.
pub async fn list_live(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
    now: UnixMillis,
) -> Result<Vec<GrantRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        grant_columns!(),
        " FROM grants WHERE workspace_id = $1 AND credential_id = $2 AND ended_at IS NULL AND expires_at > $3 \
         ORDER BY created_at DESC, id DESC"
    ));
    executor.all(query.bind(workspace).bind(credential).bind(now)).await
}

/// Ends a grant early. Returns true if it was active.
pub async fn end(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: GrantId,
    reason: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE grants SET ended_at = $1, ended_reason = $2 \
         WHERE workspace_id = $3 AND id = $4 AND ended_at IS NULL AND expires_at > $1")
    .bind(now)
    .bind(reason)
    .bind(workspace)
    .bind(id);
    Ok(executor.execute(query).await? == 1)
}

macro_rules! covering {
    () => {
        " FROM grants WHERE expires_at > $1 AND workspace_id = $2 AND credential_id = $3 AND method = $4 \
         AND route = $5 AND credential_version = $6 AND (agent_id IS NULL OR agent_id = $7) \
         AND ended_at IS NULL AND (max_uses IS NULL OR uses < max_uses) \
         ORDER BY expires_at DESC, id LIMIT 1"
    };
}

/// A grant that covers the request, the one that lasts longest if there are several. Does not count a use.
pub async fn covering(
    executor: impl Executor,
    wanted: &GrantLookup<'_>,
) -> Result<Option<GrantRow>, StoreError> {
    let query = sql(concat!("SELECT ", grant_columns!(), covering!()));
    executor.optional(bound(query, wanted)).await
}

/// Counts one use of a grant that covers the request. Exact under concurrency, including `max_uses`. A caller that
/// loses the last use of one grant may get `None` although another grant covers the request, but never an extra use.
pub async fn claim_use(
    executor: impl Executor,
    wanted: &GrantLookup<'_>,
) -> Result<Option<GrantRow>, StoreError> {
    let query = sql(concat!(
        "UPDATE grants SET uses = uses + 1, last_used_at = $1 WHERE id = (SELECT id",
        covering!(),
        ") AND ended_at IS NULL AND (max_uses IS NULL OR uses < max_uses) RETURNING ",
        grant_columns!()
    ));
    Ok(executor.returning(bound(query, wanted)).await?.pop())
}

/// Returns a use that [`claim_use`] counted for a request that was not sent. Returns true if one was counted.
pub async fn return_use(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: GrantId,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE grants SET uses = uses - 1 WHERE workspace_id = $1 AND id = $2 AND uses > 0");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Ends all grants of a credential, after a stricter policy or a new secret. Returns their number.
pub async fn end_for_credential(
    tx: &mut Tx,
    workspace: WorkspaceId,
    credential: CredentialId,
    reason: &str,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE grants SET ended_at = $1, ended_reason = $2 \
         WHERE workspace_id = $3 AND credential_id = $4 AND ended_at IS NULL");
    tx.execute(query.bind(now).bind(reason).bind(workspace).bind(credential)).await
}

/// Ends all grants that cover only this agent. Returns their number.
pub async fn end_for_agent(
    tx: &mut Tx,
    workspace: WorkspaceId,
    agent: AgentId,
    reason: &str,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE grants SET ended_at = $1, ended_reason = $2 \
         WHERE workspace_id = $3 AND agent_id = $4 AND ended_at IS NULL");
    tx.execute(query.bind(now).bind(reason).bind(workspace).bind(agent)).await
}

fn bound(query: SqlQuery, wanted: &GrantLookup<'_>) -> SqlQuery {
    query
        .bind(wanted.now)
        .bind(wanted.workspace)
        .bind(wanted.credential)
        .bind(wanted.method.as_str())
        .bind(wanted.route)
        .bind(wanted.credential_version)
        .bind(wanted.agent)
}
