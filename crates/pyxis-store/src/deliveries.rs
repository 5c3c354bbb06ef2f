//! Deliveries: the outbox of webhooks. Rows are written in the transaction of the change that they announce. A node
//! takes due deliveries, attempts them and records the results.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{DeliveryId, TxnId, WebhookId, WorkspaceId};
use pyxis_core::webhook::WebhookEvent;

use crate::cipher::{Aad, Sealed};
use crate::db::{Bind, Rows, readable, row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    pub DeliveryStatus {
        /// Further attempts follow.
        Pending = "pending",
        /// The receiver answered 2xx.
        Delivered = "delivered",
        /// The last attempt failed.
        Failed = "failed",
    }
}

row! {
    /// A delivery, without its body.
    pub DeliveryRow: "deliveries", delivery_columns {
        /// Unique identifier, which stays the same across attempts and resends.
        id: DeliveryId,
        /// Workspace of the endpoint.
        workspace_id: WorkspaceId,
        /// Receiving endpoint.
        webhook_id: WebhookId,
        /// Announced event.
        event: WebhookEvent,
        /// Transaction that the event is about, if any.
        txn_id: Option<TxnId>,
        /// Current status.
        status: DeliveryStatus,
        /// Number of attempts since the last resend.
        attempts: i64,
        /// Number of manual resends.
        resends: i64,
        /// Creation time.
        created_at: UnixMillis,
        /// Time of the next attempt.
        next_at: Option<UnixMillis>,
        /// End of the last attempt.
        last_attempt_at: Option<UnixMillis>,
        /// Duration of the last attempt, in milliseconds.
        last_millis: Option<i64>,
        /// HTTP status of the last response.
        response_status: Option<i64>,
        /// Beginning of the last response.
        response_excerpt: Option<String>,
        /// Error message of the last attempt.
        error: Option<String>,
        /// Time of the 2xx response.
        delivered_at: Option<UnixMillis>,
    }
}

/// A delivery to add.
#[derive(Clone, Debug)]
pub struct NewDelivery {
    /// Unique identifier.
    pub id: DeliveryId,
    /// Workspace of the endpoint.
    pub workspace_id: WorkspaceId,
    /// Receiving endpoint.
    pub webhook_id: WebhookId,
    /// Announced event.
    pub event: WebhookEvent,
    /// Transaction that the event is about, if any.
    pub txn_id: Option<TxnId>,
    /// The bytes to send, sealed for [`body_aad`].
    pub sealed_body: Sealed,
    /// Creation time. The delivery is due from then on.
    pub created_at: UnixMillis,
}

row! {
    /// A delivery claimed for an attempt.
    pub Claimed: "deliveries", claimed_columns {
        /// Unique identifier.
        id: DeliveryId,
        /// Workspace of the endpoint.
        workspace_id: WorkspaceId,
        /// Announced event.
        event: WebhookEvent,
        /// The bytes to send, sealed for [`body_aad`].
        sealed_body: Sealed,
        /// Number of attempts before this one.
        attempts: i64,
        /// Series of attempts that this one belongs to, counted by resends.
        resends: i64,
    }
}

/// Result of an attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// New status of the delivery.
    pub status: DeliveryStatus,
    /// Time of the next attempt, if pending.
    pub next_at: Option<UnixMillis>,
    /// End of the attempt.
    pub at: UnixMillis,
    /// Duration, in milliseconds.
    pub millis: i64,
    /// HTTP status of the response.
    pub response_status: Option<i64>,
    /// Beginning of the response.
    pub response_excerpt: Option<String>,
    /// Error message, if it failed.
    pub error: Option<String>,
}

/// Filter for deliveries; `None` matches all.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryFilter {
    /// Only of this endpoint.
    pub webhook: Option<WebhookId>,
    /// Only with this status.
    pub status: Option<DeliveryStatus>,
    /// Only about this transaction.
    pub txn: Option<TxnId>,
    /// Only of this event.
    pub event: Option<WebhookEvent>,
    /// Only older than this one.
    pub before: Option<DeliveryId>,
}

