//! Browsers subscribed to notifications, and their pending messages.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{PushSubscriptionId, TxnId, UserId, WorkspaceId};

use crate::cipher::{Aad, Sealed};
use crate::db::{Bind, Rows, row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// A push subscription of a browser.
    pub PushSubscriptionRow: "push_subscriptions", push_subscription_columns {
        /// Unique identifier.
        id: PushSubscriptionId,
        /// Workspace of the user.
        workspace_id: WorkspaceId,
        /// Owner of the subscription.
        user_id: UserId,
        /// URL of the push service for this browser.
        endpoint: String,
        /// SHA-256 of the endpoint, hex.
        endpoint_hash: String,
        /// Public key and authentication secret of the browser, sealed for [`keys_aad`].
        sealed_keys: Sealed,
        /// Name reported by the browser.
        label: String,
        /// Creation time.
        created_at: UnixMillis,
        /// Time when the push service last accepted a message.
        last_success_at: Option<UnixMillis>,
        /// HTTP status with which the push service refuses messages; `None` while it accepts them.
        refused_status: Option<i64>,
        /// Beginning of the push service's response.
        refused_why: Option<String>,
        /// Time of the first refusal.
        refused_at: Option<UnixMillis>,
    }
}

row! {
    /// A pending message.
    pub PushMessageRow: "push_messages", push_message_columns {
        /// Receiving subscription.
        subscription_id: PushSubscriptionId,
        /// Transaction or task that the message is about.
        txn_id: TxnId,
        /// Workspace of the subscription.
        workspace_id: WorkspaceId,
        /// Number of failed attempts.
        attempts: i64,
        /// Time from which it may be sent.
        next_at: UnixMillis,
        /// Time from which the message is useless.
        expires_at: UnixMillis,
    }
}

/// Associated data that binds sealed keys to their subscription.
pub fn keys_aad(workspace: WorkspaceId, id: PushSubscriptionId) -> Aad {
    Aad::new("push_subscriptions", "sealed_keys", workspace, id)
}

/// Adds a subscription. Replaces an earlier one with the same endpoint.
pub async fn subscribe(tx: &mut Tx, new: &PushSubscriptionRow) -> Result<(), StoreError> {
    let before = sql("DELETE FROM push_subscriptions WHERE workspace_id = $1 AND endpoint_hash = $2");
    tx.execute(before.bind(new.workspace_id).bind(&new.endpoint_hash)).await?;
    let query = sql("INSERT INTO push_subscriptions (id, workspace_id, user_id, endpoint, endpoint_hash, \
         sealed_keys, label, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(new.user_id)
    .bind(&new.endpoint)
    .bind(&new.endpoint_hash)
    .bind(&new.sealed_keys)
    .bind(&new.label)
    .bind(new.created_at);
    tx.execute(query).await?;
    Ok(())
}

/// The subscription with this id.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: PushSubscriptionId,
) -> Result<Option<PushSubscriptionRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        push_subscription_columns!(),
        " FROM push_subscriptions WHERE workspace_id = $1 AND id = $2"
    ));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Subscriptions of a person.
pub async fn list_for_user(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<PushSubscriptionRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        push_subscription_columns!(),
        " FROM push_subscriptions WHERE workspace_id = $1 AND user_id = $2 ORDER BY id"
    ));
    executor.all(query.bind(workspace).bind(user)).await
}

/// Subscriptions of a workspace, with their owners.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
) -> Result<Vec<(PushSubscriptionId, UserId)>, StoreError> {
    let query = sql("SELECT id, user_id FROM push_subscriptions WHERE workspace_id = $1 ORDER BY id");
    executor.all(query.bind(workspace)).await
}

/// Deletes a subscription. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: PushSubscriptionId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM push_subscriptions WHERE workspace_id = $1 AND id = $2");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Counts a message to a subscription among those since its first one after `since`. Returns the time of that first one
/// and the number; `None` if the subscription is gone.
pub async fn count_in_burst(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: PushSubscriptionId,
    (since, now): (UnixMillis, UnixMillis),
) -> Result<Option<(UnixMillis, i64)>, StoreError> {
    let query = sql(
        "UPDATE push_subscriptions SET burst_count = CASE WHEN burst_at > $1 THEN burst_count + 1 ELSE 1 END, \
         burst_at = CASE WHEN burst_at > $1 THEN burst_at ELSE CAST($2 AS BIGINT) END \
         WHERE workspace_id = $3 AND id = $4 RETURNING burst_at, burst_count",
    );
    let counted = executor.returning(query.bind(since).bind(now).bind(workspace).bind(id)).await?;
    Ok(counted.into_iter().next())
}

