//! Webhook endpoints, which receive a workspace's events.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{WebhookId, WorkspaceId};

use crate::cipher::{Aad, Sealed};
use crate::db::{row, sql};
use crate::deliveries::in_turn;
use crate::{Executor, StoreError};

row! {
    /// An endpoint.
    pub WebhookRow: "webhooks", webhook_columns {
        /// Unique identifier.
        id: WebhookId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// URL to which deliveries are posted.
        url: String,
        /// Description for people.
        description: String,
        /// Names of the subscribed events as a JSON array; empty means all.
        events: String,
        /// The signing secret, sealed for [`secret_aad`].
        sealed_secret: Sealed,
        /// Previous signing secret, sealed for [`previous_aad`].
        sealed_previous: Option<Sealed>,
        /// Time until which the previous secret signs as well.
        previous_until_at: Option<UnixMillis>,
        /// Time when the endpoint was disabled; `None` while enabled.
        disabled_at: Option<UnixMillis>,
        /// Creation time.
        created_at: UnixMillis,
        /// Time of the last change.
        updated_at: UnixMillis,
    }
}
pub(crate) use webhook_columns;

/// Manual change to an endpoint; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    /// URL to which deliveries are posted.
    pub url: Option<String>,
    /// Description for people.
    pub description: Option<String>,
    /// Names of the subscribed events as a JSON array.
    pub events: Option<String>,
    /// `Some(Some(now))` disables, `Some(None)` enables.
    pub disabled_at: Option<Option<UnixMillis>>,
}

/// Associated data that binds a sealed signing secret to its endpoint.
pub fn secret_aad(workspace: WorkspaceId, id: WebhookId) -> Aad {
    Aad::new("webhooks", "sealed_secret", workspace, id)
}

/// Associated data that binds a sealed previous secret to its endpoint.
pub fn previous_aad(workspace: WorkspaceId, id: WebhookId) -> Aad {
    Aad::new("webhooks", "sealed_previous", workspace, id)
}

/// Adds an endpoint. The id must be new.
pub async fn insert(executor: impl Executor, new: &WebhookRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO webhooks (id, workspace_id, url, description, events, sealed_secret, \
         sealed_previous, previous_until_at, disabled_at, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(new.workspace_id)
    .bind(&new.url)
    .bind(&new.description)
    .bind(&new.events)
    .bind(&new.sealed_secret)
    .bind(&new.sealed_previous)
    .bind(new.previous_until_at)
    .bind(new.disabled_at)
    .bind(new.created_at)
    .bind(new.updated_at);
    crate::db::insert(executor, query).await
}

/// The endpoint with this id.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: WebhookId,
) -> Result<Option<WebhookRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", webhook_columns!(), " FROM webhooks WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Endpoints of a workspace, oldest first.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<WebhookRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", webhook_columns!(), " FROM webhooks WHERE workspace_id = $1 ORDER BY id"));
    executor.all(query.bind(workspace)).await
}

/// Enabled endpoints, with their subscribed events.
pub async fn listening(
    executor: impl Executor,
    workspace: WorkspaceId,
) -> Result<Vec<(WebhookId, String)>, StoreError> {
    let query =
        sql("SELECT id, events FROM webhooks WHERE workspace_id = $1 AND disabled_at IS NULL ORDER BY id");
    executor.all(query.bind(workspace)).await
}

/// Changes an endpoint. Returns true if it exists.
pub async fn update(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: WebhookId,
    change: WebhookChange,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE webhooks SET updated_at = $1")
        .bind(now)
        .push_if(", url = ?", change.url)
        .push_if(", description = ?", change.description)
        .push_if(", events = ?", change.events);
    let query = match change.disabled_at {
        None => query,
        Some(None) => query.append(", disabled_at = NULL"),
        Some(Some(at)) => query.push(", disabled_at = coalesce(disabled_at, ?)", at),
    };
    let query = query.push(" WHERE workspace_id = ?", workspace).push(" AND id = ?", id);
    Ok(executor.execute(query).await? == 1)
}

/// Replaces the signing secret, unless someone else has just done so. Returns true if replaced. The old secret, sealed
/// again for [`previous_aad`], also signs until `until`.
#[expect(clippy::too_many_arguments, reason = "both secrets, and what must still be true")]
pub async fn rotate(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: WebhookId,
    present: &Sealed,
    secret: &Sealed,
    previous: &Sealed,
    until: UnixMillis,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE webhooks SET sealed_secret = $1, sealed_previous = $2, previous_until_at = $3, \
         updated_at = $4 WHERE workspace_id = $5 AND id = $6 AND sealed_secret = $7")
    .bind(secret)
    .bind(previous)
    .bind(until)
    .bind(now)
    .bind(workspace)
    .bind(id)
    .bind(present);
    Ok(executor.execute(query).await? == 1)
}

/// Removes an endpoint and its deliveries. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: WebhookId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM webhooks WHERE workspace_id = $1 AND id = $2");
    Ok(executor.execute(query.bind(workspace).bind(id)).await? == 1)
}

/// Endpoints of all workspaces with a delivery that is due now.
pub async fn due(
    executor: impl Executor,
    now: UnixMillis,
) -> Result<Vec<(WorkspaceId, WebhookId)>, StoreError> {
    let query = sql(concat!(
        "SELECT workspace_id, id FROM webhooks WHERE disabled_at IS NULL AND EXISTS \
         (SELECT 1 FROM deliveries WHERE deliveries.webhook_id = webhooks.id \
         AND deliveries.status = 'pending' AND deliveries.next_at <= $1",
        in_turn!(),
        ") ORDER BY id"
    ));
    executor.all(query.bind(now)).await
}
