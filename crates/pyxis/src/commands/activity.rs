//! `pyxis activity`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use pyxis_core::clock::{Clock, SystemClock, UnixMillis};
use pyxis_core::hex;
use pyxis_models::activity_reader::Reader;
use pyxis_scoring::activity::{self as work, Imported, Rebuilt};
use pyxis_store::activity;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::confirm::confirm;
use super::{nothing_to_do, open, out};
use crate::app::App;
use crate::cli::{ActivityCommand, Global};

pub(super) async fn run(global: &Global, command: ActivityCommand) -> Result<ExitCode> {
    let app = open(global).await?;
    match command {
        ActivityCommand::Import { files, defer } => import(&app, global.json, &files, defer).await,
        ActivityCommand::List => list(&app, global.json).await,
        ActivityCommand::Remove { source, confirmation } => {
            let why = "no imported file has this SHA-256; `pyxis activity list` prints those that do";
            if !activity::list_imports(&app.store).await?.iter().any(|import| import.source == source) {
                return nothing_to_do(why);
            }
            confirm(confirmation, &format!("remove the activity of the imported file {source}"))?;
            if !activity::remove_import(&app.store, &source).await? {
                return nothing_to_do(why);
            }
            print_result(global.json, &[], Some(&rebuild(&app, false).await?));
            Ok(ExitCode::SUCCESS)
        }
        ActivityCommand::Rebuild => {
            print_result(global.json, &[], Some(&rebuild(&app, true).await?));
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn list(app: &App, as_json: bool) -> Result<ExitCode> {
    let imports = activity::list_imports(&app.store).await?;
    let rows: Vec<_> = imports
        .into_iter()
        .map(|row| {
            json!({
                "name": row.name, "lines": row.lines, "accepted": row.accepted, "rejected": row.rejected,
                "finished_at": row.finished_at.map(UnixMillis::to_rfc3339), "source": row.source,
            })
        })
        .collect();
    out::list(
        as_json,
        "imported files",
        &["name", "lines", "accepted", "rejected", "finished_at", "source"],
        &rows,
    );
    Ok(ExitCode::SUCCESS)
}

async fn import(app: &App, as_json: bool, files: &[PathBuf], defer: bool) -> Result<ExitCode> {
    let mut imported = Vec::new();
    let mut failure = None;
    for file in files {
        match import_file(app, file).await {
            Ok(done) => imported.push((file.display().to_string(), done)),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    // Imported activity is scored even if a later file failed or an earlier rebuild was interrupted.
    if imported.iter().any(|(_, done)| done.new) || (!defer && lags(app).await?) {
        let rebuilt = if defer { None } else { Some(rebuild(app, false).await?) };
        print_result(as_json, &imported, rebuilt.as_ref());
    } else if failure.is_none() {
        return nothing_to_do("every file was already imported");
    }
    if let Some(error) = failure {
        return Err(error);
    }
    let rejected = imported.iter().any(|(_, done)| done.rejected > 0);
    Ok(if rejected { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Updates suspected groups and stored features to models that were just put in force.
pub(super) async fn update_derived_data(app: &App) -> Result<()> {
    if lags(app).await? {
        rebuild(app, false).await?;
    }
    Ok(())
}

async fn lags(app: &App) -> Result<bool> {
    let held = app.scoring.models.current().await?;
    Ok(work::lags(&app.store, &held.bundle).await?)
}

async fn import_file(app: &App, file: &Path) -> Result<Imported> {
    let context = || format!("cannot read {}", file.display());
    let source = digest(file).with_context(context)?;
    let bar = out::progress_of_bytes(fs::metadata(file).with_context(context)?.len());
    let read = Arc::new(AtomicU64::new(0));
    let reader = Reader::open(file, Arc::clone(&read)).with_context(context)?;
    let name = file.file_name().map_or_else(|| source.clone(), |name| name.to_string_lossy().into_owned());
    let report = |lines: i64| show(&bar, read.load(Ordering::Relaxed), lines);
    let done = work::import(&app.store, &source, &name, reader, SystemClock.now(), report).await;
    bar.finish_and_clear();
    done.with_context(|| format!("cannot import {}", file.display()))
}

fn show(bar: &ProgressBar, bytes: u64, lines: i64) {
    bar.set_position(bytes);
    bar.set_message(format!("{} stored", out::count_noun(lines, "line")));
}

/// The SHA-256 of a file, hex.
fn digest(file: &Path) -> std::io::Result<String> {
    let mut sum = Sha256::new();
    let mut file = File::open(file)?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(&sum.finalize())),
            length => sum.update(&buffer[..length]),
        }
    }
}

/// Updates the stored features of each wallet to the imported activity; `every` also writes unchanged ones.
async fn rebuild(app: &App, every: bool) -> Result<Rebuilt> {
    let bar = out::progress_to("wallets", 0);
    let held = app.scoring.models.current().await?;
    let report = |wallets: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(wallets as u64);
    };
    let done = if every {
        work::renew_claim(&app.store, &held.bundle, report).await
    } else {
        work::rebuild(&app.store, &held.bundle, report).await
    };
    bar.finish_and_clear();
    Ok(done?)
}

/// Prints what was imported and what was computed from it; `None` means that computing was postponed.
fn print_result(as_json: bool, imported: &[(String, Imported)], rebuilt: Option<&Rebuilt>) {
    if as_json {
        return out::json(&in_json(imported, rebuilt));
    }
    for (name, done) in imported {
        let before = if done.new { "" } else { ", all of them in an earlier import" };
        out::line(format_args!(
            "{name}: {} imported, {} rejected{before}",
            out::count_noun(done.accepted, "line"),
            done.rejected
        ));
        if done.new {
            tell_columns(done);
        }
        for (line, why) in &done.rejects {
            out::line(format_args!("  rejected: line {line}: {why}"));
        }
        let more = done.rejected - i64::try_from(done.rejects.len()).unwrap_or(i64::MAX);
        if done.new && more > 0 {
            out::line(format_args!("  and {more} more"));
        }
    }
    let Some(rebuilt) = rebuilt else {
        return out::line(format_args!(
            "features are not computed yet; the next import without --defer computes them"
        ));
    };
    out::line(format_args!(
        "{} of {}; {} can be scored, {} of them new or changed; {}",
        out::count_noun(rebuilt.transfers, "transfer"),
        out::count_noun(rebuilt.addresses, "address"),
        out::count_noun(rebuilt.wallets, "wallet"),
        rebuilt.changed,
        out::count_noun(rebuilt.groups, "suspected group")
    ));
}

/// Prints which columns were read, which were ignored and, above all, that times are missing.
fn tell_columns(done: &Imported) {
    let used: Vec<String> = done.layout.used.iter().map(|(role, name)| format!("{role} = {name}")).collect();
    out::line(format_args!("  columns: {}", used.join(", ")));
    if !done.layout.ignored.is_empty() {
        out::line(format_args!("  ignored columns: {}", done.layout.ignored.join(", ")));
    }
    if done.layout.lacks_time() {
        out::line(
            "  no column has the time of transfers, so wallet ages are unknown; name it time, with Unix \
             seconds or UTC such as 2023-01-31 09:05:00",
        );
    } else if done.without_time > 0 {
        out::line(format_args!("  transfers without a time: {}", done.without_time));
    }
}

fn in_json(imported: &[(String, Imported)], rebuilt: Option<&Rebuilt>) -> Value {
    let file = |(name, done): &(String, Imported)| {
        let rejects: Vec<Value> =
            done.rejects.iter().map(|(line, why)| json!({ "line": line, "why": why })).collect();
        let columns: Vec<Value> =
            done.layout.used.iter().map(|(role, name)| json!({ "read_as": role, "name": name })).collect();
        json!({
            "file": name, "lines": done.lines, "accepted": done.accepted, "rejected": done.rejected,
            "new": done.new, "first_rejected": rejects.first(), "rejects": rejects, "columns": columns,
            "ignored_columns": done.layout.ignored, "lacks_time": done.layout.lacks_time(),
            "without_time": done.without_time,
        })
    };
    let mut told = json!({ "files": imported.iter().map(file).collect::<Vec<_>>() });
    if let Some(rebuilt) = rebuilt {
        for (name, number) in [
            ("transfers", rebuilt.transfers),
            ("addresses", rebuilt.addresses),
            ("wallets", rebuilt.wallets),
            ("computed", rebuilt.computed),
            ("changed", rebuilt.changed),
            ("removed", rebuilt.removed),
            ("suspected_groups", rebuilt.groups),
        ] {
            told[name] = number.into();
        }
    }
    told
}
