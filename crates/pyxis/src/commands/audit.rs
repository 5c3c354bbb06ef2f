//! `pyxis audit`.

use std::process::ExitCode;

use anyhow::Result;
use pyxis_core::audit_event::AuditEvent;
use pyxis_gateway::admin;
use pyxis_store::audit::{self, AuditFilter};
use serde_json::json;

use super::{in_flight, open, out, receipts, workspace};
use crate::app::App;
use crate::cli::{AuditCommand, ExportFormat, Global};
use crate::signed_head;

/// Records per read.
const PAGE: u32 = 1000;

pub(super) async fn run(global: &Global, command: AuditCommand) -> Result<ExitCode> {
    // An auditor has no database and no key.
    if let AuditCommand::VerifyReceipt { file, keys } = &command {
        return receipts::verify(global, file, keys.as_deref()).await;
    }
    let app = open(global).await?;
    match command {
        AuditCommand::VerifyReceipt { .. } => {}
        AuditCommand::Receipt { txn_id, out } => {
            receipts::write(&app, global, txn_id, out.as_deref()).await?;
        }
        AuditCommand::Verify => return verify(&app, global.json).await,
        AuditCommand::Export { format } => export(&app, global, format).await?,
        AuditCommand::Tail { lines, events } => tail(&app, global, lines, events).await?,
        AuditCommand::InFlight { around, margin } => in_flight::list(&app, global, around, margin).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn verify(app: &App, as_json: bool) -> Result<ExitCode> {
    let anchor = signed_head::read(&app.config)?;
    let bar = out::progress("checking records");
    let verdict = audit::verify(&app.store, &app.audit_keys, anchor.as_ref(), |seen, _| {
        bar.set_position(seen.unsigned_abs());
    })
    .await?;
    bar.finish_and_clear();
    let damage = verdict.damage.as_ref();
    if as_json {
        out::json(&json!({
            "ok": damage.is_none(),
            "records": verdict.records,
            "checkpoints": verdict.checkpoints,
            "anchored": anchor.is_some(),
            "damaged_seq": damage.map(|damage| damage.seq),
            "damage": damage.map(|damage| damage.kind.to_string()),
        }));
    } else {
        match damage {
            None => out::line(format_args!(
                "verified {} and {}",
                out::count_noun(verdict.records, "record"),
                out::count_noun(verdict.checkpoints, "signed head")
            )),
            Some(damage) => out::line(format_args!("DAMAGED at record {}: {}", damage.seq, damage.kind)),
        }
        if anchor.is_none() {
            out::line(
                "audit-head.json is missing: the removal of the newest records together with their heads \
                 cannot be detected",
            );
        }
    }
    Ok(if damage.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn export(app: &App, global: &Global, format: ExportFormat) -> Result<()> {
    let only = match &global.workspace {
        Some(_) => Some(workspace(app, global).await?.id),
        None => None,
    };
    if matches!(format, ExportFormat::Csv) {
        out::line(admin::audit::csv_head());
    }
    let mut after = 0;
    loop {
        let page = audit::entries(&app.store, after, only, PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.record.seq;
        for entry in &page {
            match format {
                ExportFormat::Jsonl => out::json(&admin::audit::to_json(entry)),
                ExportFormat::Csv => out::line(admin::audit::to_csv(entry)),
            }
        }
    }
}

async fn tail(app: &App, global: &Global, lines: u32, events: Vec<AuditEvent>) -> Result<()> {
    let workspace = workspace(app, global).await?.id;
    let filter = AuditFilter { events, limit: lines.clamp(1, 1000), ..AuditFilter::default() };
    let mut entries = audit::search(&app.store, workspace, &filter).await?;
    entries.reverse();
    for entry in &entries {
        let value = admin::audit::to_json(entry);
        if global.json {
            out::json(&value);
        } else {
            let text = |name: &str| value[name].as_str().unwrap_or("-").to_owned();
            out::line(format_args!(
                "{} {} {} {} {} {} {} {}",
                entry.record.seq,
                text("at"),
                text("kind"),
                text("actor_name"),
                text("decision"),
                text("method"),
                text("host"),
                value["upstream_status"]
            ));
        }
    }
    Ok(())
}
