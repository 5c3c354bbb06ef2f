//! `pyxis stamps import`: resumable by a small file that says how far it got.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use pyxis_core::clock::SystemClock;
use pyxis_core::digest::sha256_hex;
use pyxis_scoring::import::{self, Options, Progress};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{NOTHING_TO_DO, open, out, workspace};
use crate::cli::{Global, Import};

/// Bytes at either end of what was read by which another file of the same name is told.
const MARK: u64 = 1024;

/// How far an import got, as it is kept beside the file.
#[derive(Deserialize, Serialize)]
struct Checkpoint {
    progress: Progress,
    /// What was read by then ([`mark`]); empty in notes of earlier versions.
    #[serde(default)]
    mark: String,
    /// Length of the rejects file by then.
    rejects_bytes: u64,
}

pub(super) async fn run(global: &Global, wanted: Import) -> Result<ExitCode> {
    let app = open(global).await?;
    app.store.will_write_much().await?;
    let options = Options { workspace: workspace(&app, global).await?.id, threads: threads(wanted.threads) };
    let place = Place::of(&wanted)?;
    let begun = if wanted.restart { None } else { place.checkpoint()? };
    if let Some(begun) = &begun {
        tracing::warn!(
            line = begun.progress.lines,
            "going on with an interrupted import; --restart begins anew"
        );
    }
    let (begun, rejects_bytes) =
        begun.map_or_else(Default::default, |begun| (begun.progress, begun.rejects_bytes));
    let source = place.source(begun.bytes)?;
    let mut rejects = Rejects::open(&place.rejects, rejects_bytes)?;
    let bar = out::progress_of_bytes(place.length());
    let written = Arc::clone(&rejects.written);
    let report = |progress: &Progress| {
        show(&bar, progress);
        if let Err(error) = place.keep(progress, written.load(Ordering::Relaxed)) {
            tracing::warn!(%error, "how far the import got cannot be noted");
        }
        true
    };
    let done = import::import(&app.scoring.books, &SystemClock, options, source, &mut rejects, begun, report)
        .await?;
    bar.finish_and_clear();
    place.forget();
    tell(global.json, &done, &place.rejects);
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

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_position(progress.bytes);
    bar.set_message(format!("{} stored, {} rejected", progress.accepted, progress.rejected));
}

fn tell(as_json: bool, done: &Progress, rejects: &Path) {
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
        "{} lines: {} stored, {} replaced, {} were there already, {} rejected",
        done.lines, done.accepted, done.replaced, done.unchanged, done.rejected
    ));
    if done.rejected > 0 {
        out::line(format_args!("why they were rejected: {}", rejects.display()));
    }
}

/// The files of an import.
struct Place {
    /// `None`: standard input, which cannot be resumed.
    file: Option<(PathBuf, File)>,
    rejects: PathBuf,
}

impl Place {
    fn of(wanted: &Import) -> Result<Self> {
        let path = (wanted.file != Path::new("-")).then(|| wanted.file.clone());
        let beside = |end: &str| {
            PathBuf::from(format!("{}{end}", path.as_deref().unwrap_or(Path::new("stamps")).display()))
        };
        let rejects = wanted.rejects.clone().unwrap_or_else(|| beside(".rejects.jsonl"));
        let open = |path: PathBuf| -> Result<_> {
            let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok((path, file))
        };
        Ok(Self { file: path.map(open).transpose()?, rejects })
    }

    fn note(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|(path, _)| PathBuf::from(format!("{}.import.json", path.display())))
    }

    /// How far an earlier run got with this file.
    fn checkpoint(&self) -> Result<Option<Checkpoint>> {
        let (Some((path, file)), Some(note)) = (&self.file, self.note()) else { return Ok(None) };
        if !note.exists() {
            return Ok(None);
        }
        let text = fs::read(&note)?;
        let damaged = || format!("{} is damaged; --restart begins anew", note.display());
        let left: Checkpoint = serde_json::from_slice(&text).with_context(damaged)?;
        let is_same = mark(file, left.progress.bytes).is_ok_and(|found| found == left.mark);
        if !is_same {
            tracing::warn!(
                file = %path.display(),
                "this is not the file whose import was interrupted; it is read from its beginning"
            );
        }
        Ok(is_same.then_some(left))
    }

    /// Replaces the note in one step, so that it is never half written.
    fn keep(&self, progress: &Progress, rejects_bytes: u64) -> Result<()> {
        let (Some((_, file)), Some(note)) = (&self.file, self.note()) else { return Ok(()) };
        let new = note.with_extension("json.new");
        let mark = mark(file, progress.bytes)?;
        fs::write(&new, serde_json::to_vec(&Checkpoint { progress: *progress, mark, rejects_bytes })?)?;
        fs::rename(new, note)?;
        Ok(())
    }

    fn forget(&self) {
        if let Some(note) = self.note() {
            // It was never written for an empty file.
            let _ = fs::remove_file(note);
        }
        if fs::metadata(&self.rejects).is_ok_and(|rejects| rejects.len() == 0) {
            let _ = fs::remove_file(&self.rejects);
        }
    }

    fn source(&self, from: u64) -> Result<Box<dyn BufRead + Send>> {
        let Some((_, file)) = &self.file else { return Ok(Box::new(BufReader::new(io::stdin()))) };
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(from))?;
        Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
    }

    fn length(&self) -> u64 {
        self.file.as_ref().and_then(|(_, file)| file.metadata().ok()).map_or(0, |file| file.len())
    }
}

/// A hash of the first and the last bytes of so many at the beginning of a file: cheap for any length, and another
/// file hardly has the same credentials at both ends. An error where the file is shorter.
fn mark(file: &File, bytes: u64) -> io::Result<String> {
    let mut ends = vec![0; usize::try_from(2 * MARK.min(bytes)).map_err(io::Error::other)?];
    let half = ends.len() / 2;
    let (first, last) = ends.split_at_mut(half);
    file.read_exact_at(first, 0)?;
    file.read_exact_at(last, bytes - MARK.min(bytes))?;
    Ok(sha256_hex(&ends))
}

/// The rejects file, cut to where the import stands.
struct Rejects {
    file: File,
    written: Arc<AtomicU64>,
}

impl Rejects {
    fn open(path: &Path, keep: u64) -> Result<Self> {
        let context = || format!("cannot write {}", path.display());
        let mut file =
            File::options().create(true).write(true).truncate(false).open(path).with_context(context)?;
        file.set_len(keep).with_context(context)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file, written: Arc::new(AtomicU64::new(keep)) })
    }
}

impl Write for Rejects {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let length = self.file.write(buffer)?;
        self.written.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
