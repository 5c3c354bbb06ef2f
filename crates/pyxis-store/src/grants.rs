//! Grants: time-boxed permissions made with an approval (Spec 3, Grant).

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, GrantId, TxnId, UserId, WorkspaceId};

use crate::db::{SqlQuery, row, sql};
use crate::page::Page;
use crate::{Executor, StoreError, Tx};

row! {
    /// A grant.
    pub GrantRow: "grants", grant_columns {
        /// Identifier.
        id: GrantId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// Credential.
        credential_id: CredentialId,
        /// The version of the secret that the approver knew.
        credential_version: i64,
        /// The only agent that it serves; `None` serves all.
        agent_id: Option<AgentId>,
        /// HTTP method.
        method: String,
        /// Exact canonical route.
        route: String,
        /// The approval that made it.
        txn_id: Option<TxnId>,
        /// Who made it.
        created_by: UserId,
        /// Their e-mail address at that time.
        created_by_email: String,
        /// Creation.
        created_at: UnixMillis,
        /// End.
        expires_at: UnixMillis,
        /// Most uses; `None` is any number.
        max_uses: Option<i64>,
        /// Uses so far.
        uses: i64,
        /// Last use.
        last_used_at: Option<UnixMillis>,
        /// When it was ended early.
        ended_at: Option<UnixMillis>,
        /// Why.
        ended_reason: Option<String>,
    }
}

/// A grant to add.
#[derive(Clone, Debug)]
pub struct NewGrant {
    /// Identifier.
    pub id: GrantId,
    /// Workspace.
    pub workspace_id: WorkspaceId,
    /// Credential.
    pub credential_id: CredentialId,
    /// The version of the secret that the approver knew.
    pub credential_version: i64,
    /// The only agent that it serves; `None` serves all.
    pub agent_id: Option<AgentId>,
    /// HTTP method.
    pub method: String,
    /// Exact canonical route.
    pub route: String,
    /// The approval that made it.
    pub txn_id: Option<TxnId>,
    /// Who made it.
    pub created_by: UserId,
    /// Their e-mail address.
    pub created_by_email: String,
    /// Creation.
    pub created_at: UnixMillis,
    /// End.
    pub expires_at: UnixMillis,
    /// Most uses; `None` is any number.
    pub max_uses: Option<i64>,
}

/// A request that looks for a grant.
#[derive(Clone, Copy, Debug)]
pub struct GrantLookup<'a> {
    /// Workspace.
    pub workspace: WorkspaceId,
    /// Credential.
    pub credential: CredentialId,
    /// Its present version.
    pub credential_version: i64,
    /// HTTP method.
    pub method: &'a str,
    /// Exact canonical route.
    pub route: &'a str,
    /// The asking agent; `None` looks only for grants that serve every agent.
    pub agent: Option<AgentId>,
    /// The present moment.
    pub now: UnixMillis,
}

/// Adds a grant.
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
    .bind(&new.method)
    .bind(&new.route)
    .bind(new.txn_id)
    .bind(new.created_by)
    .bind(&new.created_by_email)
    .bind(new.created_at)
    .bind(new.expires_at)
    .bind(new.max_uses);
    crate::db::insert(executor, query).await
}

/// The grant.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: GrantId,
) -> Result<Option<GrantRow>, StoreError> {
    let query = sql(concat!("SELECT ", grant_columns!(), " FROM grants WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Grants, newest first. `include_ended` also gives expired and ended ones.
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
    executor.all(query.then(" ORDER BY created_at DESC, id DESC").limit(page.limit)).await
}

/// Every grant of a credential that is alive, newest first.
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

/// Ends a grant before its time; whether it was alive.
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

/// A grant that covers the request. Counts no use; of several, the one that lasts longest.
pub async fn covering(
    executor: impl Executor,
    wanted: &GrantLookup<'_>,
) -> Result<Option<GrantRow>, StoreError> {
    let query = sql(concat!("SELECT ", grant_columns!(), covering!()));
    executor.optional(bound(query, wanted)).await
}

/// Counts one use of a grant that covers the request. Exact under concurrency, `max_uses` included: a
/// caller that loses the last use of one grant may get `None` although another one covers, never more.
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

/// Gives a use back that [`claim_use`] counted for a request which was not sent; whether one was counted.
pub async fn return_use(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: GrantId,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE grants SET uses = uses - 1 WHERE workspace_id = $1 AND id = $2 AND uses > 0");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Ends every grant of a credential; how many. For a tightened policy or a new secret.
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

/// Ends every grant that serves only this agent; how many.
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
        .bind(wanted.method)
        .bind(wanted.route)
        .bind(wanted.credential_version)
        .bind(wanted.agent)
}
