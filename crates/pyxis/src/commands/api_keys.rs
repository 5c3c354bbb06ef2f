//! `pyxis api-key`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Result, bail};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ApiKeyId;
use pyxis_gateway::Actor;
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_store::api_keys::{ApiKeyChange, ApiKeyRow, Tier};
use pyxis_store::publishable_keys::PublishableKey;
use serde_json::{Value, json};

use super::{NOTHING_TO_DO, acting, out};
use crate::app::App;
use crate::cli::{AddApiKey, ApiKeyCommand, ApiKeyKind, Global};

pub(super) async fn run(global: &Global, command: ApiKeyCommand) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    let changed = match command {
        ApiKeyCommand::Add(input) => {
            let (row, key) = api_keys::create(state, &actor, build(input)?).await?;
            if global.json {
                let publishable = api_keys::publishable_of(&state.store, actor.workspace, row.id).await?;
                let mut value = api_key_json(&row, publishable.as_ref());
                value["key"] = key.expose().as_str().into();
                out::json(&value);
            } else {
                out::line(format_args!("key {} of {} (shown once): {}", row.id, row.name, key.expose()));
            }
            true
        }
        ApiKeyCommand::List => {
            let publishable = api_keys::publishable(&state.store, actor.workspace).await?;
            let rows = api_keys::list(&state.store, actor.workspace).await?;
            let rows: Vec<_> = rows.iter().map(|row| api_key_json(row, publishable.get(&row.id))).collect();
            let columns = [
                "id",
                "name",
                "kind",
                "key_hint",
                "stamps_tier",
                "models_tier",
                "may",
                "last_used_at",
                "revoked_at",
            ];
            out::list(global.json, "API keys", &columns, &rows);
            true
        }
        ApiKeyCommand::SetTier { id, tier, limit, models } => {
            let tier = Tier { tier, limit };
            let row = api_keys::get(&state.store, actor.workspace, id).await?;
            let (stamps, models) = if models { (None, Some(tier)) } else { (Some(tier), None) };
            let changes = stamps.is_some_and(|tier| tier != stamps_tier(&row))
                || models.is_some_and(|tier| tier != models_tier(&row));
            let change = ApiKeyChange { stamps, models, ..ApiKeyChange::default() };
            let change = changes.then_some((change, None));
            update(&app, &actor, row, change, global.json).await?
        }
        ApiKeyCommand::SetOrigins { id, origins } => {
            let row = api_keys::get(&state.store, actor.workspace, id).await?;
            let before = api_keys::publishable_of(&state.store, actor.workspace, id).await?;
            let changes = before.is_none_or(|before| !same(&before.origins, &origins));
            let change = changes.then_some((ApiKeyChange::default(), Some(origins)));
            update(&app, &actor, row, change, global.json).await?
        }
        ApiKeyCommand::AllowHistory { id } => {
            let row = api_keys::get(&state.store, actor.workspace, id).await?;
            let change = ApiKeyChange { can_read_history: Some(true), ..ApiKeyChange::default() };
            let change = (!row.can_read_history).then_some((change, None));
            update(&app, &actor, row, change, global.json).await?
        }
        ApiKeyCommand::Revoke { id } => revoke(&app, &actor, id, global.json).await?,
    };
    app.gateway.audit.stop().await?;
    Ok(if changed { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_TO_DO) })
}

/// True if both lists name the same origins.
fn same(before: &[String], wanted: &[String]) -> bool {
    before.iter().collect::<BTreeSet<_>>() == wanted.iter().collect::<BTreeSet<_>>()
}

fn build(input: AddApiKey) -> Result<ApiKeyInput> {
    let is_publishable = input.kind == ApiKeyKind::Publishable;
    if !is_publishable && (input.scorer.is_some() || !input.origins.is_empty()) {
        bail!("--scorer and --origin belong to publishable keys; add --kind publishable");
    }
    let origins = input.origins;
    let publishable = input.scorer.map(|scorer| PublishableKey { scorer, origins });
    Ok(ApiKeyInput {
        name: input.name.get()?,
        stamps: Tier { tier: input.tier, limit: input.limit },
        models: Tier { tier: input.models_tier, limit: input.models_limit },
        can_read: !input.no_read && !is_publishable,
        can_write: input.write,
        publishable,
    })
}

const fn stamps_tier(row: &ApiKeyRow) -> Tier {
    Tier { tier: row.stamps_tier, limit: row.stamps_limit }
}

const fn models_tier(row: &ApiKeyRow) -> Tier {
    Tier { tier: row.models_tier, limit: row.models_limit }
}

/// Applies the change, if there is one; true if there was.
async fn update(
    app: &App,
    actor: &Actor,
    row: ApiKeyRow,
    change: Option<(ApiKeyChange, Option<Vec<String>>)>,
    as_json: bool,
) -> Result<bool> {
    let changes = change.is_some();
    let row = match change {
        Some((change, origins)) => {
            api_keys::update(&app.scoring.audited, actor, row.id, change, origins).await?
        }
        None => row,
    };
    let publishable = api_keys::publishable_of(&app.scoring.store, actor.workspace, row.id).await?;
    if as_json {
        out::json(&api_key_json(&row, publishable.as_ref()));
    } else if let Some(publishable) = publishable {
        let (stamps, origins) = (tier_text(stamps_tier(&row)), publishable.origins.join(", "));
        out::line(format_args!(
            "{} ({}): Stamps {stamps}, widget of scorer {} in {origins}",
            row.id, row.name, publishable.scorer
        ));
    } else {
        let (stamps, models) = (tier_text(stamps_tier(&row)), tier_text(models_tier(&row)));
        let may = may(&row).join(", ");
        out::line(format_args!("{} ({}): Stamps {stamps}, models {models}, may {may}", row.id, row.name));
    }
    Ok(changes)
}

async fn revoke(app: &App, actor: &Actor, id: ApiKeyId, as_json: bool) -> Result<bool> {
    let now = api_keys::revoke(&app.scoring.audited, actor, id).await?;
    if as_json {
        out::json(&json!({ "id": id, "revoked": now }));
    } else {
        out::line(format_args!("{id} {}", if now { "revoked" } else { "was already revoked" }));
    }
    Ok(now)
}

fn tier_text(tier: Tier) -> String {
    match tier.limit {
        Some(limit) => format!("tier {} ({limit} requests per 15 minutes)", tier.tier),
        None => format!("tier {}", tier.tier),
    }
}

fn may(row: &ApiKeyRow) -> Vec<&'static str> {
    let all = [(row.can_read, "read"), (row.can_write, "write"), (row.can_read_history, "history")];
    all.into_iter().filter_map(|(may, word)| may.then_some(word)).collect()
}

fn api_key_json(row: &ApiKeyRow, publishable: Option<&PublishableKey>) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "kind": if publishable.is_some() { "publishable" } else { "server" },
        "scorer_id": publishable.map(|key| key.scorer),
        "origins": publishable.map_or(&[][..], |key| &key.origins[..]),
        "key_hint": row.key_hint,
        "stamps_tier": row.stamps_tier,
        "stamps_limit": row.stamps_limit,
        "models_tier": row.models_tier,
        "models_limit": row.models_limit,
        "may": may(row),
        "created_at": row.created_at.to_rfc3339(),
        "last_used_at": row.last_used_at.map(UnixMillis::to_rfc3339),
        "revoked_at": row.revoked_at.map(UnixMillis::to_rfc3339),
    })
}
