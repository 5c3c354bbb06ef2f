//! `pyxis proofs`.

mod import;
mod key;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{self, OsEntropy};
use pyxis_core::nearest;
use pyxis_core::proof::{Kind, NetworkName, ProofNullifier, Rebinding, Registration, Statement, Subject};
use pyxis_gateway::Actor;
use pyxis_store::attestation_keys::{KeyRow, Scheme};
use pyxis_store::proofs::{Ended, Filter, ProofRow};
use pyxis_verify::attestation::keys;
use pyxis_verify::registry;
use pyxis_verify::service::{blocklist, issuers, proofs};
use serde_json::{Value, json};

use super::confirm::confirm;
use super::{NOTHING_TO_DO, acting, out, quiet, settings};
use crate::app::App;
use crate::cli::{AttestationKeysCommand, Global, Kinds, ProofIssuerCommand, ProofsCommand, What};
use crate::config::Config;

pub(super) async fn run(global: &Global, command: ProofsCommand) -> Result<ExitCode> {
    match command {
        ProofsCommand::Keygen { file } => return key::generate(global, &file),
        ProofsCommand::Sign { address, what, network, nullifier, days, key } => {
            warn_about_unknown(&settings(&quiet(global.flags()))?, &network);
            return sign(&key, (address, what), network, nullifier, days);
        }
        _ => {}
    }
    let (app, actor) = acting(global).await?;
    let changed = manage(&app, &actor, global, command).await?;
    app.gateway.audit.stop().await?;
    Ok(changed)
}

