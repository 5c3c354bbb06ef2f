//! Webhook endpoints and their deliveries.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy;
use pyxis_core::entropy::Entropy;
use pyxis_core::id::{DeliveryId, WebhookId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_core::target::{Scheme, Target};
use pyxis_core::webhook::{ROTATION, SECRET_PREFIX, WebhookEvent};
use pyxis_net::Client;
use pyxis_net::HostPort;
use pyxis_store::Store;
use pyxis_store::audit::AuditedStore;
use pyxis_store::cipher::Keyring;
use pyxis_store::deliveries::{self, DeliveryFilter, DeliveryRow};
use pyxis_store::webhooks::{self, WebhookChange, WebhookRow};
use serde_json::json;

use super::description::check_description;
use crate::error::{Error, Result};
use crate::notifications::webhooks::read_events;
use crate::runtime::state::State;
use pyxis_core::actor::Actor;

/// Maximum length of a URL, in bytes.
const MAX_URL: usize = 2048;
/// Maximum length of a description, in bytes.
const MAX_DESCRIPTION: usize = 500;
/// Maximum number of endpoints per workspace.
const MAX_ENDPOINTS: usize = 50;

/// An endpoint with its parsed events.
#[derive(Clone, Debug)]
pub struct Webhook {
    pub row: WebhookRow,
    /// Subscribed events; empty means all.
    pub events: Vec<WebhookEvent>,
}

/// Settings of a new endpoint.
#[derive(Clone, Debug, Default)]
pub struct WebhookInput {
    /// URL to which deliveries are posted: https, with a host that the egress guard allows.
    pub url: String,
    /// Description for people.
    pub description: String,
    /// Names of events; empty means all.
    pub events: Vec<String>,
}

/// Change to an endpoint; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct WebhookPatch {
    /// New URL.
    pub url: Option<String>,
    /// New description.
    pub description: Option<String>,
    /// New event names.
    pub events: Option<Vec<String>>,
    /// True enables, false disables. Pending deliveries are sent once it is enabled again.
    pub enabled: Option<bool>,
}

/// A delivery with its body.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub row: DeliveryRow,
    /// Bytes that are sent.
    pub body: Vec<u8>,
}

/// Adds an endpoint. Its secret is returned only here.
pub async fn create(state: &State, actor: &Actor, input: WebhookInput) -> Result<(Webhook, SecretString)> {
    let events = read_names(&input.events)?;
    check_description(&input.description, MAX_DESCRIPTION)?;
    let host = check_url(&state.net, &input.url).await?;
    let (now, secret) = (state.now(), new_secret(&*state.entropy));
    let id = WebhookId::new(now, &*state.entropy);
    let aad = webhooks::secret_aad(actor.workspace, id);
    let row = WebhookRow {
        id,
        workspace_id: actor.workspace,
        url: input.url,
        description: input.description,
        events: names(&events),
        sealed_secret: state.keyring.seal(&*state.entropy, &aad, secret.expose().as_bytes()),
        sealed_previous: None,
        previous_until_at: None,
        disabled_at: None,
        created_at: now,
        updated_at: now,
    };
    let mut change = state.audited.begin(actor).await?;
    if webhooks::list(&mut change.tx, actor.workspace).await?.len() >= MAX_ENDPOINTS {
        return Err(Error::Conflict("a workspace can have at most 50 endpoints; remove one first"));
    }
    webhooks::insert(&mut change.tx, &row).await?;
    change.commit(AuditEvent::WebhookCreated, json!({ "id": id, "host": host, "events": events })).await?;
    Ok((Webhook { row, events }, secret))
}

/// The endpoint with this id.
pub async fn get(store: &Store, workspace: WorkspaceId, id: WebhookId) -> Result<Webhook> {
    let row = webhooks::find(store, workspace, id).await?.ok_or(Error::not_found("webhook"))?;
    Ok(Webhook { events: read_events(&row.events)?, row })
}

