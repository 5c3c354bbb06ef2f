//! `/admin/webhooks` and `/admin/deliveries`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{DeliveryId, WebhookId};
use pyxis_core::webhook::WebhookEvent;
use pyxis_http::admin::{CompleteList, Listed, Manager, PageSize, Paged, PagedList};
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path, Query};
use pyxis_store::deliveries::{DeliveryFilter, DeliveryRow, DeliveryStatus};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::admin::webhooks::{self, Webhook, WebhookInput, WebhookPatch};
use crate::error::{Error, Result};
use crate::problems::{EndpointDisabled, SecretJustReplaced, TooManyEndpoints};
use crate::runtime::state::State;
use crate::values;

/// Deliveries on a page.
const PAGE_SIZE: PageSize = PageSize { default: 100, most: 500 };

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebhookInput)]
pub(super) struct CreateWebhookRequest {
    /// https, and a host that the egress guard admits.
    #[serde(default)]
    #[schema(format = "uri", required, max_length = 2048)]
    url: String,
    #[serde(default)]
    #[schema(max_length = 500)]
    description: String,
    /// Default: the three events of approvals. The others must be listed explicitly.
    #[serde(default)]
    #[schema(value_type = Vec<WebhookEvent>)]
    events: Vec<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebhookPatch)]
pub(super) struct UpdateWebhookRequest {
    #[schema(format = "uri", nullable = false, max_length = 2048)]
    url: Option<String>,
    #[schema(nullable = false, max_length = 500)]
    description: Option<String>,
    #[schema(value_type = Option<Vec<WebhookEvent>>, nullable = false)]
    events: Option<Vec<String>>,
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DeliveryListParams {
    /// Only to this endpoint.
    #[param(value_type = Option<Id>)]
    webhook_id: Option<String>,
    /// Only in this state.
    #[param(value_type = Option<values::DeliveryState>, inline)]
    status: Option<String>,
    /// Only of this event.
    #[param(value_type = Option<WebhookEvent>, inline)]
    event: Option<String>,
    /// Only about this transaction.
    #[param(value_type = Option<Id>)]
    txn_id: Option<String>,
    /// `next_before` of the previous page.
    #[param(value_type = Option<Id>)]
    before: Option<String>,
    /// Page size.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
pub(super) struct WebhookResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(format = "uri", example = "https://chat.example.org/hooks/release")]
    url: String,
    #[schema(example = "Chat of the release team")]
    description: String,
    /// Empty: all.
    events: Vec<WebhookEvent>,
    enabled: bool,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Time)]
    updated_at: String,
    /// Time until which the replaced secret also signs.
    #[schema(value_type = Option<Time>, required)]
    previous_secret_until: Option<String>,
    /// Only in the response that creates it: `whsec_` and 32 random bytes in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    secret: Option<String>,
}

impl Listed for WebhookResponse {
    const MEMBER: &'static str = "webhooks";
}

pub(super) type WebhookListResponse = CompleteList<WebhookResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = RotatedSecret)]
pub(super) struct Rotated {
    #[schema(value_type = Id)]
    id: String,
    #[schema(example = "whsec_<SECRET>")]
    secret: String,
    #[schema(value_type = Time)]
    previous_secret_until: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Delivery, example = json!({
    "id": "019c1234-9abc-7def-8012-3456789abcde",
    "webhook_id": "0190a2b4-7c00-7000-8000-000000000003",
    "event": "approval.requested",
    "txn_id": "019c1234-5678-7abc-8def-0123456789ab",
    "status": "delivered",
    "attempts": 1,
    "resends": 0,
    "created_at": "2026-01-31T09:05:00.250Z",
    "next_attempt_at": null,
    "last_attempt_at": "2026-01-31T09:05:00.500Z",
    "duration_ms": 120,
    "response_status": 200,
    "response_excerpt": "ok",
    "error": null,
    "delivered_at": "2026-01-31T09:05:00.620Z"
}))]
pub(super) struct DeliveryResponse {
    /// `PX-Delivery`.
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    webhook_id: String,
    event: WebhookEvent,
    #[schema(value_type = Option<Id>, required)]
    txn_id: Option<String>,
    #[schema(value_type = values::DeliveryState)]
    status: &'static str,
    /// Attempts since the last resend.
    #[schema(example = 1)]
    attempts: i64,
    #[schema(example = 0)]
    resends: i64,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Option<Time>, required)]
    next_attempt_at: Option<String>,
    #[schema(value_type = Option<Time>, required)]
    last_attempt_at: Option<String>,
    /// Duration of the last attempt.
    #[schema(required, example = 120)]
    duration_ms: Option<i64>,
    /// Status of the last response.
    #[schema(required, example = 200)]
    response_status: Option<i64>,
    /// Start of the last response.
    #[schema(required, example = "ok")]
    response_excerpt: Option<String>,
    /// Reason that the last attempt failed.
    #[schema(required, example = json!(null))]
    error: Option<String>,
    #[schema(value_type = Option<Time>, required)]
    delivered_at: Option<String>,
    /// The body as it is sent, byte for byte; only when one delivery is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    body: Option<String>,
}

