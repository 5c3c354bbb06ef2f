//! Concurrent checkpoints of the write-ahead log.
//!
//! Most of a checkpoint is writing and syncing pages, for which no one needs to wait. A thread does that while the
//! writer continues, until little is left of the pages written meanwhile. The writer moves the rest itself. With no
//! reader in the log, it then restarts from its beginning.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::JoinHandle;

use rusqlite::{Connection, ffi};
use tokio::time::Instant;

use crate::durable::ToDisk;
use crate::readers::Readers;
use crate::{DiskObserver, Error};

/// Log pages at which a checkpoint begins: 16 MiB, less in tests.
const PAGES: i32 = if cfg!(test) { 64 } else { 4096 };
/// The same for write-heavy use, so that a frequently changed page is moved less often.
const MANY: i32 = 32 * PAGES;
/// Bytes of the log file that are kept for reuse when the log restarts.
pub(crate) const KEPT: i32 = 4 * PAGES * 4096;

/// Checkpoints whatever no reader still needs, without waiting.
const PASSIVE: &str = "PRAGMA wal_checkpoint(PASSIVE)";
/// Checkpoints everything and truncates the log.
const TRUNCATE: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// Maximum length of the log.
#[derive(Clone)]
pub(crate) struct WalLimits(Arc<AtomicI32>);

impl Default for WalLimits {
    fn default() -> Self {
        Self(Arc::new(AtomicI32::new(PAGES)))
    }
}

impl WalLimits {
    /// Raises the limit from the next commit on.
    pub(crate) fn allow_many(&self) {
        self.0.store(MANY, Ordering::Relaxed);
    }

    /// Pages at which a checkpoint begins.
    fn pages(&self) -> i32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Pages that may be added during a checkpoint. Beyond that the writer waits for the thread, so that the log does
    /// not grow without bound.
    fn meanwhile(&self) -> i32 {
        3 * self.pages()
    }

    /// Pages that may be left for the writer.
    fn few(&self) -> i32 {
        self.pages() / 8
    }
}

/// A running checkpoint with its worker.
type Running = JoinHandle<(CheckpointWorker, Result<(), Error>)>;

/// Checkpoints of one writer.
pub(crate) struct Checkpoints {
    /// Worker for the thread, while no checkpoint runs. Without it the writer does everything.
    mover: Option<CheckpointWorker>,
    /// Log pages after the last commit.
    pages: Arc<AtomicI32>,
    /// Log pages left by the last checkpoint.
    left: i32,
    length: WalLimits,
    running: Option<Running>,
    works: Arc<AtomicBool>,
}

impl Checkpoints {
    /// Replaces SQLite's automatic checkpoints on the writer's connection. `works` becomes false if moved pages may not
    /// be on disk; after that, nothing may be written.
    pub(crate) fn install(
        writer: &mut Connection,
        mover: CheckpointWorker,
        works: Arc<AtomicBool>,
        length: WalLimits,
    ) -> Result<Self, Error> {
        let pages = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&pages);
        let hook = move |_: &mut rusqlite::hooks::Wal, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(hook))?;
        Ok(Self { mover: Some(mover), pages, left: 0, length, running: None, works })
    }

    /// Begins or ends a checkpoint if one is due.
    pub(crate) fn after_commit(&mut self, writer: &Connection, readers: &Readers) {
        let due = self.left.saturating_add(self.length.pages());
        let over = self.pages.load(Ordering::Relaxed).saturating_sub(due);
        if let Some(thread) =
            self.running.take_if(|thread| thread.is_finished() || over >= self.length.meanwhile())
        {
            self.join(thread);
            if self.works.load(Ordering::Acquire) {
                self.finish(writer, readers);
            }
        } else if self.running.is_none() && over >= 0 {
            readers.release_all();
            self.running = self.begin();
            if self.running.is_none() {
                self.finish(writer, readers);
            }
        }
    }

    fn begin(&mut self) -> Option<Running> {
        let mover = self.mover.take()?;
        let (pages, works, length) = (Arc::clone(&self.pages), Arc::clone(&self.works), self.length.clone());
        let run = move || {
            let began = Instant::now();
            let outcome = mover.run(&pages, &works, &length);
            mover.observer.checkpointed(began.elapsed());
            (mover, outcome)
        };
        std::thread::Builder::new()
            .name("sqlite-checkpoint".to_owned())
            .spawn(run)
            .inspect_err(|error| tracing::warn!(%error, "cannot start a thread for a checkpoint"))
            .ok()
    }

    fn join(&mut self, thread: Running) {
        let Ok((mover, outcome)) = thread.join() else {
            tracing::error!("the checkpoint thread panicked");
            return;
        };
        self.mover = Some(mover);
        log_failure(outcome);
    }

    /// Moves the rest. Returns true if the log now restarts from its beginning.
    fn finish(&mut self, writer: &Connection, readers: &Readers) -> bool {
        let done = finish(writer, readers, &self.works).unwrap_or_else(|error| {
            log_failure(Err(error));
            false
        });
        if done {
            self.pages.store(0, Ordering::Relaxed);
        }
        self.left = self.pages.load(Ordering::Relaxed);
        done
    }

    /// Moves the whole log into the file and frees its space. If another process reads or checkpoints the log, this is
    /// left to that process.
    pub(crate) fn cut_log(&mut self, writer: &Connection, readers: &Readers) {
        if let Some(thread) = self.running.take() {
            self.join(thread);
        }
        if self.works.load(Ordering::Acquire) && self.finish(writer, readers) {
            log_failure(truncate_log(writer, &self.works));
        }
    }

    /// Waits for the running checkpoint.
    pub(crate) fn close(mut self) {
        if let Some(thread) = self.running.take() {
            self.join(thread);
        }
    }
}

