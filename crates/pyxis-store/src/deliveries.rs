//! Deliveries: the outbox of webhooks. Rows are written in the transaction of the change that they tell
//! of; a node takes what is due, attempts it, and notes how that went.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{DeliveryId, TxnId, WebhookId, WorkspaceId};
use pyxis_core::webhook::WebhookEvent;

use crate::cipher::{Aad, Sealed};
use crate::db::{Bind, Rows, row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    /// How far a delivery has come.
    pub DeliveryStatus {
        /// There are attempts to make.
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
        /// Identifier, the same over attempts and resends.
        id: DeliveryId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// The endpoint.
        webhook_id: WebhookId,
        /// What it tells of.
        event: WebhookEvent,
        /// The transaction, if it tells of one.
        txn_id: Option<TxnId>,
        /// How far it has come.
        status: DeliveryStatus,
        /// Attempts since the last resend.
        attempts: i64,
        /// How often it was sent again by hand.
        resends: i64,
        /// Creation.
        created_at: UnixMillis,
        /// When it may be attempted next.
        next_at: Option<UnixMillis>,
        /// The end of the last attempt.
        last_attempt_at: Option<UnixMillis>,
        /// How long that took, in milliseconds.
        last_millis: Option<i64>,
        /// HTTP status of the last answer.
        response_status: Option<i64>,
        /// How the last answer begins.
        response_excerpt: Option<String>,
        /// Why the last attempt failed, in words.
        error: Option<String>,
        /// When the receiver answered 2xx.
        delivered_at: Option<UnixMillis>,
    }
}

/// A delivery to add.
#[derive(Clone, Debug)]
pub struct NewDelivery {
    /// Identifier.
    pub id: DeliveryId,
    /// Workspace.
    pub workspace_id: WorkspaceId,
    /// The endpoint.
    pub webhook_id: WebhookId,
    /// What it tells of.
    pub event: WebhookEvent,
    /// The transaction, if it tells of one.
    pub txn_id: Option<TxnId>,
    /// The bytes to send, sealed for [`body_aad`].
    pub sealed_body: Sealed,
    /// Creation, and when it is due.
    pub created_at: UnixMillis,
}

row! {
    /// A delivery that was claimed for an attempt.
    pub Claimed: "deliveries", claimed_columns {
        /// Identifier.
        id: DeliveryId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// What it tells of.
        event: WebhookEvent,
        /// The bytes to send, sealed for [`body_aad`].
        sealed_body: Sealed,
        /// Attempts before this one.
        attempts: i64,
        /// The series of attempts that this one belongs to.
        resends: i64,
    }
}

/// How an attempt went.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What that makes of the delivery.
    pub status: DeliveryStatus,
    /// When the next attempt is due, if it is pending.
    pub next_at: Option<UnixMillis>,
    /// The end of the attempt.
    pub at: UnixMillis,
    /// How long it took, in milliseconds.
    pub millis: i64,
    /// HTTP status of the answer.
    pub response_status: Option<i64>,
    /// How the answer begins.
    pub response_excerpt: Option<String>,
    /// Why it failed, in words.
    pub error: Option<String>,
}

/// Which deliveries to list; `None` does not narrow.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryFilter {
    /// Of this endpoint.
    pub webhook: Option<WebhookId>,
    /// In this state.
    pub status: Option<DeliveryStatus>,
    /// About this transaction.
    pub txn: Option<TxnId>,
    /// Of this event.
    pub event: Option<WebhookEvent>,
    /// Older than this one.
    pub before: Option<DeliveryId>,
}

/// What the body is sealed for.
pub fn body_aad(workspace: WorkspaceId, id: DeliveryId) -> Aad {
    Aad::new("deliveries", "sealed_body", workspace, id)
}

/// Adds deliveries, due at once.
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

/// The delivery.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: DeliveryId,
) -> Result<Option<DeliveryRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", delivery_columns!(), " FROM deliveries WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// What is sent, sealed for [`body_aad`].
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
        .then(" ORDER BY id DESC")
        .limit(limit);
    executor.all(query).await
}

/// How many deliveries of an endpoint are in each state: pending, delivered, failed.
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

/// Condition of a delivery that has its turn: an endpoint is told of a request before it is told what became of it.
/// Only a first attempt is waited for, so that an endpoint which refuses one event still gets the next.
macro_rules! in_turn {
    () => {
        " AND (deliveries.event = 'approval.requested' OR NOT EXISTS (SELECT 1 FROM deliveries AS untold \
         WHERE untold.webhook_id = deliveries.webhook_id AND untold.txn_id = deliveries.txn_id \
         AND untold.status = 'pending' AND untold.event = 'approval.requested' \
         AND untold.attempts = 0 AND untold.resends = 0))"
    };
}
pub(crate) use in_turn;

/// Claims up to `limit` deliveries of an endpoint that are due and have their turn, longest due first. Nobody else gets
/// them until `until`: then whoever claimed them counts as lost.
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
    executor.returning(query.bind(until).bind(now).bind(webhook).bind(i64::from(limit))).await
}

/// Notes an attempt; whether it counts. It does not when the delivery was sent again by hand meanwhile,
/// or somebody else took it for lost and attempted it.
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

/// Starts a new series of attempts now, whatever became of the last; whether there is such a delivery.
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

/// When, after now, the next attempt of all workspaces is due.
pub async fn next_due(executor: impl Executor, now: UnixMillis) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(next_at) FROM (SELECT (SELECT min(next_at) FROM deliveries \
         WHERE deliveries.webhook_id = webhooks.id AND deliveries.status = 'pending' \
         AND deliveries.next_at > $1) AS next_at FROM webhooks WHERE disabled_at IS NULL) AS firsts");
    Ok(executor.optional(query.bind(now)).await?.and_then(|(at,)| at))
}

/// Deletes what is over and was created before, over all workspaces; how many.
pub async fn purge(executor: impl Executor, created_before: UnixMillis) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM deliveries WHERE status <> 'pending' AND created_at < $1");
    executor.execute(query.bind(created_before)).await
}