impl Listed for DeliveryResponse {
    const MEMBER: &'static str = "deliveries";
}

impl Paged for DeliveryResponse {
    type Cursor = String;
    const NEXT: &'static str = "next_before";

    fn cursor(&self) -> String {
        self.id.clone()
    }
}

pub(super) type Deliveries = PagedList<DeliveryResponse>;

fn time(at: Option<UnixMillis>) -> Option<String> {
    at.map(UnixMillis::to_rfc3339)
}

fn webhook_response(now: UnixMillis, webhook: Webhook, secret: Option<String>) -> WebhookResponse {
    let Webhook { row, events } = webhook;
    WebhookResponse {
        id: row.id.to_string(),
        url: row.url,
        description: row.description,
        events,
        enabled: row.disabled_at.is_none(),
        created_at: row.created_at.to_rfc3339(),
        updated_at: row.updated_at.to_rfc3339(),
        previous_secret_until: time(row.previous_until_at.filter(|until| *until > now)),
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
    text.parse().map_err(|_| Error::not_found("webhook"))
}

fn delivery_id(text: &str) -> Result<DeliveryId> {
    text.parse().map_err(|_| Error::not_found("delivery"))
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

/// List webhook endpoints.
#[utoipa::path(
    get,
    path = "/admin/webhooks",
    tag = "Webhooks",
    operation_id = "listWebhooks",
    security(("session" = [])),
    responses(
        (status = 200, description = "Oldest first, without their secrets.", body = WebhookListResponse),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<WebhookListResponse>> {
    let all = webhooks::list(&state.store, actor.workspace).await?;
    Ok(Json(all.into_iter().map(|one| webhook_response(state.now(), one, None)).collect()))
}

/// Add a webhook endpoint and create its signing secret.
///
/// Deliveries are POST requests with `PX-Event`, `PX-Delivery` and `PX-Signature: t=<unix time>,v1=<hex>`.
/// `PX-Delivery` is the same for all attempts and resends, so use it to detect duplicates. `v1` is the HMAC-SHA256
/// of `<t>.<raw body>`, keyed by the text of the secret. Any 2xx acknowledges a delivery. After any other
/// response, including redirects, it is sent again after 15 s, 60 s, 3 min and 6 min.
#[utoipa::path(
    post,
    path = "/admin/webhooks",
    tag = "Webhooks",
    operation_id = "createWebhook",
    security(("session" = [])),
    request_body(content = CreateWebhookRequest, example = json!({"url": "https://hooks.example.com/pyxis", "events": ["approval.requested"]})),
    responses(
        (status = 201, description = "The endpoint with its secret, shown once.", body = WebhookResponse),
        (status = 409, response = TooManyEndpoints),
    ),
)]
pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<CreateWebhookRequest>,
) -> Result<(StatusCode, Json<WebhookResponse>)> {
    let input = WebhookInput { url: input.url, description: input.description, events: input.events };
    let (made, secret) = webhooks::create(&state, &actor, input).await?;
    Ok((StatusCode::CREATED, Json(webhook_response(state.now(), made, Some(secret.expose().clone())))))
}