/// Removes a message that was not accepted from the burst that began at `first`.
pub async fn remove_from_burst(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: PushSubscriptionId,
    first: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE push_subscriptions SET burst_count = burst_count - 1 \
         WHERE workspace_id = $1 AND id = $2 AND burst_at = $3 AND burst_count > 0");
    executor.execute(query.bind(workspace).bind(id).bind(first)).await?;
    Ok(())
}

/// Records that the push service accepted a message.
pub async fn succeeded(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: PushSubscriptionId,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE push_subscriptions SET last_success_at = $1, refused_status = NULL, \
         refused_why = NULL, refused_at = NULL WHERE workspace_id = $2 AND id = $3");
    executor.execute(query.bind(now).bind(workspace).bind(id)).await?;
    Ok(())
}

/// Records that the push service refused a message, with the beginning of its response.
pub async fn record_refusal(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: PushSubscriptionId,
    (status, why): (u16, &str),
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE push_subscriptions SET refused_status = $1, refused_why = $2, \
         refused_at = COALESCE(refused_at, $3) WHERE workspace_id = $4 AND id = $5");
    let query = query.bind(i64::from(status)).bind(why).bind(now).bind(workspace).bind(id);
    executor.execute(query).await?;
    Ok(())
}

/// Subscriptions of a workspace whose push services refuse messages.
pub async fn list_refused(
    executor: impl Executor,
    workspace: WorkspaceId,
) -> Result<Vec<PushSubscriptionRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        push_subscription_columns!(),
        " FROM push_subscriptions WHERE workspace_id = $1 AND refused_at IS NOT NULL ORDER BY id"
    ));
    executor.all(query.bind(workspace)).await
}

/// Adds messages that are due immediately.
pub async fn enqueue(tx: &mut Tx, new: &[PushMessageRow]) -> Result<(), StoreError> {
    let rows: Rows = new
        .iter()
        .map(|new| {
            vec![
                new.subscription_id.bind(),
                new.txn_id.bind(),
                new.workspace_id.bind(),
                new.next_at.bind(),
                new.expires_at.bind(),
            ]
        })
        .collect();
    let text = "INSERT INTO push_messages (subscription_id, txn_id, workspace_id, attempts, next_at, expires_at) \
                VALUES ($1, $2, $3, 0, $4, $5) ON CONFLICT DO NOTHING";
    tx.execute_each(text.into(), rows).await?;
    Ok(())
}

/// Makes a message about a transaction due at `due`, if it is due later.
pub async fn bring_forward(
    tx: &mut Tx,
    subscription: PushSubscriptionId,
    txn: TxnId,
    due: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE push_messages SET next_at = $1 \
         WHERE subscription_id = $2 AND txn_id = $3 AND next_at > $1");
    tx.execute(query.bind(due).bind(subscription).bind(txn)).await?;
    Ok(())
}

/// Claims up to `limit` due messages of all workspaces. No one else gets them before `until`.
pub async fn claim(
    executor: impl Executor,
    now: UnixMillis,
    until: UnixMillis,
    limit: u32,
) -> Result<Vec<PushMessageRow>, StoreError> {
    let query = sql(concat!(
        "UPDATE push_messages SET next_at = $1 WHERE next_at <= $2 AND (subscription_id, txn_id) IN \
         (SELECT subscription_id, txn_id FROM push_messages WHERE next_at <= $2 ORDER BY next_at LIMIT $3) \
         RETURNING ",
        push_message_columns!()
    ));
    executor.returning(query.bind(until).bind(now).bind(i64::from(limit))).await
}

/// Deletes a message that was accepted or is useless.
pub async fn done(executor: impl Executor, message: &PushMessageRow) -> Result<(), StoreError> {
    let query = sql("DELETE FROM push_messages WHERE subscription_id = $1 AND txn_id = $2");
    executor.execute(query.bind(message.subscription_id).bind(message.txn_id)).await?;
    Ok(())
}

/// Records a failed attempt and the time of the next one.
pub async fn failed(
    executor: impl Executor,
    message: &PushMessageRow,
    next_at: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("UPDATE push_messages SET attempts = attempts + 1, next_at = $1 \
         WHERE subscription_id = $2 AND txn_id = $3");
    executor.execute(query.bind(next_at).bind(message.subscription_id).bind(message.txn_id)).await?;
    Ok(())
}

/// Time when the next message of all workspaces is due, after now.
pub async fn next_due(executor: impl Executor, now: UnixMillis) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(next_at) FROM push_messages WHERE next_at > $1");
    Ok(executor.optional(query.bind(now)).await?.and_then(|(at,)| at))
}
