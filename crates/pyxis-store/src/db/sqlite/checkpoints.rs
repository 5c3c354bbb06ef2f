//! Moving the write-ahead log into the file, beside the writer.
//!
//! Most of a checkpoint is writing and syncing pages, for which nobody needs to wait: a thread does that while the
//! writer goes on, until little is left of what was written meanwhile. That the writer moves by itself, and with no
//! reader in the log it begins anew from its start.

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

/// Pages in the log with which a checkpoint begins: 16 MiB, less in tests.
const PAGES: i32 = if cfg!(test) { 64 } else { 4096 };
/// The same where much is written: a page that changes often is then moved once for many times.
const MANY: i32 = 32 * PAGES;
/// Bytes of the log's file that stay for what is written next, once it begins anew.
pub(crate) const KEPT: i32 = 4 * PAGES * 4096;

/// Moves what no reader keeps in the log, without waiting for anybody.
const PASSIVE: &str = "PRAGMA wal_checkpoint(PASSIVE)";
/// Moves all of it and cuts the log.
const TRUNCATE: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// How long the log may become.
#[derive(Clone)]
pub(crate) struct WalLimits(Arc<AtomicI32>);

impl Default for WalLimits {
    fn default() -> Self {
        Self(Arc::new(AtomicI32::new(PAGES)))
    }
}

impl WalLimits {
    /// From the next commit on.
    pub(crate) fn allow_many(&self) {
        self.0.store(MANY, Ordering::Relaxed);
    }

    /// Pages with which a checkpoint begins.
    fn pages(&self) -> i32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Pages that may come meanwhile: then the writer waits for the thread, or the log would grow without bound.
    fn meanwhile(&self) -> i32 {
        3 * self.pages()
    }

    /// Pages that the writer may be left with.
    fn few(&self) -> i32 {
        self.pages() / 8
    }
}

/// A checkpoint that runs, with what it works with.
type Running = JoinHandle<(CheckpointWorker, Result<(), StoreError>)>;

/// The checkpoints of one writer.
pub(crate) struct Checkpoints {
    /// For the thread, while none runs; without it the writer does everything.
    mover: Option<CheckpointWorker>,
    /// Pages in the log after the last commit.
    pages: Arc<AtomicI32>,
    /// Pages that the last one left there.
    left: i32,
    length: WalLimits,
    running: Option<Running>,
    works: Arc<AtomicBool>,
}

impl Checkpoints {
    /// Takes the checkpoints of the writer's connection over from SQLite. `works` becomes false where what was moved
    /// may not be on the disk: then nothing may be written any more.
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

    /// Begins or ends a checkpoint, if it is time to.
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
            .inspect_err(|error| tracing::warn!(%error, "no thread for checkpoints"))
            .ok()
    }

    fn join(&mut self, thread: Running) {
        let Ok((mover, outcome)) = thread.join() else {
            tracing::error!("the thread of a checkpoint had panicked");
            return;
        };
        self.mover = Some(mover);
        told(outcome);
    }

    /// Moves the rest, so that the log begins anew from its start; whether it does.
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

    /// Moves all of the log into the file and gives its space back. Beside another process that reads or moves it, that
    /// is left to the other one.
    pub(crate) fn cut_log(&mut self, writer: &Connection, readers: &Readers) {
        if let Some(thread) = self.running.take() {
            self.join(thread);
        }
        if self.works.load(Ordering::Acquire) && self.finish(writer, readers) {
            told(cut(writer, &self.works));
        }
    }

    /// Waits for the one that runs.
    pub(crate) fn close(mut self) {
        if let Some(thread) = self.running.take() {
            self.join(thread);
        }
    }
}

/// A connection that moves pages, and what makes them durable where they are then.
pub(crate) struct CheckpointWorker {
    connection: Connection,
    sync: ToDisk,
}

impl CheckpointWorker {
    /// Of the database at `path`, with a connection of its own.
    pub(crate) fn of(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let file = OpenOptions::new().write(true).open(path).map_err(StoreError::unavailable)?;
        // Never closed: with any descriptor of a file that a process closes it loses the locks that SQLite has on it.
        let file = Box::leak(Box::new(file));
        Ok(Self::by(connection, Box::new(|| file.sync_data())))
    }

    pub(crate) fn by(connection: Connection, sync: ToDisk) -> Self {
        Self { connection, sync }
    }

    /// Moves what is in the log, and what came meanwhile, until little is left or it does not become less.
    fn run(&self, pages: &AtomicI32, works: &AtomicBool, length: &WalLimits) -> Result<(), StoreError> {
        let mut before = i32::MAX;
        loop {
            let moved = checkpoint(&self.connection, PASSIVE, works)?.moved;
            // SQLite does this only if nothing came meanwhile; the writer would have to, and wait.
            (self.sync)().map_err(StoreError::unavailable).inspect_err(|error| lost(works, error))?;
            let left = pages.load(Ordering::Relaxed).saturating_sub(moved);
            if left <= length.few() || left >= before || !works.load(Ordering::Acquire) {
                return Ok(());
            }
            before = left;
        }
    }
}

/// Moves the rest; whether all of the log is in the file, and not still read or moved by somebody else.
fn finish(writer: &Connection, readers: &Readers, works: &AtomicBool) -> Result<bool, StoreError> {
    readers.let_go();
    let Log { pages, moved } = checkpoint(writer, PASSIVE, works)?;
    // Who came to read during this may read the log; who comes now reads the file.
    readers.let_go();
    Ok(pages >= 0 && moved == pages)
}

/// Cuts a log that is in the file. Writers are kept out meanwhile, so readers are not waited for: the writer's
/// connection waits for nobody.
fn cut(writer: &Connection, works: &AtomicBool) -> Result<(), StoreError> {
    checkpoint(writer, TRUNCATE, works).map(drop)
}

/// Pages of the log, and how many of them are in the file; -1 while somebody else moves them.
struct Log {
    pages: i32,
    moved: i32,
}

/// One checkpoint. Where it may not have reached the disk, `works` becomes false.
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

/// What a failed sync left unwritten, a later one would not report, and SQLite would begin the log anew over what
/// is only there. It stays there until a restart, which moves all of it once more.
fn lost(works: &AtomicBool, error: &dyn std::fmt::Display) {
    works.store(false, Ordering::Release);
    tracing::error!(%error, "the file may not be on the disk: no more writes until a restart");
}

fn told(outcome: Result<(), StoreError>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "the write-ahead log was not moved into the file");
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

    /// A log that nobody moves would be ten times as long in the end.
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
        // It begins anew when a thread is done, which may not be at once.
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

    /// Pages that the file of the log has room for.
    fn log_pages(path: &std::path::Path) -> i32 {
        let bytes = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        i32::try_from(bytes / 4096).unwrap()
    }
}