/// Show a webhook endpoint.
#[utoipa::path(
    get,
    path = "/admin/webhooks/{id}",
    tag = "Webhooks",
    operation_id = "showWebhook",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The endpoint.")),
    responses(
        (status = 200, description = "Without its secret.", body = WebhookResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<Json<WebhookResponse>> {
    let found = webhooks::get(&state.store, actor.workspace, webhook_id(&id)?).await?;
    Ok(Json(webhook_response(state.now(), found, None)))
}

/// Change a webhook endpoint.
///
/// Members that are left out stay unchanged. Events during the time in which it is disabled are not delivered;
/// deliveries that were pending before are sent once it is enabled again.
#[utoipa::path(
    patch,
    path = "/admin/webhooks/{id}",
    tag = "Webhooks",
    operation_id = "updateWebhook",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The endpoint.")),
    request_body(content = Option<UpdateWebhookRequest>, example = json!({"enabled": false})),
    responses(
        (status = 200, description = "The endpoint after the change.", body = WebhookResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
    Json(input): Json<UpdateWebhookRequest>,
) -> Result<Json<WebhookResponse>> {
    let patch = WebhookPatch {
        url: input.url,
        description: input.description,
        events: input.events,
        enabled: input.enabled,
    };
    let changed = webhooks::update(&state, &actor, webhook_id(&id)?, patch).await?;
    Ok(Json(webhook_response(state.now(), changed, None)))
}

/// Remove a webhook endpoint and its deliveries.
#[utoipa::path(
    delete,
    path = "/admin/webhooks/{id}",
    tag = "Webhooks",
    operation_id = "removeWebhook",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The endpoint.")),
    responses(
        (status = 204, description = "Nothing is sent to it any more."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    webhooks::remove(&state.audited, &actor, webhook_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Replace the signing secret.
///
/// For 24 hours both secrets sign: `PX-Signature` then has two `v1` values, the new one first.
#[utoipa::path(
    post,
    path = "/admin/webhooks/{id}/rotate-secret",
    tag = "Webhooks",
    operation_id = "rotateWebhookSecret",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The endpoint.")),
    responses(
        (status = 200, description = "The new secret, shown once.", body = Rotated),
        (status = 404, response = NotFound),
        (status = 409, response = SecretJustReplaced),
    ),
)]
pub(super) async fn rotate(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<Json<Rotated>> {
    let (secret, until) = webhooks::rotate(&state, &actor, webhook_id(&id)?).await?;
    Ok(Json(Rotated { id, secret: secret.expose().clone(), previous_secret_until: until.to_rfc3339() }))
}

/// List deliveries to an endpoint, newest first.
#[utoipa::path(
    get,
    path = "/admin/webhooks/{id}/deliveries",
    tag = "Webhooks",
    operation_id = "listDeliveriesOfWebhook",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The endpoint."), DeliveryListParams),
    responses(
        (status = 200, description = "One page, without bodies.", body = Deliveries),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
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

/// List deliveries to all endpoints, newest first.
#[utoipa::path(
    get,
    path = "/admin/deliveries",
    tag = "Webhooks",
    operation_id = "listDeliveries",
    security(("session" = [])),
    params(DeliveryListParams),
    responses(
        (status = 200, description = "One page, without bodies.", body = Deliveries),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn deliveries(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Query(which): Query<DeliveryListParams>,
) -> Result<Json<Deliveries>> {
    let events: Vec<_> = WebhookEvent::ALL.iter().map(|event| event.as_str()).collect();
    let events = format!("one of {}", events.join(", "));
    let filter = DeliveryFilter {
        webhook: read("webhook_id", which.webhook_id.as_deref(), UUID, |text| text.parse().ok())?,
        status: read("status", which.status.as_deref(), STATUSES, DeliveryStatus::from_name)?,
        event: read("event", which.event.as_deref(), &events, WebhookEvent::from_name)?,
        txn: read("txn_id", which.txn_id.as_deref(), UUID, |text| text.parse().ok())?,
        before: read("before", which.before.as_deref(), UUID, |text| text.parse().ok())?,
    };
    let limit = PAGE_SIZE.clamp(which.limit);
    let rows = webhooks::deliveries(&state.store, actor.workspace, &filter, limit).await?;
    let deliveries = rows.into_iter().map(|row| delivery(row, None)).collect();
    Ok(Json(PagedList::new(deliveries, limit)))
}

/// Show a delivery with its body.
#[utoipa::path(
    get,
    path = "/admin/deliveries/{id}",
    tag = "Webhooks",
    operation_id = "showDelivery",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The delivery.")),
    responses(
        (status = 200, description = "The delivery.", body = DeliveryResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show_delivery(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<Json<DeliveryResponse>> {
    let found = webhooks::delivery(&state.store, &state.keyring, actor.workspace, delivery_id(&id)?).await?;
    Ok(Json(delivery(found.row, Some(String::from_utf8_lossy(&found.body).into_owned()))))
}

/// Send a stored delivery again.
///
/// Sends the same bytes with the same `PX-Delivery`, signed with the current time, with five new attempts.
/// Deliveries are kept for 30 days.
#[utoipa::path(
    post,
    path = "/admin/deliveries/{id}/resend",
    tag = "Webhooks",
    operation_id = "resendDelivery",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The delivery.")),
    responses(
        (status = 202, description = "The delivery is due now.", body = DeliveryResponse),
        (status = 404, response = NotFound),
        (status = 409, response = EndpointDisabled),
    ),
)]
pub(super) async fn resend(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<DeliveryResponse>)> {
    let row = webhooks::resend(&state, &actor, delivery_id(&id)?).await?;
    Ok((StatusCode::ACCEPTED, Json(delivery(row, None))))
}
