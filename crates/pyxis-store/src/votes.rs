//! Votes of approvers.

use pyxis_core::clock::UnixMillis;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{TxnId, UserId, WorkspaceId};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError, StoredName};

stored_enum! {
    /// An approver's vote.
    pub Verdict {
        /// Approves the request.
        Approve = "approve",
        /// Denies the request.
        Deny = "deny",
    }
}

row! {
    /// One person's vote on one approval.
    pub VoteRow: "votes", vote_columns {
        /// Transaction id of the approval.
        txn_id: TxnId,
        /// Voting user.
        user_id: UserId,
        /// Workspace of the approval.
        workspace_id: WorkspaceId,
        /// Email address of the user at that time.
        email: String,
        /// Content of the vote.
        verdict: Verdict,
        /// Reason, if given.
        reason: Option<String>,
        /// Length of the requested grant, in seconds.
        grant_seconds: Option<i64>,
        /// True if the grant is for the requesting agent only.
        agent_only: bool,
        /// Place where the person voted.
        channel: StoredName<DecisionSurface>,
        /// Time of the vote.
        created_at: UnixMillis,
        /// True if confirmed with a passkey.
        passkey: bool,
    }
}

/// Adds a vote. `Conflict` on a second vote by the same person.
pub async fn insert(executor: impl Executor, new: &VoteRow) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO votes (txn_id, user_id, workspace_id, email, verdict, reason, grant_seconds, \
         agent_only, channel, created_at, passkey) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ON CONFLICT DO NOTHING")
        .bind(new.txn_id)
        .bind(new.user_id)
        .bind(new.workspace_id)
        .bind(&new.email)
        .bind(new.verdict)
        .bind(&new.reason)
        .bind(new.grant_seconds)
        .bind(new.agent_only)
        .bind(&new.channel)
        .bind(new.created_at)
        .bind(new.passkey);
    crate::db::insert(executor, query).await
}

/// Replaces a person's approval without a passkey by one with a passkey. Returns true if there was one.
pub async fn confirm(executor: impl Executor, new: &VoteRow) -> Result<bool, StoreError> {
    let query = sql("UPDATE votes SET email = $1, grant_seconds = $2, agent_only = $3, channel = $4, \
         created_at = $5, passkey = $6 WHERE workspace_id = $7 AND txn_id = $8 AND user_id = $9 \
         AND verdict = $10 AND passkey = $11")
    .bind(&new.email)
    .bind(new.grant_seconds)
    .bind(new.agent_only)
    .bind(&new.channel)
    .bind(new.created_at)
    .bind(true)
    .bind(new.workspace_id)
    .bind(new.txn_id)
    .bind(new.user_id)
    .bind(Verdict::Approve)
    .bind(false);
    Ok(executor.execute(query).await? == 1)
}

/// Removes every vote on an approval, because its request changed. Returns their number.
pub async fn remove_all(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM votes WHERE workspace_id = $1 AND txn_id = $2");
    executor.execute(query.bind(workspace).bind(txn)).await
}

/// Votes on an approval, oldest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Vec<VoteRow>, StoreError> {
    list_many(executor, workspace, &[txn]).await
}

/// Votes on several approvals, oldest first.
pub async fn list_many(
    executor: impl Executor,
    workspace: WorkspaceId,
    txns: &[TxnId],
) -> Result<Vec<VoteRow>, StoreError> {
    if txns.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql(concat!("SELECT ", vote_columns!(), " FROM votes WHERE workspace_id = $1"))
        .bind(workspace)
        .and_in(engine, "txn_id", txns)
        .append(" ORDER BY created_at, user_id");
    executor.all(query).await
}

/// Number of a person's approvals and denials since a time.
pub async fn count_since(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
    since: UnixMillis,
) -> Result<Vec<(Verdict, i64)>, StoreError> {
    let query = sql("SELECT verdict, count(*) FROM votes WHERE workspace_id = $1 AND user_id = $2 \
         AND created_at >= $3 GROUP BY verdict ORDER BY verdict");
    executor.all(query.bind(workspace).bind(user).bind(since)).await
}