/// Associated data that binds a sealed body to its delivery.
pub fn body_aad(workspace: WorkspaceId, id: DeliveryId) -> Aad {
    Aad::new("deliveries", "sealed_body", workspace, id)
}

/// Adds deliveries that are due immediately.
pub async fn insert(tx: &mut Tx, new: &[NewDelivery]) -> Result<(), StoreError> {
    let rows: Rows = new
        .iter()
        .map(|new| {
            vec![
                new.id.bind(),
                new.workspace_id.bind(),
                new.webhook_id.bind(),
                new.event.bind(),
                new.txn_id.bind(),
                (&new.sealed_body).bind(),
                new.created_at.bind(),
            ]
        })
        .collect();
    let text = "INSERT INTO deliveries (id, workspace_id, webhook_id, event, txn_id, sealed_body, status, \
                attempts, resends, created_at, next_at) VALUES ($1, $2, $3, $4, $5, $6, 'pending', 0, 0, $7, $7)";
    tx.execute_each(text.into(), rows).await?;
    Ok(())
}

/// The delivery with this id.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: DeliveryId,
) -> Result<Option<DeliveryRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", delivery_columns!(), " FROM deliveries WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Body to send, sealed for [`body_aad`].
pub async fn body(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: DeliveryId,
) -> Result<Option<Sealed>, StoreError> {
    let query = sql("SELECT sealed_body FROM deliveries WHERE workspace_id = $1 AND id = $2");
    Ok(executor.optional(query.bind(workspace).bind(id)).await?.map(|(sealed,)| sealed))
}

/// Deliveries of a workspace, newest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    filter: &DeliveryFilter,
    limit: u32,
) -> Result<Vec<DeliveryRow>, StoreError> {
    let query = sql(concat!("SELECT ", delivery_columns!(), " FROM deliveries WHERE workspace_id = $1"))
        .bind(workspace)
        .push_if(" AND webhook_id = ?", filter.webhook)
        .push_if(" AND status = ?", filter.status)
        .push_if(" AND txn_id = ?", filter.txn)
        .push_if(" AND event = ?", filter.event)
        .push_if(" AND id < ?", filter.before)
        .append(" ORDER BY id DESC")
        .limit(limit);
    Ok(readable(executor.all(query).await?))
}

/// Number of an endpoint's deliveries per status: pending, delivered, failed.
pub async fn counts(
    executor: impl Executor,
    workspace: WorkspaceId,
    webhook: WebhookId,
) -> Result<[i64; 3], StoreError> {
    let query = sql("SELECT status, count(*) FROM deliveries \
         WHERE workspace_id = $1 AND webhook_id = $2 GROUP BY status");
    let found: Vec<(DeliveryStatus, i64)> = executor.all(query.bind(workspace).bind(webhook)).await?;
    let of = |status| found.iter().find(|(found, _)| *found == status).map_or(0, |(_, count)| *count);
    Ok([of(DeliveryStatus::Pending), of(DeliveryStatus::Delivered), of(DeliveryStatus::Failed)])
}

/// Condition for a delivery whose turn it is: an endpoint hears of a request before it hears of its result. This waits
/// only for the first attempt, so that an endpoint which rejects one event still receives the next.
macro_rules! in_turn {
    () => {
        " AND (deliveries.event = 'approval.requested' OR NOT EXISTS (SELECT 1 FROM deliveries AS untold \
         WHERE untold.webhook_id = deliveries.webhook_id AND untold.txn_id = deliveries.txn_id \
         AND untold.status = 'pending' AND untold.event = 'approval.requested' \
         AND untold.attempts = 0 AND untold.resends = 0))"
    };
}
pub(crate) use in_turn;

