//! Approval transactions: requests that wait for a human, and how far the approved ones have come.
//!
//! This file holds rows and reads; [`decide`](crate::approvals) transitions are in `approvals/decide.rs`
//! and the way upstream is in `approvals/forward.rs`.

mod decide;
mod for_credentials;
mod forward;
mod ordered;
mod room;

use pyxis_core::approval_mode::{ApprovalState, Channel, ForwardState};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, NodeId, TxnId, UserId, WorkspaceId};

use crate::cipher::{Aad, Sealed};
use crate::db::{SqlQuery, row, sql, stored_enum};
use crate::like::containing;
use crate::{Executor, StoreError, Tx};

pub use decide::{approve, deny, due, expire, next_expiry, withdraw};
pub use for_credentials::{count_pending_among, count_since, list_for_credentials};
pub use forward::{
    Finish, abandon_dead_nodes, begin_attempt, claim, finish, list_approved, list_sending,
    mark_outcome_unknown, purge_bodies,
};
pub use ordered::ApprovalColumn;
use ordered::ordered;
pub use room::{limit_seen, reached_limit};

stored_enum! {
    /// What waits.
    pub ApprovalKind {
        /// A request to forward.
        Forward = "forward",
        /// A signature.
        Sign = "sign",
    }
}

row! {
    /// An approval, without its bodies.
    pub ApprovalRow: "approvals", approval_columns {
        /// Identifier.
        txn_id: TxnId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// Who asked.
        agent_id: AgentId,
        /// Their name at that time.
        agent_name: String,
        /// Credential.
        credential_id: CredentialId,
        /// Its name at that time.
        credential_name: String,
        /// Its version at that time.
        credential_version: i64,
        /// What waits.
        kind: ApprovalKind,
        /// HTTP method.
        method: String,
        /// Host of the target.
        target_host: String,
        /// The full URL, sealed for [`target_aad`].
        sealed_target: Sealed,
        /// The rule that asked for approval.
        rule: String,
        /// The pattern that matched.
        pattern: Option<String>,
        /// The agent's reason.
        reason: Option<String>,
        /// SHA-256 over what the approver sees, hex.
        digest: String,
        /// SHA-256 that identical requests share, hex.
        dedupe: String,
        /// Size of the request body.
        body_bytes: i64,
        /// Type of the request body.
        content_type: Option<String>,
        /// State.
        state: ApprovalState,
        /// Approvers needed.
        min_approvals: i64,
        /// True if a passkey ceremony is needed.
        passkey_required: bool,
        /// Where it was announced.
        channel: Channel,
        /// Creation.
        created_at: UnixMillis,
        /// End of the approval window.
        expires_at: UnixMillis,
        /// Decision, expiry or withdrawal.
        decided_at: Option<UnixMillis>,
        /// Who decided.
        decided_by: Option<UserId>,
        /// Their e-mail address at that time.
        decided_by_email: Option<String>,
        /// Why it was denied.
        deny_reason: Option<String>,
        /// True if it expired because the agent withdrew it.
        withdrawn: bool,
        /// How far it has come on its way upstream.
        forward_state: ForwardState,
        /// The node that takes it there.
        claimed_by: Option<NodeId>,
        /// End of the claim.
        claimed_until: Option<UnixMillis>,
        /// When bytes may first have been sent.
        attempt_at: Option<UnixMillis>,
        /// When the answer was stored.
        finished_at: Option<UnixMillis>,
        /// Status of the upstream answer.
        upstream_status: Option<i64>,
        /// Code of the failure.
        error: Option<String>,
    }
}

