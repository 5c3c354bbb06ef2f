//! `pyxis check`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, Kind, Subject};
use pyxis_store::blocklist;
use pyxis_verify::block_height::Snapshot;
use pyxis_verify::checker::{self, CheckRequest, CheckVerdict};
use serde_json::json;

use super::{open, out};
use crate::app::App;
use crate::cli::{CheckCommand, Global, What};

pub(super) async fn run(global: &Global, command: CheckCommand) -> Result<ExitCode> {
    let app = open(global).await?;
    match command {
        CheckCommand::Sybil { address, what: What { kind, action_id }, network, at } => {
            if !kind.is_sybil_resistance() {
                bail!(
                    "{kind} is not a Sybil-resistance check; use `pyxis check residence` or `pyxis check \
                     clean-hands`"
                );
            }
            check(&app, global, (address, kind, Some(action_id)), &network, at).await
        }
        CheckCommand::Residence { address, network, at } => {
            check(&app, global, (address, Kind::ResidenceUs, None), &network, at).await
        }
        CheckCommand::CleanHands { address } => clean_hands(&app, global, address).await,
    }
}

async fn clean_hands(app: &App, global: &Global, address: EvmAddress) -> Result<ExitCode> {
    let blocked = !blocklist::of_subject(&app.store, address.into()).await?.is_empty();
    let found = if blocked { None } else { app.verify.index.clean_hands(address).await? };
    let reason = match (&found, blocked) {
        (Some(_), _) => "valid",
        (None, true) => "blocked",
        (None, false) => "none",
    };
    if global.json {
        let found = found.as_ref();
        out::json(&json!({
            "result": found.is_some(),
            "validUntil": found.map(|found| found.valid_until),
            "attestationId": found.and_then(|found| found.attestation_id.clone()),
            "reason": reason,
        }));
    } else {
        out::line(format_args!("{} ({reason})", found.is_some()));
    }
    Ok(ExitCode::SUCCESS)
}

async fn check(
    app: &App,
    global: &Global,
    (subject, kind, action_id): (Subject, Kind, Option<ActionId>),
    network: &str,
    at: Option<i64>,
) -> Result<ExitCode> {
    let found = app.verify.networks().find_by_name(network).filter(|network| network.checks(kind));
    let network = found.with_context(|| {
        format!("network {network} has no checks of this kind; `pyxis network list` shows the networks")
    })?;
    let snapshot = at.map_or(Snapshot::Latest, Snapshot::Block);
    let verdict =
        checker::check(&app.verify, CheckRequest { network, kind, action_id, snapshot }, subject, true)
            .await?;
    let until = match verdict {
        CheckVerdict::Valid(until) => until.map(UnixMillis::seconds),
        CheckVerdict::Invalid(_) => None,
    };
    if global.json {
        let mut answer = json!({ "result": verdict.is_valid(), "reason": verdict.reason() });
        if let Some(until) = until {
            answer["expirationDate"] = until.into();
        }
        out::json(&answer);
    } else {
        let until = until.map(|until| format!(", until {}", UnixMillis(until * 1000).to_rfc3339()));
        out::line(format_args!("{} ({}{})", verdict.is_valid(), verdict.reason(), until.unwrap_or_default()));
    }
    Ok(ExitCode::SUCCESS)
}
