//! Votes of approvers.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TxnId, UserId, WorkspaceId};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

stored_enum! {
    /// What an approver said.
    pub Verdict {
        /// Yes.
        Approve = "approve",
        /// No.
        Deny = "deny",
    }
}

row! {
    /// One person's vote on one approval.
    pub VoteRow: "votes", vote_columns {
        /// The approval.
        txn_id: TxnId,
        /// Who voted.
        user_id: UserId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// Their e-mail address at that time.
        email: String,
        /// What they said.
        verdict: Verdict,
        /// Why.
        reason: Option<String>,
        /// Length of the grant that they asked for, in seconds.
        grant_seconds: Option<i64>,
        /// True if the grant is for the asking agent only.
        agent_only: bool,
        /// Where they said it.
        channel: String,
        /// When.
        created_at: UnixMillis,
        /// True if a passkey ceremony gave it.
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

/// Puts an approval that a passkey gave in the place of the same person's that none did; whether there was
/// one.
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

/// The votes on an approval, oldest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
) -> Result<Vec<VoteRow>, StoreError> {
    list_many(executor, workspace, &[txn]).await
}

/// The votes on several approvals, oldest first.
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
        .then(" ORDER BY created_at, user_id");
    executor.all(query).await
}

/// How often a person said yes and no since a moment.
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
