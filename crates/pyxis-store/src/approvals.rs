//! Approval requests: pending requests, and the progress of approved ones.
//!
//! This module holds rows and reads. The transitions of [`decide`](crate::approvals) are in `approvals/decide.rs`, and
//! forwarding is in `approvals/forward.rs`.

mod decide;
mod edit;
mod for_credentials;
mod forward;
mod ordered;
mod pending;
mod room;

use pyxis_core::approval_mode::{ApprovalState, Channel, ForwardState};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, NodeId, TxnId, UserId, WorkspaceId};
use pyxis_core::policy::{Method, Rule};

use crate::cipher::{Aad, Sealed};
use crate::db::{SqlQuery, readable, row, sql, stored_enum};
use crate::lists::Contains;
use crate::{Engine, Executor, StoreError, StoredName, Tx};

pub use decide::{approve, deny, due, expire, next_expiry, withdraw};
pub use edit::{EditedRequest, edit, original_request};
pub use for_credentials::{count_pending_among, count_since, list_for_credentials};
pub use forward::{
    Finish, abandon_dead_nodes, begin_attempt, claim, finish, list_approved, list_sending,
    mark_outcome_unknown, purge_bodies,
};
pub use ordered::ApprovalColumn;
use ordered::ordered;
pub use pending::{MethodRisk, PendingAsker, count, list_ids, pending_askers, requests};
pub use room::{Newcomer, NoRoom, RoomLimits, agent_limit, bytes_limit, limit_seen, workspace_limit};

stored_enum! {
    /// Kind of operation to approve.
    pub ApprovalKind {
        /// A request to forward.
        Forward = "forward",
        /// A signature.
        Sign = "sign",
    }
}

row! {
    /// An approval request, without its bodies.
    pub ApprovalRow: "approvals", approval_columns {
        /// Transaction id.
        txn_id: TxnId,
        /// Workspace of the agent.
        workspace_id: WorkspaceId,
        /// Requesting agent.
        agent_id: AgentId,
        /// Agent name at request time.
        agent_name: String,
        /// Credential to use.
        credential_id: CredentialId,
        /// Credential name at request time.
        credential_name: String,
        /// Credential version at request time.
        credential_version: i64,
        /// Kind of operation.
        kind: ApprovalKind,
        /// HTTP method.
        method: StoredName<Method>,
        /// Host name of the target.
        target_host: String,
        /// The full URL, sealed for [`target_aad`].
        sealed_target: Sealed,
        /// The rule that required approval.
        rule: StoredName<Rule>,
        /// The pattern that matched.
        pattern: Option<String>,
        /// Reason given by the agent.
        reason: Option<String>,
        /// SHA-256 over what the approver sees, hex.
        digest: String,
        /// SHA-256 that identical requests share, hex.
        dedupe: String,
        /// Size of the request body, in bytes.
        body_bytes: i64,
        /// Content type of the request body.
        content_type: Option<String>,
        /// Current state.
        state: ApprovalState,
        /// Number of approvers needed.
        min_approvals: i64,
        /// True if approval needs a passkey.
        passkey_required: bool,
        /// Channel that announced it.
        channel: Channel,
        /// Creation time.
        created_at: UnixMillis,
        /// End of the approval window.
        expires_at: UnixMillis,
        /// Time of the decision, expiry or withdrawal.
        decided_at: Option<UnixMillis>,
        /// User who decided.
        decided_by: Option<UserId>,
        /// Email address of that user at decision time.
        decided_by_email: Option<String>,
        /// Reason given for a denial.
        deny_reason: Option<String>,
        /// True if it expired because the agent withdrew it.
        withdrawn: bool,
        /// Forwarding progress.
        forward_state: ForwardState,
        /// Node that forwards it.
        claimed_by: Option<NodeId>,
        /// End of the node's claim.
        claimed_until: Option<UnixMillis>,
        /// Earliest time at which bytes may have been sent.
        attempt_at: Option<UnixMillis>,
        /// Time when the response was stored.
        finished_at: Option<UnixMillis>,
        /// HTTP status of the upstream response.
        upstream_status: Option<i64>,
        /// Error code of a failure.
        error: Option<String>,
        /// Number of times that people edited it.
        edits: i64,
        /// Digest of the request as its agent sent it, if it was edited.
        asked_digest: Option<String>,
        /// Digest of the request as it was approved.
        decided_digest: Option<String>,
        /// Digest of the request as it was sent.
        sent_digest: Option<String>,
        /// User who edited it last.
        edited_by: Option<UserId>,
        /// Email address of that user at that time.
        edited_by_email: Option<String>,
        /// Time of the last edit.
        edited_at: Option<UnixMillis>,
    }
}

