//! An open file: readers, the writer and what runs behind it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::time::Instant;

use crate::cancel;
use crate::checkpoints::{self, CheckpointWorker, Checkpoints, WalLimits};
use crate::connection::{atomically, connect, connect_reader, create_private};
use crate::durable::WalSync;
use crate::readers::Readers;
use crate::writer::{Transaction, Writer};
use crate::{DiskObserver, Error};

/// Writer's page cache during a bulk load, in SQLite's notation: 16 MiB.
const LARGE_CACHE: i32 = -16384;

/// An open SQLite file.
///
/// Closures get a connection and return their own error type, into which the engine's errors are converted.
pub struct Database {
    path: PathBuf,
    /// For point reads; held for microseconds.
    inline: Arc<Readers>,
    /// For reads of many rows. Used only on blocking threads, so that no point read waits behind one.
    long: Arc<Mutex<Connection>>,
    writer: Writer,
    log_length: WalLimits,
}

impl Database {
    /// Opens or creates the file (readable by its owner only) and starts the writer thread. A write waits up to
    /// `patience` for its turn.
    pub fn open(path: &Path, readers: usize, patience: Duration) -> Result<Self, Error> {
        Self::open_observed(path, readers, patience, &(Arc::new(()) as Arc<dyn DiskObserver>))
    }

    /// Like [`open`](Self::open), and tells `observer` how long the disk takes.
    pub fn open_observed(
        path: &Path,
        readers: usize,
        patience: Duration,
        observer: &Arc<dyn DiskObserver>,
    ) -> Result<Self, Error> {
        create_private(path)?;
        let mut writer = connect(path)?;
        // A separate thread makes commits durable, in the log that a first read opens.
        writer.pragma_update(None, "synchronous", "NORMAL")?;
        writer.pragma_update(None, "journal_size_limit", checkpoints::KEPT)?;
        writer.query_row("PRAGMA schema_version", (), |_| Ok(()))?;
        let durable = WalSync::open(&writer, path, Arc::clone(observer))?;
        let mover = CheckpointWorker::open(connect(path)?, path, Arc::clone(observer))?;
        let log_length = WalLimits::default();
        let checkpoints =
            Checkpoints::install(&mut writer, mover, durable.health_flag(), log_length.clone())?;
        let inline = (0..readers.max(1)).map(|_| connect_reader(path)).collect::<Result<_, _>>()?;
        let inline = Arc::new(Readers::new(inline));
        let long = Arc::new(Mutex::new(connect_reader(path)?));
        let writer = Writer::start(writer, Arc::clone(&inline), checkpoints, durable, patience)?;
        Ok(Self { path: path.to_owned(), inline, long, writer, log_length })
    }

    /// Closes every connection. The last one merges the write-ahead log into the file.
    pub fn close(self) {
        drop((self.inline, self.long));
        self.writer.close();
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size of the write-ahead log's file, in bytes; 0 without one.
    pub fn log_bytes(&self) -> u64 {
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        std::fs::metadata(name).map_or(0, |file| file.len())
    }

    /// Number of commits of this process. A read that begins now sees all of them.
    pub fn commits(&self) -> u64 {
        self.inline.commits()
    }

    /// Returns an error if nothing can be written until a restart.
    pub fn check_writable(&self) -> Result<(), Error> {
        self.writer.check_writable()
    }

    /// Runs a point read on the calling thread. It sees everything that was committed before, by any process.
    pub fn read<T, E>(&self, read: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        self.inline.read(read)
    }

    /// Like [`read`](Self::read), but may lag commits of other processes by a millisecond.
    pub fn read_relaxed<T, E>(&self, read: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        self.inline.read_relaxed(read)
    }

    /// Runs a longer read on a blocking thread. If the caller stops waiting, the read is interrupted.
    pub async fn read_blocking<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let long = Arc::clone(&self.long);
        let (waiting, abandoned) = cancel::pair();
        let run = move || {
            let mut connection = long.lock().unwrap_or_else(PoisonError::into_inner);
            cancel::interruptible(&mut connection, abandoned, read)
        };
        let outcome = tokio::task::spawn_blocking(run).await.map_err(|_| Error::Closed)?;
        drop(waiting);
        outcome
    }

    /// Runs one statement on the writer thread, in a commit shared with other waiting writes. Returns once it is
    /// durable.
    pub async fn write<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        write: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.writer.run(write).await
    }

    /// Like [`write`](Self::write), but returns once a process crash can no longer undo it; a power failure still can.
    pub async fn write_relaxed<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        write: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.writer.run_relaxed(write).await
    }

    /// Like [`write`](Self::write) for several statements. A savepoint undoes them if one fails.
    pub async fn write_atomic<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        write: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.writer.run(move |connection| atomically(connection, write)).await
    }

    /// Like [`write_atomic`](Self::write_atomic) without waiting. `then` is called on another thread once the commit is
    /// durable.
    pub fn write_atomic_then<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        deadline: Instant,
        write: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        then: impl FnOnce(Result<T, E>) + Send + 'static,
    ) {
        self.writer.run_then(deadline, move |connection| atomically(connection, write), then);
    }

    /// Reserves the writer for an interactive transaction. Waits for its turn until `deadline`.
    pub async fn begin(&self, deadline: Instant) -> Result<Transaction, Error> {
        self.writer.begin(deadline).await
    }

    /// Runs `step` on the writer's connection, outside any transaction.
    pub async fn run_outside_tx<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        step: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.writer.run_outside_tx(step).await
    }

    /// Prepares for many writes: allows a long write-ahead log, keeps its file at full length, and enlarges the
    /// writer's cache.
    pub async fn begin_bulk_load(&self) -> Result<(), Error> {
        self.log_length.allow_many();
        let keep = format!("PRAGMA journal_size_limit = -1; PRAGMA cache_size = {LARGE_CACHE}");
        self.writer.run_outside_tx(move |connection| Ok(connection.execute_batch(&keep)?)).await
    }

    /// Moves the write-ahead log into the file and frees its space, as far as possible at the moment. The higher limits
    /// of the log remain.
    pub async fn end_bulk_load(&self) {
        self.writer.cut_log().await;
    }
}
