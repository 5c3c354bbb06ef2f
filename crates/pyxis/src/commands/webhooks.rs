//! `pyxis webhook`.

use anyhow::{Context, Result};
use pyxis_core::admin_error::Missing;
use pyxis_core::id::{WebhookId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::webhooks::{self, Webhook, WebhookInput, WebhookPatch};
use pyxis_gateway::{Error, State};
use pyxis_store::deliveries::{DeliveryFilter, DeliveryRow, DeliveryStatus};
use serde_json::{Value, json};

use super::confirm::confirm;
use super::{acting, out};
use crate::cli::{Global, WebhookCommand};

pub(super) async fn run(global: &Global, command: WebhookCommand) -> Result<()> {
    let (app, actor) = acting(global).await?;
    let (state, workspace) = (&app.gateway, actor.workspace);
    match command {
        WebhookCommand::Add { url, events, description } => {
            let input = WebhookInput { url, description, events };
            let (webhook, secret) = webhooks::create(state, &actor, input).await?;
            print_secret(global.json, webhook_json(&webhook), &secret);
        }
        WebhookCommand::List => {
            let rows: Vec<_> =
                webhooks::list(&state.store, workspace).await?.iter().map(webhook_json).collect();
            out::list(
                global.json,
                "webhook endpoints",
                &["id", "url", "events", "enabled", "created_at"],
                &rows,
            );
        }
        WebhookCommand::Enable { id } => set_enabled(global, &app, &actor, &id, true).await?,
        WebhookCommand::Disable { id } => set_enabled(global, &app, &actor, &id, false).await?,
        WebhookCommand::Remove { id, confirmation } => {
            let endpoint = known(state, workspace, &id).await?;
            confirm(confirmation, &format!("remove the endpoint {id} and its deliveries"))?;
            webhooks::remove(&state.audited, &actor, endpoint).await?;
            if global.json {
                out::json(&json!({ "removed": id }));
            } else {
                out::line(format_args!("removed {id}"));
            }
        }
        WebhookCommand::RotateSecret { id } => {
            let id = known(state, workspace, &id).await?;
            let (secret, until) = webhooks::rotate(state, &actor, id).await?;
            let value = json!({ "id": id, "previous_secret_until": until.to_rfc3339() });
            print_secret(global.json, value, &secret);
        }
        WebhookCommand::Deliveries { webhook, status, limit } => {
            let filter = DeliveryFilter {
                webhook: webhook.as_deref().map(endpoint_id).transpose()?,
                status: status.map(|text| read_status(&text)).transpose()?,
                ..DeliveryFilter::default()
            };
            let rows = webhooks::deliveries(&state.store, workspace, &filter, limit).await?;
            let rows: Vec<_> = rows.iter().map(delivery).collect();
            let columns = ["id", "event", "status", "attempts", "response_status", "error", "created_at"];
            out::list(global.json, "deliveries", &columns, &rows);
        }
        WebhookCommand::Resend { id } => {
            let id =
                id.parse().ok().context("not a delivery id; `pyxis webhook deliveries` shows the ids")?;
            let row = webhooks::resend(state, &actor, id).await?;
            if global.json {
                out::json(&delivery(&row));
            } else {
                out::line(format_args!("the running server sends {id} again"));
            }
        }
    }
    app.gateway.audit.stop().await?;
    Ok(())
}

fn endpoint_id(text: &str) -> Result<WebhookId> {
    text.parse().ok().context("not an endpoint id; `pyxis webhook list` shows the ids")
}

/// The endpoint with this id; the refusal names the nearest one.
async fn known(state: &State, workspace: WorkspaceId, text: &str) -> Result<WebhookId> {
    let id = endpoint_id(text)?;
    let all = webhooks::list(&state.store, workspace).await?;
    if all.iter().any(|one| one.row.id == id) {
        return Ok(id);
    }
    let ids: Vec<String> = all.iter().map(|one| one.row.id.to_string()).collect();
    Err(Error::NotFound(Missing::with_name("webhook", text, ids.iter().map(String::as_str))).into())
}

async fn set_enabled(
    global: &Global,
    app: &crate::app::App,
    actor: &pyxis_gateway::Actor,
    id: &str,
    enabled: bool,
) -> Result<()> {
    let id = known(&app.gateway, actor.workspace, id).await?;
    let patch = WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
    let webhook = webhooks::update(&app.gateway, actor, id, patch).await?;
    if global.json {
        out::json(&webhook_json(&webhook));
    } else {
        out::line(format_args!("{id} is {}", if enabled { "enabled" } else { "disabled" }));
    }
    Ok(())
}

fn read_status(text: &str) -> Result<DeliveryStatus> {
    DeliveryStatus::from_name(text).context("unknown status; use pending, delivered or failed")
}

fn webhook_json(webhook: &Webhook) -> Value {
    json!({
        "id": webhook.row.id,
        "url": webhook.row.url,
        "description": webhook.row.description,
        "events": webhook.events,
        "enabled": webhook.row.disabled_at.is_none(),
        "created_at": webhook.row.created_at.to_rfc3339(),
    })
}

fn delivery(row: &DeliveryRow) -> Value {
    json!({
        "id": row.id,
        "webhook_id": row.webhook_id,
        "event": row.event,
        "txn_id": row.txn_id,
        "status": row.status.as_str(),
        "attempts": row.attempts,
        "response_status": row.response_status,
        "error": row.error,
        "created_at": row.created_at.to_rfc3339(),
    })
}

fn print_secret(as_json: bool, mut value: Value, secret: &SecretString) {
    if as_json {
        value["secret"] = secret.expose().as_str().into();
        out::json(&value);
    } else {
        let id = value["id"].as_str().unwrap_or_default();
        out::line(format_args!("signing secret of {id} (shown once): {}", secret.expose()));
    }
}