/// An approval request to add.
#[derive(Clone, Debug)]
pub struct NewApproval {
    /// Transaction id.
    pub txn_id: TxnId,
    /// Workspace of the agent.
    pub workspace_id: WorkspaceId,
    /// Requesting agent.
    pub agent_id: AgentId,
    /// Current name of the agent.
    pub agent_name: String,
    /// Credential to use.
    pub credential_id: CredentialId,
    /// Current name of the credential.
    pub credential_name: String,
    /// Current version of the credential.
    pub credential_version: i64,
    /// Kind of operation.
    pub kind: ApprovalKind,
    /// HTTP method.
    pub method: Method,
    /// Host name of the target.
    pub target_host: String,
    /// The full URL, sealed for [`target_aad`].
    pub sealed_target: Sealed,
    /// The rule that requires approval.
    pub rule: Rule,
    /// The pattern that matched.
    pub pattern: Option<String>,
    /// Reason given by the agent.
    pub reason: Option<String>,
    /// SHA-256 over what the approver sees, hex.
    pub digest: String,
    /// SHA-256 that identical requests share, hex.
    pub dedupe: String,
    /// Size of the request body, in bytes.
    pub body_bytes: i64,
    /// Content type of the request body.
    pub content_type: Option<String>,
    /// Number of approvers needed.
    pub min_approvals: i64,
    /// True if approval needs a passkey.
    pub passkey_required: bool,
    /// Channel that announces it.
    pub channel: Channel,
    /// Creation time.
    pub created_at: UnixMillis,
    /// End of the approval window.
    pub expires_at: UnixMillis,
}

/// Filter for approval requests; `None` matches all.
#[derive(Clone, Debug)]
pub struct ApprovalFilter {
    /// Only this state.
    pub state: Option<ApprovalState>,
    /// Only requests that are no longer pending, in any state.
    pub settled: bool,
    /// Text in agent, credential, method, host, reason or id, ignoring case.
    pub text: Option<String>,
    /// Requesting agent.
    pub agent: Option<AgentId>,
    /// Credential to use.
    pub credential: Option<CredentialId>,
    /// Only methods of this risk.
    pub risk: Option<MethodRisk>,
    /// Sort column.
    pub by: ApprovalColumn,
    /// True for ascending order (oldest or smallest first).
    pub rising: bool,
    /// Last row of the previous page.
    pub beyond: Option<(UnixMillis, TxnId)>,
    /// Maximum number of rows.
    pub limit: u32,
}

/// Associated data that binds a sealed URL to its approval.
pub fn target_aad(workspace: WorkspaceId, txn: TxnId) -> Aad {
    Aad::new("approvals", "sealed_target", workspace, txn)
}

/// Associated data that binds a stored request to its approval.
pub fn request_aad(workspace: WorkspaceId, txn: TxnId) -> Aad {
    Aad::new("approval_bodies", "sealed_request", workspace, txn)
}

/// Associated data that binds a stored response to its approval.
pub fn response_aad(workspace: WorkspaceId, txn: TxnId) -> Aad {
    Aad::new("approval_bodies", "sealed_response", workspace, txn)
}

/// Adds a pending approval and its request. `Conflict` if an identical request is pending; the transaction can continue
/// after that.
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
    .bind(new.method.as_str())
    .bind(&new.target_host)
    .bind(&new.sealed_target)
    .bind(new.rule.as_str())
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
    let bytes = i64::try_from(sealed_request.len()).unwrap_or(i64::MAX);
    let body = sql("INSERT INTO approval_bodies (txn_id, workspace_id, agent_id, sealed_request, bytes) \
         VALUES ($1, $2, $3, $4, $5)");
    let body =
        body.bind(new.txn_id).bind(new.workspace_id).bind(new.agent_id).bind(sealed_request).bind(bytes);
    tx.execute(body).await?;
    Ok(())
}

/// The identical pending request that can still be decided.
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

/// An identical request whose window has ended but that is not marked as expired yet. It blocks [`insert`] until
/// [`expire`] runs.
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