/// Claims up to `limit` deliveries of an endpoint that are due and whose turn it is, longest due first. No one else
/// gets them before `until`, when the claimer counts as lost.
pub async fn claim(
    executor: impl Executor,
    webhook: WebhookId,
    now: UnixMillis,
    until: UnixMillis,
    limit: u32,
) -> Result<Vec<Claimed>, StoreError> {
    let query = sql(concat!(
        "UPDATE deliveries SET next_at = $1 WHERE status = 'pending' AND next_at <= $2 AND id IN \
         (SELECT id FROM deliveries WHERE webhook_id = $3 AND status = 'pending' AND next_at <= $2",
        in_turn!(),
        " ORDER BY next_at, id LIMIT $4) RETURNING ",
        claimed_columns!()
    ));
    let query = query.bind(until).bind(now).bind(webhook).bind(i64::from(limit));
    Ok(readable(executor.returning(query).await?))
}

/// Records an attempt. Returns false if it does not count, because the delivery was resent manually meanwhile, or
/// someone else considered the claim lost and attempted it.
pub async fn record(
    executor: impl Executor,
    claimed: &Claimed,
    attempt: &Attempt,
) -> Result<bool, StoreError> {
    let delivered = (attempt.status == DeliveryStatus::Delivered).then_some(attempt.at);
    let query = sql("UPDATE deliveries SET attempts = attempts + 1, status = $1, next_at = $2, \
         last_attempt_at = $3, last_millis = $4, response_status = $5, response_excerpt = $6, error = $7, \
         delivered_at = $8 WHERE id = $9 AND workspace_id = $10 AND status = 'pending' AND attempts = $11 \
         AND resends = $12")
    .bind(attempt.status)
    .bind(attempt.next_at)
    .bind(attempt.at)
    .bind(attempt.millis)
    .bind(attempt.response_status)
    .bind(&attempt.response_excerpt)
    .bind(&attempt.error)
    .bind(delivered)
    .bind(claimed.id)
    .bind(claimed.workspace_id)
    .bind(claimed.attempts)
    .bind(claimed.resends);
    Ok(executor.execute(query).await? == 1)
}

/// Starts a new series of attempts immediately, regardless of the last one. Returns true if the delivery exists.
pub async fn resend(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: DeliveryId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE deliveries SET status = 'pending', attempts = 0, resends = resends + 1, \
         next_at = $1 WHERE workspace_id = $2 AND id = $3");
    Ok(executor.execute(query.bind(now).bind(workspace).bind(id)).await? == 1)
}

/// Time of the next attempt in all workspaces, after now.
pub async fn next_due(executor: impl Executor, now: UnixMillis) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(next_at) FROM (SELECT (SELECT min(next_at) FROM deliveries \
         WHERE deliveries.webhook_id = webhooks.id AND deliveries.status = 'pending' \
         AND deliveries.next_at > $1) AS next_at FROM webhooks WHERE disabled_at IS NULL) AS firsts");
    Ok(executor.optional(query.bind(now)).await?.and_then(|(at,)| at))
}

/// Deletes finished deliveries created before a time, in all workspaces. Returns their number.
pub async fn purge(executor: impl Executor, created_before: UnixMillis) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM deliveries WHERE status <> 'pending' AND created_at < $1");
    executor.execute(query.bind(created_before)).await
}

/// Bodies of a workspace's deliveries about addresses, which have no transaction. In the order of their ids, after a
/// given one.
pub async fn bodies_after(
    executor: impl Executor,
    workspace: WorkspaceId,
    after: Option<DeliveryId>,
    limit: u32,
) -> Result<Vec<(DeliveryId, Sealed)>, StoreError> {
    let query = sql("SELECT id, sealed_body FROM deliveries WHERE workspace_id = $1 AND txn_id IS NULL")
        .bind(workspace)
        .push_if(" AND id > ?", after)
        .append(" ORDER BY id")
        .limit(limit);
    executor.all(query).await
}

/// Deletes deliveries, also those on their way. Returns how many existed.
pub async fn remove(tx: &mut Tx, workspace: WorkspaceId, ids: &[DeliveryId]) -> Result<u64, StoreError> {
    let rows: Rows = ids.iter().map(|id| vec![workspace.bind(), id.bind()]).collect();
    let text = "DELETE FROM deliveries WHERE workspace_id = $1 AND id = $2";
    tx.execute_each(text.into(), rows).await
}
