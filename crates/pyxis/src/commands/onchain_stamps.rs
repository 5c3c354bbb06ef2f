//! `pyxis onchain-stamp`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, bail};
use pyxis_scoring::service::onchain_stamps::{self, ConditionInput, OnChainStamp};
use serde_json::{Value, json};

use super::confirm::confirm;
use super::{acting, allow_lists, out};
use crate::cli::{Global, OnchainStampCommand};

pub(super) async fn run(global: &Global, command: OnchainStampCommand) -> Result<ExitCode> {
    if matches!(command, OnchainStampCommand::Kinds) {
        print_kinds(global.json);
        return Ok(ExitCode::SUCCESS);
    }
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    match command {
        OnchainStampCommand::Add(wanted) => {
            let network = wanted.network.clone();
            let (name, kind, settings, options) = wanted.parts()?;
            let settings = unique(settings)?;
            let input = allow_lists::input(name, options);
            let condition = ConditionInput { kind, network, settings };
            let stamp = onchain_stamps::create(state, &actor, input, condition).await?;
            let said = format!("{} is issued on request", stamp.row.provider);
            out::outcome(global.json, &stamp_json(&stamp), said);
        }
        OnchainStampCommand::List => {
            let stamps = onchain_stamps::list(&state.store, &actor).await?;
            print(global.json, &stamps.iter().map(stamp_json).collect::<Vec<_>>());
        }
        OnchainStampCommand::Show { name } => {
            let stamp = stamp_json(&onchain_stamps::get(&state.store, &actor, &name.get()?).await?);
            if global.json { out::json(&stamp) } else { print(false, &[stamp]) }
        }
        OnchainStampCommand::Remove { name, confirmation } => {
            let name = name.get()?;
            onchain_stamps::get(&state.store, &actor, &name).await?;
            confirm(confirmation, &format!("remove the on-chain Stamp {name} and withdraw what was issued"))?;
            let withdrawn = onchain_stamps::remove(state, &actor, &name).await?;
            let value = json!({ "name": name, "withdrawn": withdrawn });
            out::outcome(global.json, &value, format_args!("{name} removed; Stamps withdrawn: {withdrawn}"));
        }
        OnchainStampCommand::Kinds => {}
    }
    app.gateway.audit.stop().await?;
    Ok(ExitCode::SUCCESS)
}

fn unique(settings: Vec<(String, String)>) -> Result<BTreeMap<String, String>> {
    let mut unique = BTreeMap::new();
    for (name, value) in settings {
        if unique.contains_key(&name) {
            bail!("{name} is set twice; keep one");
        }
        unique.insert(name, value);
    }
    Ok(unique)
}

fn print(as_json: bool, rows: &[Value]) {
    out::list(
        as_json,
        "on-chain Stamps",
        &["name", "kind", "network", "settings", "valid_days", "issued"],
        rows,
    );
}

fn stamp_json(stamp: &OnChainStamp) -> Value {
    json!({
        "name": stamp.row.provider,
        "description": stamp.row.description,
        "kind": stamp.row.kind,
        "network": stamp.network,
        "settings": stamp.settings,
        "valid_days": stamp.row.valid_days,
        "issued": stamp.issued,
        "created_at": stamp.row.created_at.to_rfc3339(),
    })
}

fn print_kinds(as_json: bool) {
    let kinds: Vec<_> = onchain_stamps::kinds().collect();
    if as_json {
        let of = |kind: &onchain_stamps::ConditionKind| {
            let settings: BTreeMap<_, _> = kind.settings.iter().copied().collect();
            json!({ "name": kind.name, "meaning": kind.meaning, "settings": settings })
        };
        return out::json(&kinds.iter().map(of).collect());
    }
    for kind in kinds {
        out::line(format_args!("{}: {}", kind.name, kind.meaning));
        for (name, meaning) in kind.settings {
            out::line(format_args!("  {name}: {meaning}"));
        }
    }
}