async fn manage(app: &App, actor: &Actor, global: &Global, command: ProofsCommand) -> Result<ExitCode> {
    let state = &app.verify;
    match command {
        ProofsCommand::Import { file, rejects } => {
            return import::run(state, global.json, &file, rejects).await;
        }
        ProofsCommand::List { address, limit } => {
            let filter = Filter { subject: address, ..Filter::default() };
            let rows: Vec<Value> =
                proofs::list(&state.store, &filter, limit).await?.iter().map(proof_json).collect();
            let columns =
                ["id", "network", "kind", "address", "action_id", "from_height", "until_height", "ended"];
            out::list(global.json, "proofs", &columns, &rows);
        }
        ProofsCommand::Revoke { address, what, network, reason } => {
            let What { kind, action_id } = what;
            let place = proofs::ProofKey { network, kind, subject: address, action_id };
            let height = proofs::revoke(state, actor, &place, &reason).await?;
            print_result(global, &json!({ "status": "revoked", "height": height }), "revoked");
        }
        ProofsCommand::Rebind { from, to, what, nullifier, key } => {
            return rebind(app, global, &key, (from, to), what, nullifier).await;
        }
        ProofsCommand::Issuer(command) => return issuer(app, actor, global, command).await,
        ProofsCommand::Keys(command) => return attestation_keys(app, actor, global, command).await,
        ProofsCommand::Block { address, network, reason } => {
            let done = blocklist::block(state, actor, address, network.as_deref(), &reason).await?;
            return Ok(blocked(global, address, &done));
        }
        ProofsCommand::Unblock { address, network } => {
            let lifted = blocklist::unblock(state, actor, address, network.as_deref()).await?;
            print_result(global, &json!({ "address": address.to_string(), "networks": lifted }), "unblocked");
        }
        // These need no database.
        ProofsCommand::Keygen { .. } | ProofsCommand::Sign { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn print_result(global: &Global, value: &Value, said: &str) {
    if global.json {
        out::json(value);
    } else {
        out::line(said);
    }
}

/// If the address still counts on a network, the command fails and must be run again.
fn blocked(global: &Global, address: Subject, done: &blocklist::BlockOutcome) -> ExitCode {
    let unreachable: Vec<&str> = done.unreachable.iter().map(NetworkName::as_str).collect();
    let value = json!({ "address": address.to_string(), "networks": done.new, "unreachable": unreachable });
    if unreachable.is_empty() {
        print_result(global, &value, "blocked");
        return if done.new > 0 { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_TO_DO) };
    }
    let said = format!(
        "blocked, except on {}, where the newest block is unknown; run this again when a node responds",
        unreachable.join(" and ")
    );
    print_result(global, &value, &said);
    ExitCode::FAILURE
}

fn proof_json(row: &ProofRow) -> Value {
    json!({
        "id": row.id,
        "network": row.network.as_str(),
        "kind": row.kind.as_str(),
        "address": row.subject.to_string(),
        "action_id": row.action_id.to_string(),
        "nullifier": row.nullifier.to_string(),
        "issuer": row.issuer,
        "issued_at": row.issued_at.to_rfc3339(),
        "expires_at": row.expires_at.to_rfc3339(),
        "from_height": row.from_height,
        "until_height": row.until_height,
        "ended": row.ended.map(Ended::as_str),
    })
}

/// Warns about a network that this configuration does not have. The statement may be for an installation that does.
fn warn_about_unknown(config: &Config, network: &NetworkName) {
    let networks = config.verify().networks;
    if networks.find_by_name(network.as_str()).is_some() {
        return;
    }
    let known: Vec<&str> = networks.iter().map(|known| known.name.as_str()).collect();
    let meant = nearest::suggestion(network.as_str(), known.iter().copied());
    let known = known.join(", ");
    out::notice(format_args!("warning: there is no network {network} here{meant}; known: {known}"));
}

fn sign(
    key: &str,
    (subject, what): (Subject, What),
    network: NetworkName,
    nullifier: ProofNullifier,
    days: u16,
) -> Result<ExitCode> {
    let key = key::read(key)?;
    let issued_at = key::now().seconds();
    let statement = Statement::Register(Registration {
        kind: what.kind,
        network,
        subject,
        action_id: what.action_id,
        nullifier,
        issued_at,
        expires_at: issued_at + i64::from(days) * 24 * 3600,
        nonce: entropy::token::<16>(&OsEntropy, ""),
    });
    out::json(&registry::to_json(&key.sign(statement)));
    Ok(ExitCode::SUCCESS)
}

async fn rebind(
    app: &App,
    global: &Global,
    key: &str,
    (from, to): (Subject, Subject),
    what: What,
    nullifier: ProofNullifier,
) -> Result<ExitCode> {
    let key = key::read(key)?;
    let statement = Statement::Rebind(Rebinding {
        kind: what.kind,
        from,
        to,
        action_id: what.action_id,
        nullifier,
        issued_at: key::now().seconds(),
        nonce: entropy::token::<16>(&OsEntropy, ""),
    });
    match registry::submit(&app.verify, &key.sign(statement)).await {
        Ok(outcome) => {
            let value = json!({ "status": outcome.status, "height": outcome.height, "id": outcome.proof });
            print_result(global, &value, "rebound");
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => bail!("{}: {refusal}", refusal.code()),
    }
}

async fn attestation_keys(
    app: &App,
    actor: &Actor,
    global: &Global,
    command: AttestationKeysCommand,
) -> Result<ExitCode> {
    let shown = |row: &KeyRow| {
        json!({
            "id": row.id,
            "scheme": row.scheme.as_str(),
            "public_key": row.public_key,
            "created_at": row.created_at.to_rfc3339(),
            "retired_at": row.retired_at.map(UnixMillis::to_rfc3339),
        })
    };
    let rows: Vec<Value> = match command {
        AttestationKeysCommand::List => keys::list(&app.verify).await?.iter().map(shown).collect(),
        AttestationKeysCommand::Rotate { scheme } => {
            let scheme = Scheme::from_name(&scheme).context("unknown scheme; use ed25519 or eip712")?;
            vec![shown(&keys::rotate(&app.verify, actor, scheme).await?)]
        }
    };
    out::list(
        global.json,
        "attestation keys",
        &["id", "scheme", "public_key", "created_at", "retired_at"],
        &rows,
    );
    Ok(ExitCode::SUCCESS)
}

fn listed_kinds(kinds: &[Kind]) -> String {
    kinds.iter().copied().map(Kind::as_str).collect::<Vec<_>>().join(", ")
}

async fn issuer(app: &App, actor: &Actor, global: &Global, command: ProofIssuerCommand) -> Result<ExitCode> {
    let state = &app.verify;
    let mut changed = true;
    match command {
        ProofIssuerCommand::Add { issuer, kinds: Kinds(kinds), name } => {
            let name = name.get()?;
            changed = false;
            for kind in &kinds {
                changed |= issuers::add(&state.audited, actor, *kind, issuer, &name).await?.1;
            }
            let said = format!("{issuer} is trusted as {name} for {}", listed_kinds(&kinds));
            print_result(global, &json!({ "issuer": issuer.to_string(), "name": name }), &said);
        }
        ProofIssuerCommand::List => {
            let row = |row: &pyxis_store::proof_issuers::ProofIssuerRow| {
                json!({
                    "kind": row.kind.as_str(),
                    "issuer": row.issuer,
                    "name": row.name,
                    "created_at": row.created_at.to_rfc3339(),
                })
            };
            let rows: Vec<Value> = issuers::list(&state.store).await?.iter().map(row).collect();
            out::list(global.json, "trusted issuers", &["kind", "name", "issuer", "created_at"], &rows);
        }
        ProofIssuerCommand::Remove { issuer, kinds: Kinds(kinds), confirmation } => {
            let text = issuer.to_string();
            let all = issuers::list(&state.store).await?;
            let listed = all.iter().filter(|row| row.issuer == text && kinds.contains(&row.kind));
            let listed: Vec<_> = listed.map(|row| row.kind).collect();
            if listed.is_empty() {
                let meant = nearest::suggestion(&text, all.iter().map(|row| row.issuer.as_str()));
                bail!(
                    "the issuer {text} is not trusted for these kinds{meant}; `pyxis proofs issuer list` shows the \
                     trusted ones"
                );
            }
            confirm(confirmation, &format!("stop trusting the issuer {text}"))?;
            for kind in &listed {
                issuers::remove(&state.audited, actor, *kind, issuer).await?;
            }
            let said = format!("{text} is no longer trusted for {}", listed_kinds(&listed));
            print_result(global, &json!({ "removed": text }), &said);
        }
    }
    Ok(if changed { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_TO_DO) })
}