/// An approval to add.
#[derive(Clone, Debug)]
pub struct NewApproval {
    /// Identifier.
    pub txn_id: TxnId,
    /// Workspace.
    pub workspace_id: WorkspaceId,
    /// Who asks.
    pub agent_id: AgentId,
    /// Their name.
    pub agent_name: String,
    /// Credential.
    pub credential_id: CredentialId,
    /// Its name.
    pub credential_name: String,
    /// Its version.
    pub credential_version: i64,
    /// What waits.
    pub kind: ApprovalKind,
    /// HTTP method.
    pub method: String,
    /// Host of the target.
    pub target_host: String,
    /// The full URL, sealed for [`target_aad`].
    pub sealed_target: Sealed,
    /// The rule that asks for approval.
    pub rule: String,
    /// The pattern that matched.
    pub pattern: Option<String>,
    /// The agent's reason.
    pub reason: Option<String>,
    /// SHA-256 over what the approver sees, hex.
    pub digest: String,
    /// SHA-256 that identical requests share, hex.
    pub dedupe: String,
    /// Size of the request body.
    pub body_bytes: i64,
    /// Type of the request body.
    pub content_type: Option<String>,
    /// Approvers needed.
    pub min_approvals: i64,
    /// True if a passkey ceremony is needed.
    pub passkey_required: bool,
    /// Where it is announced.
    pub channel: Channel,
    /// Creation.
    pub created_at: UnixMillis,
    /// End of the approval window.
    pub expires_at: UnixMillis,
}

/// Which approvals to list; `None` does not narrow.
#[derive(Clone, Debug)]
pub struct ApprovalFilter {
    /// State.
    pub state: Option<ApprovalState>,
    /// Only those that are over, in whatever state.
    pub settled: bool,
    /// Text in agent, credential, method, host, reason or id, whatever its case.
    pub text: Option<String>,
    /// Who asked.
    pub agent: Option<AgentId>,
    /// Credential.
    pub credential: Option<CredentialId>,
    /// What they are sorted by.
    pub by: ApprovalColumn,
    /// True if the oldest or smallest stands first; else the newest or largest.
    pub rising: bool,
    /// The last row of the page before.
    pub beyond: Option<(UnixMillis, TxnId)>,
    /// Most rows.
    pub limit: u32,
}

/// What the full URL is sealed for.
pub fn target_aad(workspace: WorkspaceId, txn: TxnId) -> Aad {
    Aad::new("approvals", "sealed_target", workspace, txn)
}

/// What the stored request is sealed for.
pub fn request_aad(workspace: WorkspaceId, txn: TxnId) -> Aad {
    Aad::new("approval_bodies", "sealed_request", workspace, txn)
}

/// What the stored response is sealed for.
pub fn response_aad(workspace: WorkspaceId, txn: TxnId) -> Aad {
    Aad::new("approval_bodies", "sealed_response", workspace, txn)
}

/// Adds a pending approval and its request. `Conflict` when an identical request is pending; the
/// transaction can go on after that.
pub async fn insert(tx: &mut Tx, new: &NewApproval, sealed_request: Sealed) -> Result<(), StoreError> {
    let query = sql("INSERT INTO approvals (txn_id, workspace_id, agent_id, agent_name, credential_id, \
         credential_name, credential_version, kind, method, target_host, sealed_target, rule, pattern, reason, \
         digest, dedupe, body_bytes, content_type, min_approvals, passkey_required, channel, created_at, \
         expires_at, state, withdrawn, forward_state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
         $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, 'pending', $24, 'none') \
         ON CONFLICT DO NOTHING")
    .bind(new.txn_id)
    .bind(new.workspace_id)
    .bind(new.agent_id)
    .bind(&new.agent_name)
    .bind(new.credential_id)
    .bind(&new.credential_name)
    .bind(new.credential_version)
    .bind(new.kind)
    .bind(&new.method)
    .bind(&new.target_host)
    .bind(&new.sealed_target)
    .bind(&new.rule)
    .bind(&new.pattern)
    .bind(&new.reason)
    .bind(&new.digest)
    .bind(&new.dedupe)
    .bind(new.body_bytes)
    .bind(&new.content_type)
    .bind(new.min_approvals)
    .bind(new.passkey_required)
    .bind(new.channel)
    .bind(new.created_at)
    .bind(new.expires_at)
    .bind(false);
    crate::db::insert(&mut *tx, query).await?;
    let body = sql("INSERT INTO approval_bodies (txn_id, workspace_id, sealed_request) VALUES ($1, $2, $3)");
    tx.execute(body.bind(new.txn_id).bind(new.workspace_id).bind(sealed_request)).await?;
    Ok(())
}

