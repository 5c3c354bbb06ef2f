//! `/admin/webhooks` and `/admin/deliveries`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{DeliveryId, WebhookId};
use pyxis_core::webhook::WebhookEvent;
use pyxis_http::{Json, Path, Query};
use pyxis_store::deliveries::{DeliveryFilter, DeliveryRow, DeliveryStatus};
use serde::{Deserialize, Serialize};

use super::Manager;
use crate::admin::webhooks::{self, Webhook, WebhookInput, WebhookPatch};
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Deliveries on a page unless asked otherwise.
const PAGE: u32 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateWebhookRequest {
    /// Needed; left out, it is refused by its name.
    #[serde(default)]
    url: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    events: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateWebhookRequest {
    url: Option<String>,
    description: Option<String>,
    events: Option<Vec<String>>,
    enabled: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct DeliveryListParams {
    webhook_id: Option<String>,
    status: Option<String>,
    event: Option<String>,
    txn_id: Option<String>,
    before: Option<String>,
    limit: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct WebhookResponse {
    id: String,
    url: String,
    description: String,
    /// Empty: all.
    events: Vec<WebhookEvent>,
    enabled: bool,
    created_at: String,
    updated_at: String,
    /// Until when the replaced secret signs as well.
    previous_secret_until: Option<String>,
    /// Only when it was just made.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

#[derive(Serialize)]
pub(super) struct WebhookListResponse {
    webhooks: Vec<WebhookResponse>,
}

#[derive(Serialize)]
pub(super) struct Rotated {
    id: String,
    secret: String,
    previous_secret_until: String,
}

#[derive(Serialize)]
pub(super) struct DeliveryResponse {
    id: String,
    webhook_id: String,
    event: WebhookEvent,
    txn_id: Option<String>,
    status: &'static str,
    attempts: i64,
    resends: i64,
    created_at: String,
    next_attempt_at: Option<String>,
    last_attempt_at: Option<String>,
    duration_ms: Option<i64>,
    response_status: Option<i64>,
    response_excerpt: Option<String>,
    error: Option<String>,
    delivered_at: Option<String>,
    /// Only for one delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Deliveries {
    deliveries: Vec<DeliveryResponse>,
    next_before: Option<String>,
}

fn time(at: Option<UnixMillis>) -> Option<String> {
    at.map(UnixMillis::to_rfc3339)
}

fn shown(state: &State, webhook: Webhook, secret: Option<String>) -> WebhookResponse {
    let Webhook { row, events } = webhook;
    WebhookResponse {
        id: row.id.to_string(),
        url: row.url,
        description: row.description,
        events,
        enabled: row.disabled_at.is_none(),
        created_at: row.created_at.to_rfc3339(),
        updated_at: row.updated_at.to_rfc3339(),
        previous_secret_until: time(row.previous_until_at.filter(|until| *until > state.now())),
        secret,
    }
}

fn delivery(row: DeliveryRow, body: Option<String>) -> DeliveryResponse {
    DeliveryResponse {
        id: row.id.to_string(),
        webhook_id: row.webhook_id.to_string(),
        event: row.event,
        txn_id: row.txn_id.map(|txn| txn.to_string()),
        status: row.status.as_str(),
        attempts: row.attempts,
        resends: row.resends,
        created_at: row.created_at.to_rfc3339(),
        next_attempt_at: time(row.next_at),
        last_attempt_at: time(row.last_attempt_at),
        duration_ms: row.last_millis,
        response_status: row.response_status,
        response_excerpt: row.response_excerpt,
        error: row.error,
        delivered_at: time(row.delivered_at),
        body,
    }
}

fn webhook_id(text: &str) -> Result<WebhookId> {
    text.parse().map_err(|_| Error::NotFound("webhook"))
}

fn delivery_id(text: &str) -> Result<DeliveryId> {
    text.parse().map_err(|_| Error::NotFound("delivery"))
}

const UUID: &str = "a UUID";
const STATUSES: &str = "pending, delivered or failed";

/// Reads a part of the query; `expected` says what it may be.
fn read<T>(
    field: &str,
    text: Option<&str>,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>> {
    text.map(|text| parse(text).ok_or_else(|| Error::field(field, format!("must be {expected}, not {text}"))))
        .transpose()
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(person): Manager,
) -> Result<Json<WebhookListResponse>> {
    let all = webhooks::list(&state, person.workspace()).await?;
    Ok(Json(WebhookListResponse { webhooks: all.into_iter().map(|one| shown(&state, one, None)).collect() }))
}

pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Json(input): Json<CreateWebhookRequest>,
) -> Result<(StatusCode, Json<WebhookResponse>)> {
    let input = WebhookInput { url: input.url, description: input.description, events: input.events };
    let (made, secret) = webhooks::create(&state, &person.actor(), input).await?;
    Ok((StatusCode::CREATED, Json(shown(&state, made, Some(secret.expose().clone())))))
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(id): Path<String>,
) -> Result<Json<WebhookResponse>> {
    let found = webhooks::get(&state, person.workspace(), webhook_id(&id)?).await?;
    Ok(Json(shown(&state, found, None)))
}

pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(id): Path<String>,
    Json(input): Json<UpdateWebhookRequest>,
) -> Result<Json<WebhookResponse>> {
    let patch = WebhookPatch {
        url: input.url,
        description: input.description,
        events: input.events,
        enabled: input.enabled,
    };
    let now = webhooks::update(&state, &person.actor(), webhook_id(&id)?, patch).await?;
    Ok(Json(shown(&state, now, None)))
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    webhooks::remove(&state, &person.actor(), webhook_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn rotate(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(id): Path<String>,
) -> Result<Json<Rotated>> {
    let (secret, until) = webhooks::rotate(&state, &person.actor(), webhook_id(&id)?).await?;
    Ok(Json(Rotated { id, secret: secret.expose().clone(), previous_secret_until: until.to_rfc3339() }))
}

pub(super) async fn deliveries_of(
    state: Extract<State>,
    person: Manager,
    Path(id): Path<String>,
    Query(which): Query<DeliveryListParams>,
) -> Result<Json<Deliveries>> {
    deliveries(
        state,
        person,
        Query(DeliveryListParams { webhook_id: Some(webhook_id(&id)?.to_string()), ..which }),
    )
    .await
}

pub(super) async fn deliveries(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Query(which): Query<DeliveryListParams>,
) -> Result<Json<Deliveries>> {
    let filter = DeliveryFilter {
        webhook: read("webhook_id", which.webhook_id.as_deref(), UUID, |text| text.parse().ok())?,
        status: read("status", which.status.as_deref(), STATUSES, DeliveryStatus::from_name)?,
        event: read("event", which.event.as_deref(), "the name of an event", WebhookEvent::from_name)?,
        txn: read("txn_id", which.txn_id.as_deref(), UUID, |text| text.parse().ok())?,
        before: read("before", which.before.as_deref(), UUID, |text| text.parse().ok())?,
    };
    let limit = which.limit.unwrap_or(PAGE).clamp(1, 500);
    let rows = webhooks::deliveries(&state, person.workspace(), &filter, limit).await?;
    let full = rows.len() == limit as usize;
    let next_before = rows.last().filter(|_| full).map(|row| row.id.to_string());
    Ok(Json(Deliveries {
        deliveries: rows.into_iter().map(|row| delivery(row, None)).collect(),
        next_before,
    }))
}

pub(super) async fn show_delivery(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(id): Path<String>,
) -> Result<Json<DeliveryResponse>> {
    let found = webhooks::delivery(&state, person.workspace(), delivery_id(&id)?).await?;
    Ok(Json(delivery(found.row, Some(String::from_utf8_lossy(&found.body).into_owned()))))
}

pub(super) async fn resend(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<DeliveryResponse>)> {
    let row = webhooks::resend(&state, &person.actor(), delivery_id(&id)?).await?;
    Ok((StatusCode::ACCEPTED, Json(delivery(row, None))))
}
