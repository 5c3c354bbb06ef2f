//! Webhook endpoints, their deliveries, and resending them.

use axum::response::Response;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{DeliveryId, WebhookId};
use pyxis_core::secret::SecretString;
use pyxis_core::webhook::WebhookEvent;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::webhooks::{self, Webhook, WebhookInput, WebhookPatch};
use pyxis_store::deliveries::{DeliveryFilter, DeliveryRow, DeliveryStatus};
use pyxis_store::lists::{self, SortKey, WebhookItem};
use pyxis_store::webhooks::WebhookRow;
use serde::Deserialize;

use super::agents::unprocessable;
use super::labels::enabled;
use super::list_query::{ListQuery, ListSlot};
use super::problem;
use super::table::{By, Table};
use crate::cookies::Cookies;
use crate::error::html;
use crate::form::{Fields, Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{Manager, SignedIn};
use crate::view::webhooks::{
    DeliveryBadge, DeliveryLine, DeliveryPage, NewWebhookPage, WebhookForm, WebhookLine, WebhookPage,
    WebhookSecretPage, WebhooksPage,
};
use crate::view::{Choice, Problems, Timestamp};
use crate::{Error, State, text};

const HERE: &str = "/app/webhooks";
/// Deliveries on a page.
const PAGE: u32 = 50;

/// Query that selects deliveries.
#[derive(Default, Deserialize)]
pub(crate) struct DeliveryParams {
    #[serde(default)]
    q: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    before: String,
}

/// Parses a webhook id. A malformed one is not found.
fn webhook_id(text: &str) -> Result<WebhookId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

fn delivery_id(text: &str) -> Result<DeliveryId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

pub(crate) async fn list(
    Page { state, who, query: asked }: Page<Manager, ListQuery>,
) -> Result<Response, Error> {
    let store = &state.gateway.store;
    let list = lists::webhooks(who.person.workspace());
    if let Some(file) = TABLE.file(store, &asked, &list) {
        return Ok(file);
    }
    let (shown, search) = TABLE.page(store, HERE, &asked, &list).await?;
    let webhooks = shown.into_iter().map(line).collect();
    html(&WebhooksPage { shell: who.shell(&state).await?, search, webhooks })
}

const TABLE: Table<WebhookItem, SortKey<WebhookItem>> = Table {
    name: "webhooks",
    place: ListSlot::First,
    columns: &[
        ("url", By::Text(|item| item.row.url.clone()), WebhookItem::URL),
        ("description", By::Text(|item| item.row.description.clone()), WebhookItem::DESCRIPTION),
        ("state", By::Text(|item| enabled(item.row.disabled_at).to_owned()), WebhookItem::STATE),
        ("events", By::Text(|item| events(&item.row)), WebhookItem::EVENTS),
        ("delivered", By::Number(|item| item.delivered), WebhookItem::DELIVERED),
        ("pending", By::Number(|item| item.pending), WebhookItem::PENDING),
        ("failed", By::Number(|item| item.failed), WebhookItem::FAILED),
        ("created", By::Time(|item| Some(item.row.created_at)), WebhookItem::CREATED),
    ],
    usual: "created",
};

/// Names of the subscribed events.
fn events(row: &WebhookRow) -> String {
    match serde_json::from_str::<Vec<String>>(&row.events) {
        Ok(names) if names.is_empty() => "all approval events".to_owned(),
        Ok(names) => names.join(", "),
        Err(_) => "unreadable".to_owned(),
    }
}

fn line(item: WebhookItem) -> WebhookLine {
    let [pending, delivered, failed] =
        [item.pending, item.delivered, item.failed].map(|count| u64::try_from(count).unwrap_or(0));
    let counts = match (pending, delivered) {
        (0, 0) if failed == 0 => "no deliveries yet".to_owned(),
        (0, _) => format!("{delivered} delivered"),
        (_, _) => format!("{delivered} delivered, {pending} pending"),
    };
    WebhookLine {
        id: item.row.id.to_string(),
        events: events(&item.row),
        url: item.row.url,
        description: item.row.description,
        enabled: item.row.disabled_at.is_none(),
        pending,
        failed,
        counts,
    }
}

fn choices(chosen: impl Fn(WebhookEvent) -> bool) -> Vec<Choice> {
    let label = |event| match event {
        WebhookEvent::Requested => "a request needs approval",
        WebhookEvent::Decided => "a person approved or denied it",
        WebhookEvent::Expired => "no one decided in time, or the agent withdrew the request",
        WebhookEvent::ScoreChanged => "the score of an address changed in a scorer",
        WebhookEvent::ReviewRequested => "a holder asked for a review of a score",
        WebhookEvent::ReviewDecided => "a manager decided a review",
        WebhookEvent::TaskProposed => "an agent proposed a task",
        WebhookEvent::TaskDecided => "a person approved or denied a task",
    };
    let choice = |event: &WebhookEvent| Choice {
        value: event.as_str().to_owned(),
        label: label(*event).to_owned(),
        chosen: chosen(*event),
    };
    WebhookEvent::ALL.iter().map(choice).collect()
}

/// The form as it was typed.
fn typed(fields: &Fields, problems: Problems) -> WebhookForm {
    let ticked: Vec<&str> = fields.all("event").collect();
    WebhookForm {
        url: fields.trimmed("url"),
        description: fields.trimmed("description"),
        events: choices(|event| ticked.contains(&event.as_str())),
        problems,
    }
}

fn field(name: &str) -> &'static str {
    match name {
        "description" => "description",
        "events" => "event",
        _ => "url",
    }
}

