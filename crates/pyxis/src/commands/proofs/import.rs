//! `pyxis proofs import`: a statement that already took effect changes nothing, so an interrupted import is simply run
//! again.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use pyxis_verify::State;
use pyxis_verify::registry::{self, SignedStatement, StatementEffect, StatementRejection};
use serde_json::json;

use super::super::{NOTHING_TO_DO, out};

/// Statements per database transaction.
const BATCH: usize = 500;

/// Result of an import.
#[derive(Default)]
struct Done {
    lines: u64,
    bytes: u64,
    accepted: u64,
    unchanged: u64,
    rejected: u64,
}

/// The file for rejected lines; created with the first one.
struct Rejects {
    path: PathBuf,
    file: Option<File>,
}

pub(super) async fn run(
    state: &State,
    as_json: bool,
    path: &Path,
    rejects: Option<PathBuf>,
) -> Result<ExitCode> {
    let standard = path == Path::new("-");
    let name = if standard { Path::new("proofs") } else { path };
    let rejects_path = PathBuf::from(format!("{}.rejects.jsonl", name.display()));
    let mut source: Box<dyn BufRead> = if standard {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Box::new(BufReader::with_capacity(1 << 20, file))
    };
    if rejects.is_none() {
        remove_earlier(&rejects_path)?;
    }
    let mut rejects = Rejects { path: rejects.unwrap_or(rejects_path), file: None };
    let bar = out::progress_of_bytes(std::fs::metadata(path).map_or(0, |file| file.len()));
    let done = read_all(state, &mut *source, &mut rejects, &bar).await?;
    bar.finish_and_clear();
    print_result(as_json, &done, &rejects);
    Ok(if done.rejected > 0 {
        ExitCode::FAILURE
    } else if done.accepted == 0 {
        ExitCode::from(NOTHING_TO_DO)
    } else {
        ExitCode::SUCCESS
    })
}

/// Removes the rejects of an earlier run, which this run replaces.
fn remove_earlier(rejects: &Path) -> Result<()> {
    match std::fs::remove_file(rejects) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot replace {}", rejects.display()))
        }
        _ => Ok(()),
    }
}

async fn read_all(
    state: &State,
    source: &mut dyn BufRead,
    rejects: &mut Rejects,
    bar: &ProgressBar,
) -> Result<Done> {
    let mut done = Done::default();
    let mut batch: Vec<(u64, SignedStatement)> = Vec::with_capacity(BATCH);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = source.read_until(b'\n', &mut line)?;
        if read > 0 {
            done.lines += 1;
            done.bytes += read as u64;
            if !line.trim_ascii().is_empty() {
                match registry::parse(&line) {
                    Ok(signed) => batch.push((done.lines, signed)),
                    Err(error) => rejects.write_reject(&mut done, None, "invalid", &error.to_string())?,
                }
            }
        }
        if batch.len() == BATCH || read == 0 {
            store_batch(state, &mut batch, &mut done, rejects).await?;
            bar.set_position(done.bytes);
            bar.set_message(format!("{} registered, {} rejected", done.accepted, done.rejected));
        }
        if read == 0 {
            return Ok(done);
        }
    }
}

async fn store_batch(
    state: &State,
    batch: &mut Vec<(u64, SignedStatement)>,
    done: &mut Done,
    rejects: &mut Rejects,
) -> Result<()> {
    let (lines, signed): (Vec<u64>, Vec<SignedStatement>) = std::mem::take(batch).into_iter().unzip();
    if signed.is_empty() {
        return Ok(());
    }
    let outcomes: Vec<Result<StatementEffect, StatementRejection>> =
        registry::submit_all(state, &signed).await?;
    for (line, outcome) in lines.into_iter().zip(outcomes) {
        match outcome {
            Ok(StatementEffect { new: true, .. }) => done.accepted += 1,
            Ok(_) => done.unchanged += 1,
            Err(refusal) => rejects.write_reject(done, Some(line), refusal.code(), &refusal.to_string())?,
        }
    }
    Ok(())
}

impl Rejects {
    fn write_reject(&mut self, done: &mut Done, line: Option<u64>, code: &str, detail: &str) -> Result<()> {
        if self.file.is_none() {
            let cannot = || format!("cannot write {}", self.path.display());
            self.file = Some(File::create(&self.path).with_context(cannot)?);
        }
        let said = json!({ "line": line.unwrap_or(done.lines), "code": code, "detail": detail });
        if let Some(file) = &mut self.file {
            writeln!(file, "{said}")?;
        }
        done.rejected += 1;
        Ok(())
    }
}

fn print_result(as_json: bool, done: &Done, rejects: &Rejects) {
    let path = rejects.file.as_ref().map(|_| rejects.path.display().to_string());
    if as_json {
        return out::json(&json!({
            "lines": done.lines,
            "accepted": done.accepted,
            "unchanged": done.unchanged,
            "rejected": done.rejected,
            "rejects": path,
        }));
    }
    out::line(format_args!(
        "{}: {} registered, {} already registered, {} rejected",
        out::count_noun(done.lines, "line"),
        done.accepted,
        done.unchanged,
        done.rejected
    ));
    if let Some(path) = path {
        out::line(format_args!("rejected lines and reasons: {path}"));
    }
}