/// All endpoints of a workspace, oldest first.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<Webhook>> {
    let rows = webhooks::list(store, workspace).await?;
    rows.into_iter().map(|row| Ok(Webhook { events: read_events(&row.events)?, row })).collect()
}

/// Changes an endpoint.
pub async fn update(state: &State, actor: &Actor, id: WebhookId, patch: WebhookPatch) -> Result<Webhook> {
    let before = get(&state.store, actor.workspace, id).await?;
    let events = patch.events.as_deref().map(read_names).transpose()?;
    if let Some(description) = &patch.description {
        check_description(description, MAX_DESCRIPTION)?;
    }
    let host = match &patch.url {
        Some(url) => check_url(&state.net, url).await?,
        None => host_of(&before.row.url),
    };
    let change_of_row = WebhookChange {
        url: patch.url,
        description: patch.description,
        events: events.as_deref().map(names),
        disabled_at: patch.enabled.map(|enabled| (!enabled).then(|| state.now())),
    };
    let mut change = state.audited.begin(actor).await?;
    if !webhooks::update(&mut change.tx, actor.workspace, id, change_of_row, state.now()).await? {
        return Err(Error::not_found("webhook"));
    }
    let detail = json!({ "id": id, "host": host, "events": events, "enabled": patch.enabled });
    change.commit(AuditEvent::WebhookChanged, detail).await?;
    state.work.deliveries().notify_one();
    get(&state.store, actor.workspace, id).await
}

/// Removes an endpoint with its stored deliveries.
pub async fn remove(db: &AuditedStore, actor: &Actor, id: WebhookId) -> Result<()> {
    let mut change = db.begin(actor).await?;
    let found = webhooks::find(&mut change.tx, actor.workspace, id).await?;
    let found = found.ok_or(Error::not_found("webhook"))?;
    webhooks::remove(&mut change.tx, actor.workspace, id).await?;
    Ok(change.commit(AuditEvent::WebhookRemoved, json!({ "id": id, "host": host_of(&found.url) })).await?)
}

/// Replaces the secret. The new one is returned only here; the old one also signs until the returned time.
pub async fn rotate(state: &State, actor: &Actor, id: WebhookId) -> Result<(SecretString, UnixMillis)> {
    let before = get(&state.store, actor.workspace, id).await?.row;
    let (secret_aad, previous_aad) =
        (webhooks::secret_aad(actor.workspace, id), webhooks::previous_aad(actor.workspace, id));
    let opened = state.keyring.open(&secret_aad, &before.sealed_secret);
    let present = opened.map_err(|error| Error::Internal(Box::new(error)))?;
    let secret = new_secret(&*state.entropy);
    let sealed = state.keyring.seal(&*state.entropy, &secret_aad, secret.expose().as_bytes());
    let previous = state.keyring.seal(&*state.entropy, &previous_aad, present.expose());
    let now = state.now();
    let until = now.plus(ROTATION);
    let mut change = state.audited.begin(actor).await?;
    let rotated = webhooks::rotate(
        &mut change.tx,
        actor.workspace,
        id,
        &before.sealed_secret,
        &sealed,
        &previous,
        until,
        now,
    );
    if !rotated.await? {
        return Err(Error::Conflict("someone else just replaced the secret; try again"));
    }
    let detail = json!({ "id": id, "host": host_of(&before.url), "both_sign_until": until.to_rfc3339() });
    change.commit(AuditEvent::WebhookSecretReplaced, detail).await?;
    Ok((secret, until))
}

/// Deliveries of a workspace, newest first.
pub async fn deliveries(
    store: &Store,
    workspace: WorkspaceId,
    filter: &DeliveryFilter,
    limit: u32,
) -> Result<Vec<DeliveryRow>> {
    if let Some(webhook) = filter.webhook {
        get(store, workspace, webhook).await?;
    }
    Ok(deliveries::list(store, workspace, filter, limit.clamp(1, 500)).await?)
}