pub(crate) async fn new(Page { state, who, .. }: Page<Manager>) -> Result<Response, Error> {
    let form = WebhookForm { events: choices(|_| false), ..WebhookForm::default() };
    html(&NewWebhookPage { shell: who.shell(&state).await?, form })
}

pub(crate) async fn add(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let input = WebhookInput {
        url: fields.trimmed("url"),
        description: fields.trimmed("description"),
        events: fields.all("event").map(str::to_owned).collect(),
    };
    match webhooks::create(&state.gateway, &who.person.actor(), input).await {
        Ok((webhook, secret)) => secret_page(&state, &who, webhook, &secret, None).await,
        Err(error) => {
            let form = typed(&fields, problem(error, "url", field)?);
            Ok(unprocessable(html(&NewWebhookPage { shell: who.shell(&state).await?, form })?))
        }
    }
}

async fn secret_page(
    state: &State,
    who: &SignedIn,
    webhook: Webhook,
    secret: &SecretString,
    until: Option<UnixMillis>,
) -> Result<Response, Error> {
    html(&WebhookSecretPage {
        shell: who.shell(state).await?,
        id: webhook.row.id.to_string(),
        url: webhook.row.url,
        secret: secret.expose().clone(),
        both_until: until.map(|until| Timestamp::new(until, state.gateway.now())),
    })
}

pub(crate) async fn show(
    Page { state, who, query: which }: Page<Manager, DeliveryParams>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let webhook = webhooks::get(&state.gateway.store, who.person.workspace(), webhook_id(&id)?).await?;
    let chosen = &webhook.events;
    let form = WebhookForm {
        url: webhook.row.url.clone(),
        description: webhook.row.description.clone(),
        events: choices(|event| chosen.contains(&event)),
        problems: Problems::default(),
    };
    page(&state, &who, webhook, &which, form).await
}

async fn page(
    state: &State,
    who: &SignedIn,
    webhook: Webhook,
    which: &DeliveryParams,
    form: WebhookForm,
) -> Result<Response, Error> {
    let (now, id) = (state.gateway.now(), webhook.row.id);
    let [pending, delivered, failed] =
        webhooks::counts(&state.gateway.store, who.person.workspace(), id).await?;
    let status = DeliveryStatus::from_name(&which.status);
    let before = which.before.parse().ok();
    let q = which.q.trim();
    let filter = DeliveryFilter { webhook: Some(id), status, before, ..DeliveryFilter::default() };
    let mut rows = match narrow_filter(q, filter) {
        Some(filter) => {
            webhooks::deliveries(&state.gateway.store, who.person.workspace(), &filter, PAGE + 1).await?
        }
        None => Vec::new(),
    };
    let more = rows.len() > PAGE as usize;
    rows.truncate(PAGE as usize);
    let last = rows.last().filter(|_| more).map(|row| row.id);
    html(&WebhookPage {
        shell: who.shell(state).await?,
        created: Timestamp::new(webhook.row.created_at, now),
        both_until: webhook
            .row
            .previous_until_at
            .filter(|until| *until > now)
            .map(|until| Timestamp::new(until, now)),
        deliveries: rows.iter().map(|row| delivery_line(row, now)).collect(),
        statuses: statuses(status),
        first: q.is_empty() && status.is_none() && before.is_none(),
        older: last.map(|last| {
            let q = utf8_percent_encode(q, NON_ALPHANUMERIC);
            format!("{HERE}/{id}?q={q}&status={}&before={last}", status_label(status))
        }),
        q: q.to_owned(),
        webhook: line(WebhookItem { row: webhook.row, pending, delivered, failed }),
        form,
    })
}

/// Narrows the filter to a transaction or an event that `q` names; `None` if it names neither.
fn narrow_filter(q: &str, filter: DeliveryFilter) -> Option<DeliveryFilter> {
    if q.is_empty() {
        return Some(filter);
    }
    if let Ok(txn) = q.parse() {
        return Some(DeliveryFilter { txn: Some(txn), ..filter });
    }
    let event = WebhookEvent::ALL.iter().find(|event| event.as_str().eq_ignore_ascii_case(q))?;
    Some(DeliveryFilter { event: Some(*event), ..filter })
}

fn status_label(status: Option<DeliveryStatus>) -> &'static str {
    status.map_or("", DeliveryStatus::as_str)
}