/// The identical request that is pending and can still be decided.
pub async fn find_pending_duplicate(
    executor: impl Executor,
    workspace: WorkspaceId,
    dedupe: &str,
    now: UnixMillis,
) -> Result<Option<ApprovalRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        approval_columns!(),
        " FROM approvals WHERE workspace_id = $1 AND dedupe = $2 AND state = 'pending' AND expires_at > $3"
    ));
    executor.optional(query.bind(workspace).bind(dedupe).bind(now)).await
}

/// The identical request whose window has ended but which nobody has expired yet: it is in the way of
/// [`insert`] until [`expire`].
pub async fn find_lapsed_twin(
    executor: impl Executor,
    workspace: WorkspaceId,
    dedupe: &str,
    now: UnixMillis,
) -> Result<Option<TxnId>, StoreError> {
    let query = sql("SELECT txn_id FROM approvals \
         WHERE workspace_id = $1 AND dedupe = $2 AND state = 'pending' AND expires_at <= $3");
    Ok(executor.optional(query.bind(workspace).bind(dedupe).bind(now)).await?.map(|(txn,)| txn))
}

/// The approval.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Option<ApprovalRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        approval_columns!(),
        " FROM approvals WHERE workspace_id = $1 AND txn_id = $2"
    ));
    executor.optional(query.bind(workspace).bind(txn)).await
}

/// The approval, locked until the transaction ends, so that what is read beside it (votes) stays true.
pub async fn find_for_update(
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Option<ApprovalRow>, StoreError> {
    // On SQLite a transaction has the whole database for itself.
    let lock = if tx.is_sqlite() { "" } else { " FOR UPDATE" };
    let query = sql(concat!(
        "SELECT ",
        approval_columns!(),
        " FROM approvals WHERE workspace_id = $1 AND txn_id = $2"
    ));
    tx.optional(query.bind(workspace).bind(txn).then(lock)).await
}

/// The approval, if this agent asked for it.
pub async fn find_for_agent(
    executor: impl Executor,
    workspace: WorkspaceId,
    agent: AgentId,
    txn: TxnId,
) -> Result<Option<ApprovalRow>, StoreError> {
    Ok(find(executor, workspace, txn).await?.filter(|row| row.agent_id == agent))
}

/// Approvals in the order of the filter.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    filter: &ApprovalFilter,
) -> Result<Vec<ApprovalRow>, StoreError> {
    executor.all(ordered(listing(workspace, filter), filter)).await
}

fn listing(workspace: WorkspaceId, filter: &ApprovalFilter) -> SqlQuery {
    let over = filter.settled.then_some(ApprovalState::Pending);
    sql(concat!("SELECT ", approval_columns!(), " FROM approvals WHERE workspace_id = $1"))
        .bind(workspace)
        .push_if(" AND state = ?", filter.state)
        .push_if(" AND state <> ?", over)
        .push_if(
            " AND lower(agent_name || ' ' || credential_name || ' ' || method || ' ' || target_host || ' ' \
             || coalesce(reason, '') || ' ' || txn_id) LIKE ? ESCAPE '\\'",
            filter.text.as_deref().map(containing),
        )
        .push_if(" AND agent_id = ?", filter.agent)
        .push_if(" AND credential_id = ?", filter.credential)
}

/// How many can still be decided.
pub async fn count_pending(
    executor: impl Executor,
    workspace: WorkspaceId,
    now: UnixMillis,
) -> Result<i64, StoreError> {
    let query = sql(
        "SELECT count(*) FROM approvals WHERE workspace_id = $1 AND state = 'pending' AND expires_at > $2",
    );
    Ok(executor.optional(query.bind(workspace).bind(now)).await?.map_or(0, |(count,)| count))
}

/// The stored request, until [`purge_bodies`].
pub async fn request(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Option<Sealed>, StoreError> {
    let query = sql("SELECT sealed_request FROM approval_bodies WHERE workspace_id = $1 AND txn_id = $2");
    Ok(executor.optional(query.bind(workspace).bind(txn)).await?.map(|(sealed,)| sealed))
}

/// The stored response, until [`purge_bodies`].
pub async fn response(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Option<Sealed>, StoreError> {
    let query = sql("SELECT sealed_response FROM approval_bodies WHERE workspace_id = $1 AND txn_id = $2");
    Ok(executor.optional(query.bind(workspace).bind(txn)).await?.and_then(|(sealed,)| sealed))
}
