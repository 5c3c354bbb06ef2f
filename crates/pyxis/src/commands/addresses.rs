//! `pyxis address`.

use std::process::ExitCode;

use anyhow::Result;
use pyxis_scoring::service::erasures::{self, Erasure};
use serde_json::{Value, json};

use super::confirm::confirm;
use super::{NOTHING_TO_DO, acting, activity, out};
use crate::cli::{AddressCommand, Global};

pub(super) async fn run(global: &Global, command: AddressCommand) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    let found = match command {
        AddressCommand::Erase { address, confirmation } => {
            confirm(confirmation, &format!("erase everything that is stored about {address}"))?;
            let erased = erasures::erase(state, &actor, address).await?;
            // Features of other wallets may depend on what was removed.
            activity::update_derived_data(&app).await?;
            erased.into_iter().collect()
        }
        AddressCommand::Receipts { address } => {
            erasures::receipts(&state.db, actor.workspace, address).await?
        }
    };
    if found.is_empty() {
        out::notice(format_args!("nothing to erase or show: nothing is stored about this address"));
    } else {
        print(global.json, &found);
    }
    app.gateway.audit.stop().await?;
    Ok(if found.is_empty() { ExitCode::from(NOTHING_TO_DO) } else { ExitCode::SUCCESS })
}

fn print(as_json: bool, receipts: &[Erasure]) {
    if as_json {
        return out::json(&Value::from(receipts.iter().map(receipt_json).collect::<Vec<_>>()));
    }
    for receipt in receipts {
        let Erasure { id, erased_at, erased_by, audit_seq, audit_mac, .. } = receipt;
        out::line(format_args!("receipt {id}: erased {} by {erased_by}", erased_at.to_rfc3339()));
        out::line(format_args!("audit record {audit_seq}, MAC {audit_mac}"));
        let counts = |state: &'static str| {
            let of = if state == "removed" { &receipt.removed } else { &receipt.kept };
            of.iter().map(move |(kind, count)| json!({ "kind": kind, "rows": count, "state": state }))
        };
        let rows: Vec<Value> = counts("removed").chain(counts("kept")).collect();
        out::table(false, &["kind", "rows", "state"], &rows);
    }
}

fn receipt_json(receipt: &Erasure) -> Value {
    json!({
        "id": receipt.id, "removed": receipt.removed, "kept": receipt.kept,
        "erased_at": receipt.erased_at.to_rfc3339(), "erased_by": receipt.erased_by,
        "audit_seq": receipt.audit_seq, "audit_mac": receipt.audit_mac,
    })
}