fn statuses(chosen: Option<DeliveryStatus>) -> Vec<Choice> {
    let all = [
        (None, "All"),
        (Some(DeliveryStatus::Pending), "Pending"),
        (Some(DeliveryStatus::Delivered), "Delivered"),
        (Some(DeliveryStatus::Failed), "Failed"),
    ];
    let choice = |(status, label): (Option<DeliveryStatus>, &str)| Choice {
        value: status_label(status).to_owned(),
        label: label.to_owned(),
        chosen: status == chosen,
    };
    all.into_iter().map(choice).collect()
}

fn delivery_line(row: &DeliveryRow, now: UnixMillis) -> DeliveryLine {
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let mut attempts = text::count_noun(count(row.attempts), "attempt");
    if row.resends > 0 {
        attempts = format!("{attempts}, resent {}", text::count_noun(count(row.resends), "time"));
    }
    DeliveryLine {
        id: row.id.to_string(),
        event: row.event.as_str().to_owned(),
        progress: match row.status {
            DeliveryStatus::Pending => DeliveryBadge::Waiting,
            DeliveryStatus::Delivered => DeliveryBadge::Delivered,
            DeliveryStatus::Failed => DeliveryBadge::Failed,
        },
        attempts,
        answer: match (row.response_status, &row.error) {
            (Some(status), _) => status.to_string(),
            (None, Some(_)) => "no response".to_owned(),
            (None, None) => "not attempted yet".to_owned(),
        },
        created: Timestamp::new(row.created_at, now),
    }
}

pub(crate) async fn edit(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let id = webhook_id(&id)?;
    let patch = WebhookPatch {
        url: Some(fields.trimmed("url")),
        description: Some(fields.trimmed("description")),
        events: Some(fields.all("event").map(str::to_owned).collect()),
        enabled: None,
    };
    let problems = match webhooks::update(&state.gateway, &who.person.actor(), id, patch).await {
        Ok(_) => return Ok(Notice::Saved.redirect(state.cookies, &format!("{HERE}/{id}"))),
        Err(error) => problem(error, "url", field)?,
    };
    let webhook = webhooks::get(&state.gateway.store, who.person.workspace(), id).await?;
    let form = typed(&fields, problems);
    Ok(unprocessable(page(&state, &who, webhook, &DeliveryParams::default(), form).await?))
}

pub(crate) async fn rotate(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let id = webhook_id(&id)?;
    let (secret, until) = webhooks::rotate(&state.gateway, &who.person.actor(), id).await?;
    let webhook = webhooks::get(&state.gateway.store, who.person.workspace(), id).await?;
    secret_page(&state, &who, webhook, &secret, Some(until)).await
}

pub(crate) async fn disable(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    switch(state.cookies, &state.gateway, &who, &id, false, Notice::WebhookDisabled).await
}

pub(crate) async fn enable(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    switch(state.cookies, &state.gateway, &who, &id, true, Notice::WebhookEnabled).await
}

async fn switch(
    cookies: Cookies,
    gateway: &pyxis_gateway::State,
    who: &SignedIn,
    id: &str,
    enabled: bool,
    notice: Notice,
) -> Result<Response, Error> {
    let id = webhook_id(id)?;
    let patch = WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
    webhooks::update(gateway, &who.person.actor(), id, patch).await?;
    Ok(notice.redirect(cookies, &format!("{HERE}/{id}")))
}

pub(crate) async fn remove(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    webhooks::remove(&state.gateway.audited, &who.person.actor(), webhook_id(&id)?).await?;
    Ok(Notice::WebhookRemoved.redirect(state.cookies, HERE))
}

pub(crate) async fn delivery(
    Page { state, who, .. }: Page<Manager>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let (now, workspace) = (state.gateway.now(), who.person.workspace());
    let found =
        webhooks::delivery(&state.gateway.store, &state.gateway.keyring, workspace, delivery_id(&id)?)
            .await?;
    let webhook = webhooks::get(&state.gateway.store, workspace, found.row.webhook_id).await?;
    let row = &found.row;
    let took = |millis| format!("{millis} ms");
    html(&DeliveryPage {
        shell: who.shell(&state).await?,
        delivery: delivery_line(row, now),
        webhook: row.webhook_id.to_string(),
        url: webhook.row.url,
        txn: row.txn_id.map(|txn| txn.to_string()),
        next: row.next_at.map(|at| Timestamp::new(at, now)),
        last: row
            .last_attempt_at
            .zip(row.last_millis)
            .map(|(at, millis)| (Timestamp::new(at, now), took(millis))),
        error: row.error.clone(),
        excerpt: row.response_excerpt.clone(),
        body: String::from_utf8_lossy(&found.body).into_owned(),
    })
}

pub(crate) async fn resend(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let id = delivery_id(&id)?;
    let notice = match webhooks::resend(&state.gateway, &who.person.actor(), id).await {
        Ok(_) => Notice::Resent,
        Err(Service::Conflict(_)) => Notice::ResendDisabled,
        Err(error) => return Err(error.into()),
    };
    Ok(notice.redirect(state.cookies, &format!("/app/deliveries/{id}")))
}
