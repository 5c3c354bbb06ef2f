//! `pyxis stamps import`: resumable through a small file that records its progress.

mod locked_files;
mod resume_point;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Result;
use indicatif::ProgressBar;
use pyxis_core::clock::SystemClock;
use pyxis_scoring::import::{self, ImportProgress, Options};
use serde_json::json;

use super::{NOTHING_TO_DO, open, out, workspace};
use crate::cli::{Global, Import};
use crate::import_progress::ProgressPublisher;
use locked_files::{LockedFiles, Rejects};
use resume_point::Note;

pub(super) async fn run(global: &Global, wanted: Import) -> Result<ExitCode> {
    let app = open(global).await?;
    app.store.begin_bulk_load().await?;
    let workspace = workspace(&app, global).await?.id;
    let options = Options { workspace, threads: threads(wanted.threads) };
    let place = LockedFiles::open(&wanted)?;
    let mut rejects = Rejects::open(&place.rejects)?;
    let note = Note::for_input(&place, &rejects, workspace);
    let begun = match &note {
        Some(note) if !wanted.restart => note.load_progress(&app.store).await?,
        _ => None,
    };
    if let (Some(note), None) = (&note, begun) {
        note.forget();
    }
    let (begun, rejects_bytes) = begun.unwrap_or_default();
    rejects.truncate(rejects_bytes)?;
    let bar = out::progress_of_bytes(place.length());
    let published = ProgressPublisher::start(&app.store, place.length(), begun).await;
    let written = Arc::clone(&rejects.written);
    let report = |progress: &ImportProgress| {
        show(&bar, progress);
        published.publish(progress);
        let keep = |note: &Note<'_>| note.save(progress, written.load(Ordering::Relaxed));
        if let Err(error) = note.as_ref().map_or(Ok(()), keep) {
            tracing::warn!(%error, "cannot save the progress of the import");
        }
        true
    };
    let source = place.source(begun.bytes)?;
    let db = &app.scoring.db;
    let done = import::import(db, &SystemClock, options, source, &mut rejects, begun, report).await;
    app.store.end_bulk_load().await;
    let done = done?;
    published.finish(&done).await;
    bar.finish_and_clear();
    if let Some(note) = &note {
        note.forget();
    }
    rejects.forget_empty();
    print_result(global.json, &done, &place.rejects);
    let nothing = done.accepted + done.replaced == 0;
    Ok(if done.rejected > 0 {
        ExitCode::FAILURE
    } else if nothing {
        ExitCode::from(NOTHING_TO_DO)
    } else {
        ExitCode::SUCCESS
    })
}

fn threads(wanted: Option<u16>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    wanted.map_or_else(cores, usize::from)
}

fn show(bar: &ProgressBar, progress: &ImportProgress) {
    bar.set_position(progress.bytes);
    bar.set_message(format!("{} stored, {} rejected", progress.accepted, progress.rejected));
}

fn print_result(as_json: bool, done: &ImportProgress, rejects: &Path) {
    if as_json {
        return out::json(&json!({
            "lines": done.lines,
            "accepted": done.accepted,
            "replaced": done.replaced,
            "unchanged": done.unchanged,
            "rejected": done.rejected,
            "rejects": (done.rejected > 0).then(|| rejects.display().to_string()),
        }));
    }
    out::line(format_args!(
        "{}: {} stored, {} replaced, {} already stored, {} rejected",
        out::count_noun(done.lines, "line"),
        done.accepted,
        done.replaced,
        done.unchanged,
        done.rejected
    ));
    if done.rejected > 0 {
        out::line(format_args!("rejected lines and reasons: {}", rejects.display()));
    }
}