/// A connection that checkpoints pages, and the sync that makes them durable.
pub(crate) struct CheckpointWorker {
    connection: Connection,
    sync: ToDisk,
    observer: Arc<dyn DiskObserver>,
}

impl CheckpointWorker {
    /// Creates a worker for the database at `path`, with its own connection.
    pub(crate) fn open(
        connection: Connection,
        path: &Path,
        observer: Arc<dyn DiskObserver>,
    ) -> Result<Self, Error> {
        let file = OpenOptions::new().write(true).open(path)?;
        // Never closed: if a process closes any descriptor of a file, it loses SQLite's locks on that file.
        let file = Box::leak(Box::new(file));
        Ok(Self { observer, ..Self::with_sync(connection, Box::new(|| file.sync_data())) })
    }

    pub(crate) fn with_sync(connection: Connection, sync: ToDisk) -> Self {
        Self { connection, sync, observer: Arc::new(()) }
    }

    /// Moves the log, and pages added meanwhile, until few are left or the number stops shrinking.
    fn run(&self, pages: &AtomicI32, works: &AtomicBool, length: &WalLimits) -> Result<(), Error> {
        let mut before = i32::MAX;
        loop {
            let moved = checkpoint(&self.connection, PASSIVE, works)?.moved;
            // SQLite syncs only if nothing was added meanwhile. Otherwise the writer would have to sync, and wait.
            (self.sync)().inspect_err(|error| report_failed_sync(works, error))?;
            let left = pages.load(Ordering::Relaxed).saturating_sub(moved);
            if left <= length.few() || left >= before || !works.load(Ordering::Acquire) {
                return Ok(());
            }
            before = left;
        }
    }
}

/// Moves the rest. Returns true if the whole log is in the file and no one else still reads or moves it.
fn finish(writer: &Connection, readers: &Readers, works: &AtomicBool) -> Result<bool, Error> {
    readers.release_all();
    let Log { pages, moved } = checkpoint(writer, PASSIVE, works)?;
    // Readers that started during the checkpoint may still use the log; new readers use the database file.
    readers.release_all();
    Ok(pages >= 0 && moved == pages)
}

/// Truncates a log that is completely in the file. Writers are excluded meanwhile, so readers need no waiting: the
/// writer's connection waits for no one.
fn truncate_log(writer: &Connection, works: &AtomicBool) -> Result<(), Error> {
    checkpoint(writer, TRUNCATE, works).map(drop)
}

/// Number of log pages, and how many of them are in the file; -1 while someone else checkpoints.
struct Log {
    pages: i32,
    moved: i32,
}

/// Runs one checkpoint. Sets `works` to false if it may not have reached the disk.
fn checkpoint(connection: &Connection, how: &'static str, works: &AtomicBool) -> Result<Log, Error> {
    connection
        .query_row(how, (), |row| Ok(Log { pages: row.get(1)?, moved: row.get(2)? }))
        .inspect_err(|error| {
            if error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_FSYNC) {
                report_failed_sync(works, error);
            }
        })
        .map_err(Error::from)
}

/// Handles a failed sync. A later sync would not report the pages left unwritten, and SQLite would overwrite the log
/// that still holds them. The log is therefore kept until a restart, which moves all of it again.
fn report_failed_sync(works: &AtomicBool, error: &dyn std::fmt::Display) {
    works.store(false, Ordering::Release);
    tracing::error!(%error, "the database file may not be on disk: no writes until a restart");
}

fn log_failure(outcome: Result<(), Error>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "the WAL was not checkpointed");
    }
}

#[cfg(test)]
mod tests;