/// The oldest identical WebSocket that was approved after `since` and that no one has opened.
pub async fn find_unopened(
    executor: impl Executor,
    workspace: WorkspaceId,
    dedupe: &str,
    since: UnixMillis,
) -> Result<Option<ApprovalRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        approval_columns!(),
        " FROM approvals WHERE workspace_id = $1 AND dedupe = $2 AND method = $3 AND state = 'approved' \
         AND forward_state = 'ready' AND claimed_by IS NULL AND decided_at > $4 ORDER BY decided_at, txn_id LIMIT 1"
    ));
    let query = query.bind(workspace).bind(dedupe).bind(Method::WebSocket.as_str()).bind(since);
    executor.optional(query).await
}

/// The approval with this id.
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

/// The approval, locked until the transaction ends, so that related rows (votes) stay consistent with it.
pub async fn find_for_update(
    tx: &mut Tx,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Option<ApprovalRow>, StoreError> {
    // On SQLite a transaction has exclusive write access.
    let lock = if tx.is_sqlite() { "" } else { " FOR UPDATE" };
    let query = sql(concat!(
        "SELECT ",
        approval_columns!(),
        " FROM approvals WHERE workspace_id = $1 AND txn_id = $2"
    ));
    tx.optional(query.bind(workspace).bind(txn).append(lock)).await
}

/// The approval, if this agent requested it.
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
    let query = listing(executor.engine(), workspace, filter);
    Ok(readable(executor.all(ordered(query, filter)).await?))
}

/// Requests that existed at `to` and had not ended before `from`, oldest first: pending, approved and not sent, being
/// sent, or ended since.
pub async fn list_in_flight(
    executor: impl Executor,
    workspace: WorkspaceId,
    from: UnixMillis,
    to: UnixMillis,
) -> Result<Vec<ApprovalRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        approval_columns!(),
        " FROM approvals WHERE workspace_id = $1 AND created_at <= $2 AND (state = 'pending' \
         OR forward_state IN ('ready', 'sending') OR coalesce(finished_at, decided_at) >= $3) \
         ORDER BY created_at, txn_id"
    ));
    executor.all(query.bind(workspace).bind(to).bind(from)).await
}

/// The text that a search looks at.
const SEARCHED: &str = "(agent_name || ' ' || credential_name || ' ' || method || ' ' || target_host || ' ' \
    || coalesce(reason, '') || ' ' || txn_id)";

fn listing(engine: Engine, workspace: WorkspaceId, filter: &ApprovalFilter) -> SqlQuery {
    matching(engine, workspace, filter).selecting(approval_columns!())
}

/// The conditions of a filter, from ` FROM` on. "Pending" is literal text: an index over pending requests only is not
/// used for a parameter.
fn matching(engine: Engine, workspace: WorkspaceId, filter: &ApprovalFilter) -> SqlQuery {
    let is_pending = filter.state == Some(ApprovalState::Pending);
    let over = filter.settled.then_some(ApprovalState::Pending);
    sql(" FROM approvals WHERE workspace_id = $1")
        .bind(workspace)
        .append(if is_pending { " AND state = 'pending'" } else { "" })
        .push_if(" AND state = ?", filter.state.filter(|_| !is_pending))
        .push_if(" AND state <> ?", over)
        .contains(engine, &[SEARCHED], filter.text.as_deref().unwrap_or(""))
        .push_if(" AND agent_id = ?", filter.agent)
        .push_if(" AND credential_id = ?", filter.credential)
        .append(filter.risk.map_or("", MethodRisk::condition))
}

/// Number of requests that can still be decided.
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

/// The stored request, available until [`purge_bodies`].
pub async fn request(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Option<Sealed>, StoreError> {
    let query = sql("SELECT sealed_request FROM approval_bodies WHERE workspace_id = $1 AND txn_id = $2");
    Ok(executor.optional(query.bind(workspace).bind(txn)).await?.map(|(sealed,)| sealed))
}

/// The stored response, available until [`purge_bodies`].
pub async fn response(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Option<Sealed>, StoreError> {
    let query = sql("SELECT sealed_response FROM approval_bodies WHERE workspace_id = $1 AND txn_id = $2");
    Ok(executor.optional(query.bind(workspace).bind(txn)).await?.and_then(|(sealed,)| sealed))
}
