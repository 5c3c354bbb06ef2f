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

use super::durable::ToDisk;
use super::failure;
use super::readers::Readers;
use crate::StoreError;

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
type Running = JoinHandle<(CheckpointWorker, Result<(), StoreError>)>;

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
    pub(crate) fn of(
        writer: &mut Connection,
        mover: CheckpointWorker,
        works: Arc<AtomicBool>,
        length: WalLimits,
    ) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&pages);
        let hook = move |_: &mut rusqlite::hooks::Wal, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(hook)).map_err(failure)?;
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
            readers.let_go();
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
            let outcome = mover.run(&pages, &works, &length);
            (mover, outcome)
        };
        std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
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
        told(outcome);
    }

    /// Moves the rest. Returns true if the log now restarts from its beginning.
    fn finish(&mut self, writer: &Connection, readers: &Readers) -> bool {
        let done = finish(writer, readers, &self.works).unwrap_or_else(|error| {
            told(Err(error));
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
            told(cut(writer, &self.works));
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
}

impl CheckpointWorker {
    /// Creates a worker for the database at `path`, with its own connection.
    pub(crate) fn of(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let file = OpenOptions::new().write(true).open(path).map_err(StoreError::unavailable)?;
        // Never closed: if a process closes any descriptor of a file, it loses SQLite's locks on that file.
        let file = Box::leak(Box::new(file));
        Ok(Self::by(connection, Box::new(|| file.sync_data())))
    }

    pub(crate) fn by(connection: Connection, sync: ToDisk) -> Self {
        Self { connection, sync }
    }

    /// Moves the log, and pages added meanwhile, until few are left or the number stops shrinking.
    fn run(&self, pages: &AtomicI32, works: &AtomicBool, length: &WalLimits) -> Result<(), StoreError> {
        let mut before = i32::MAX;
        loop {
            let moved = checkpoint(&self.connection, PASSIVE, works)?.moved;
            // SQLite syncs only if nothing was added meanwhile. Otherwise the writer would have to sync, and wait.
            (self.sync)().map_err(StoreError::unavailable).inspect_err(|error| lost(works, error))?;
            let left = pages.load(Ordering::Relaxed).saturating_sub(moved);
            if left <= length.few() || left >= before || !works.load(Ordering::Acquire) {
                return Ok(());
            }
            before = left;
        }
    }
}

/// Moves the rest. Returns true if the whole log is in the file and no one else still reads or moves it.
fn finish(writer: &Connection, readers: &Readers, works: &AtomicBool) -> Result<bool, StoreError> {
    readers.let_go();
    let Log { pages, moved } = checkpoint(writer, PASSIVE, works)?;
    // Readers that started during the checkpoint may still use the log; new readers use the database file.
    readers.let_go();
    Ok(pages >= 0 && moved == pages)
}

/// Truncates a log that is completely in the file. Writers are excluded meanwhile, so readers need no waiting: the
/// writer's connection waits for no one.
fn cut(writer: &Connection, works: &AtomicBool) -> Result<(), StoreError> {
    checkpoint(writer, TRUNCATE, works).map(drop)
}

/// Number of log pages, and how many of them are in the file; -1 while someone else checkpoints.
struct Log {
    pages: i32,
    moved: i32,
}

/// Runs one checkpoint. Sets `works` to false if it may not have reached the disk.
fn checkpoint(connection: &Connection, how: &'static str, works: &AtomicBool) -> Result<Log, StoreError> {
    connection
        .query_row(how, (), |row| Ok(Log { pages: row.get(1)?, moved: row.get(2)? }))
        .inspect_err(|error| {
            if error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_FSYNC) {
                lost(works, error);
            }
        })
        .map_err(failure)
}

/// Handles a failed sync. A later sync would not report the pages left unwritten, and SQLite would overwrite the log
/// that still holds them. The log is therefore kept until a restart, which moves all of it again.
fn lost(works: &AtomicBool, error: &dyn std::fmt::Display) {
    works.store(false, Ordering::Release);
    tracing::error!(%error, "the database file may not be on disk: no writes until a restart");
}

fn told(outcome: Result<(), StoreError>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "the WAL was not checkpointed");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::readers::release_idle_reads;
    use super::super::{connect, create_private};
    use super::{CheckpointWorker, Checkpoints, KEPT, MANY, PAGES, WalLimits};
    use crate::db::{Executor, sql};
    use crate::{DatabaseUrl, OpenOptions, Store};

    #[test]
    fn nothing_may_be_written_after_the_file_could_not_be_synced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("px.db");
        create_private(&path).unwrap();
        let mut writer = connect(&path).unwrap();
        let broken = Box::new(|| Err(std::io::Error::other("the disk is broken")));
        let mover = CheckpointWorker::by(connect(&path).unwrap(), broken);
        let works = Arc::new(AtomicBool::new(true));
        let mut checkpoints =
            Checkpoints::of(&mut writer, mover, Arc::clone(&works), WalLimits::default()).unwrap();
        let write = "CREATE TABLE t (body BLOB); INSERT INTO t VALUES (randomblob(1000000))";
        writer.execute_batch(write).unwrap();
        checkpoints.after_commit(&writer, &super::Readers::default());
        checkpoints.cut_log(&writer, &super::Readers::default());
        checkpoints.close();
        assert!(!works.load(Ordering::Acquire));
        assert!(log_pages(&path) > 0);
    }

    /// Without checkpoints the log would end up ten times as long.
    #[tokio::test]
    async fn the_log_stays_short_although_somebody_always_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("px.db");
        let store = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap();
        store.execute(sql("CREATE TABLE t (n INTEGER PRIMARY KEY, body BLOB)")).await.unwrap();
        let bound = 4200 * u64::try_from(6 * PAGES).unwrap();
        release_idle_reads();
        for turn in 0..200_i64 {
            store.execute(sql("INSERT INTO t VALUES ($1, randomblob(60000))").bind(turn)).await.unwrap();
            let seen: Option<(i64,)> = store.optional(sql("SELECT max(n) FROM t")).await.unwrap();
            assert_eq!(seen, Some((turn,)));
            let log = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
            assert!(log < bound, "{log} bytes after {turn}");
        }
        store.close().await.unwrap();
        assert!(!path.with_extension("db-wal").exists());
    }

    #[tokio::test]
    async fn whoever_writes_much_lets_the_log_become_long_and_leaves_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("px.db");
        let store = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap();
        store.begin_bulk_load().await.unwrap();
        store.execute(sql("CREATE TABLE t (n INTEGER PRIMARY KEY, body BLOB)")).await.unwrap();
        let mut longest = 0;
        for turn in 0..200_i64 {
            store.execute(sql("INSERT INTO t VALUES ($1, randomblob(60000))").bind(turn)).await.unwrap();
            longest = longest.max(log_pages(&path));
        }
        assert!((MANY..6 * MANY).contains(&longest), "{longest} pages");
        store.close().await.unwrap();
        assert!(!path.with_extension("db-wal").exists());
    }

    #[tokio::test]
    async fn once_much_was_written_the_log_is_cut_unless_somebody_reads_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("px.db");
        let [import, server] =
            [(); 2].map(|()| Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap());
        import.execute(sql("CREATE TABLE t (body BLOB)")).await.unwrap();
        let write = async || import.execute(sql("INSERT INTO t VALUES (randomblob(60000))")).await.unwrap();
        let rows = "SELECT count(*) FROM t";
        let reader = connect(&path).unwrap();
        let seen = || reader.query_row(rows, (), |row| row.get::<_, i64>(0)).unwrap();
        write().await;
        reader.execute_batch("BEGIN").unwrap();
        assert_eq!(seen(), 1);
        for _ in 0..2 {
            import.end_bulk_load().await;
            assert!(log_pages(&path) > 0);
            write().await;
        }
        assert_eq!(seen(), 1);
        reader.execute_batch("COMMIT").unwrap();
        import.end_bulk_load().await;
        assert_eq!(log_pages(&path), 0);
        write().await;
        assert_eq!(server.optional(sql(rows)).await.unwrap(), Some((4_i64,)));
        assert_eq!(seen(), 4);
    }

    #[tokio::test]
    async fn a_log_that_became_long_is_cut_once_another_process_begins_it_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("px.db");
        let [import, server] =
            [(); 2].map(|()| Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap());
        import.begin_bulk_load().await.unwrap();
        import.execute(sql("CREATE TABLE t (n INTEGER PRIMARY KEY, body BLOB)")).await.unwrap();
        for turn in 0..200_i64 {
            import.execute(sql("INSERT INTO t VALUES ($1, randomblob(60000))").bind(turn)).await.unwrap();
        }
        import.close().await.unwrap();
        let mut kept = log_pages(&path);
        assert!(kept >= MANY);
        // It restarts once a thread is done, possibly not immediately.
        for turn in 200..230_i64 {
            if kept <= KEPT / 4096 {
                break;
            }
            server.execute(sql("INSERT INTO t VALUES ($1, randomblob(60000))").bind(turn)).await.unwrap();
            kept = log_pages(&path);
        }
        assert!(kept <= KEPT / 4096, "{kept} pages");
        server.close().await.unwrap();
    }

    /// Number of pages that the log file has room for.
    fn log_pages(path: &std::path::Path) -> i32 {
        let bytes = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        i32::try_from(bytes / 4096).unwrap()
    }
}