/// Number of an endpoint's pending, delivered and failed deliveries.
pub async fn counts(store: &Store, workspace: WorkspaceId, id: WebhookId) -> Result<[i64; 3]> {
    Ok(deliveries::counts(store, workspace, id).await?)
}

/// The delivery with this id, with its body.
pub async fn delivery(
    store: &Store,
    keyring: &Keyring,
    workspace: WorkspaceId,
    id: DeliveryId,
) -> Result<Delivery> {
    let missing = || Error::not_found("delivery");
    let row = deliveries::find(store, workspace, id).await?.ok_or_else(missing)?;
    let sealed = deliveries::body(store, workspace, id).await?.ok_or_else(missing)?;
    let opened = keyring.open(&deliveries::body_aad(workspace, id), &sealed);
    let body = opened.map_err(|error| Error::Internal(Box::new(error)))?;
    Ok(Delivery { row, body: body.expose().clone() })
}

/// Sends a stored delivery again: the same bytes and `PX-Delivery`, with a new signature and five new attempts.
pub async fn resend(state: &State, actor: &Actor, id: DeliveryId) -> Result<DeliveryRow> {
    let mut change = state.audited.begin(actor).await?;
    let found = deliveries::find(&mut change.tx, actor.workspace, id).await?;
    let found = found.ok_or(Error::not_found("delivery"))?;
    let hook = webhooks::find(&mut change.tx, actor.workspace, found.webhook_id).await?;
    if hook.is_none_or(|hook| hook.disabled_at.is_some()) {
        return Err(Error::Conflict("the endpoint is disabled; enable it, then send again"));
    }
    deliveries::resend(&mut change.tx, actor.workspace, id, state.now()).await?;
    let row =
        deliveries::find(&mut change.tx, actor.workspace, id).await?.ok_or(Error::not_found("delivery"))?;
    let detail = json!({ "delivery": id, "webhook": found.webhook_id, "event": found.event });
    change.commit(AuditEvent::WebhookResent, detail).await?;
    state.work.deliveries().notify_one();
    Ok(row)
}

fn new_secret(entropy: &dyn Entropy) -> SecretString {
    SecretString::new(format!("{SECRET_PREFIX}{}", STANDARD.encode(entropy::bytes::<32>(entropy))))
}

fn names(events: &[WebhookEvent]) -> String {
    json!(events).to_string()
}

fn read_names(names: &[String]) -> Result<Vec<WebhookEvent>> {
    let mut events = Vec::with_capacity(names.len());
    for name in names {
        let event = WebhookEvent::from_name(name).ok_or_else(|| {
            let known: Vec<_> = WebhookEvent::ALL.iter().map(|event| event.as_str()).collect();
            Error::field("events", format!("unknown event {name}; use {}", known.join(", ")))
        })?;
        if !events.contains(&event) {
            events.push(event);
        }
    }
    Ok(events)
}

/// Requires https and an allowed host (`docs/reference/webhooks.md#delivery`). Returns the host.
async fn check_url(net: &Client, url: &str) -> Result<String> {
    let refused = |detail: &str| Error::field("url", detail);
    if url.len() > MAX_URL {
        return Err(refused("must have at most 2048 bytes"));
    }
    let target = Target::parse(url).map_err(|error| refused(&error.to_string()))?;
    if target.scheme() != Scheme::Https {
        return Err(refused("must be an https URL"));
    }
    if url.contains('#') {
        return Err(refused("must have no fragment"));
    }
    let uri: Uri = url.parse().map_err(|_| refused("not a URL; percent-encode characters outside ASCII"))?;
    let host = HostPort::from_uri(&uri).map_err(|error| refused(&error.to_string()))?;
    match net.check(&host).await {
        Ok(()) => Ok(host.host().to_owned()),
        Err(error) => Err(refused(&error.to_string())),
    }
}

fn host_of(url: &str) -> String {
    let uri: Option<Uri> = url.parse().ok();
    uri.and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
}
