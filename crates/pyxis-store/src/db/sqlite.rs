//! SQLite: reader connections that callers use inline, and one writer thread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, ffi};
use tokio::time::Instant;

use super::query::SqlQuery;
use super::row::{FromRow, Row};
use super::value::Value;
use crate::{PATIENCE, StoreError};

mod cancel;
pub(crate) mod checkpoints;
pub(crate) mod durable;
pub(crate) mod readers;
pub(super) mod writer;

use checkpoints::{CheckpointWorker, Checkpoints, WalLimits};
use durable::WalSync;
use readers::Readers;
use writer::Writer;

/// Maximum wait for another process, such as a command on the same file. The writer's transactions have separate
/// deadlines.
pub(super) const BUSY_TIMEOUT: Duration = PATIENCE;
const STATEMENT_CACHE: usize = 256;
/// Writer's page cache for write-heavy use, in SQLite's notation: 16 MiB.
const MUCH: i32 = -16384;

/// An open SQLite file.
pub(crate) struct Database {
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
    pub(crate) fn open(path: &Path, readers: usize, patience: Duration) -> Result<Self, StoreError> {
        create_private(path)?;
        let mut writer = connect(path)?;
        // A separate thread makes commits durable, in the log that a first read opens.
        writer.pragma_update(None, "synchronous", "NORMAL").map_err(failure)?;
        writer.pragma_update(None, "journal_size_limit", checkpoints::KEPT).map_err(failure)?;
        writer.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(())).map_err(failure)?;
        let durable = WalSync::open(&writer, path)?;
        let (mover, log_length) = (CheckpointWorker::of(connect(path)?, path)?, WalLimits::default());
        let checkpoints = Checkpoints::of(&mut writer, mover, durable.health_flag(), log_length.clone())?;
        let inline = (0..readers.max(1)).map(|_| connect_reader(path)).collect::<Result<_, _>>()?;
        let inline = Arc::new(Readers::new(inline));
        let long = Arc::new(Mutex::new(connect_reader(path)?));
        let writer = Writer::start(writer, Arc::clone(&inline), checkpoints, durable, patience)?;
        Ok(Self { path: path.to_owned(), inline, long, writer, log_length })
    }

    /// Closes every connection. The last one merges the write-ahead log into the file.
    pub(crate) fn close(self) {
        drop((self.inline, self.long));
        self.writer.close();
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Prepares for many writes: allows a long write-ahead log, keeps its file at full length, and enlarges the
    /// writer's cache.
    pub(crate) async fn will_write_much(&self) -> Result<(), StoreError> {
        self.log_length.allow_many();
        let keep = |session: &Session<'_>| {
            session.batch(&format!("PRAGMA journal_size_limit = -1; PRAGMA cache_size = {MUCH}"))
        };
        self.writer.run_outside_tx(keep).await
    }

    /// Connections for point reads on the calling thread.
    pub(crate) fn readers(&self) -> &Readers {
        &self.inline
    }

    /// Runs a longer read on a blocking thread. If the caller stops waiting, the read is interrupted.
    pub(crate) async fn read_blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let long = Arc::clone(&self.long);
        let (waiting, abandoned) = cancel::pair();
        let run = move || {
            let mut connection = long.lock().unwrap_or_else(PoisonError::into_inner);
            cancel::interruptible(&mut connection, abandoned, |connection| read(&Session { connection }))
        };
        let outcome = tokio::task::spawn_blocking(run).await.map_err(StoreError::unavailable)?;
        drop(waiting);
        outcome
    }

    /// Runs one statement on the writer thread, in a commit shared with other waiting writes.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.run(write).await
    }

    /// Like [`write`](Self::write) for several statements. A savepoint undoes them if one fails.
    pub(crate) async fn write_atomic<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.run(move |session| session.atomically(write)).await
    }

    /// Like [`write_atomic`](Self::write_atomic) without waiting. `then` is called on another thread once the commit is
    /// durable.
    pub(crate) fn write_atomic_then<T: Send + 'static>(
        &self,
        deadline: Instant,
        write: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
        then: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        self.writer.run_then(deadline, move |session| session.atomically(write), then);
    }
}

/// A connection as a target of statements.
pub(crate) struct Session<'c> {
    connection: &'c Connection,
}

impl<'c> Session<'c> {
    pub(crate) const fn new(connection: &'c Connection) -> Self {
        Self { connection }
    }

    pub(crate) const fn connection(&self) -> &'c Connection {
        self.connection
    }

    pub(crate) fn optional<T: FromRow>(&self, query: &SqlQuery) -> Result<Option<T>, StoreError> {
        let mut statement = self.prepare(&query.text, &query.params)?;
        let mut rows = statement.raw_query();
        rows.next().map_err(failure)?.map(|row| T::from_row(&mut Row::sqlite(row, T::TABLE))).transpose()
    }

    pub(crate) fn all<T: FromRow>(&self, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.for_each(query, T::TABLE, |row| {
            found.push(T::from_row(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    pub(crate) fn for_each(
        &self,
        query: &SqlQuery,
        table: &'static str,
        mut visit: impl FnMut(&mut Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.prepare(&query.text, &query.params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(failure)? {
            visit(&mut Row::sqlite(row, table))?;
        }
        Ok(())
    }

    pub(crate) fn execute(&self, query: &SqlQuery) -> Result<u64, StoreError> {
        let changed = self.prepare(&query.text, &query.params)?.raw_execute().map_err(failure)?;
        Ok(u64::try_from(changed).unwrap_or(0))
    }

    pub(crate) fn execute_each(&self, text: &str, rows: &[Vec<Value>]) -> Result<u64, StoreError> {
        let mut statement = self.connection.prepare_cached(text).map_err(failure)?;
        let mut touched = 0;
        for row in rows {
            bind(&mut statement, row)?;
            touched += statement.raw_execute().map_err(failure)? as u64;
        }
        Ok(touched)
    }

    pub(crate) fn prepare(&self, text: &str, params: &[Value]) -> Result<CachedStatement<'c>, StoreError> {
        let mut statement = self.connection.prepare_cached(text).map_err(failure)?;
        bind(&mut statement, params)?;
        Ok(statement)
    }

    /// Runs a script of several statements without parameters.
    pub(crate) fn batch(&self, script: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(script).map_err(failure)
    }

    fn atomically<T>(&self, work: impl FnOnce(&Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.control("SAVEPOINT step")?;
        match work(self) {
            Ok(value) => self.control("RELEASE step").map(|()| value),
            Err(error) => {
                // If the engine has already rolled everything back, there is no savepoint to return to.
                if !self.connection.is_autocommit() {
                    self.control("ROLLBACK TO step")?;
                    self.control("RELEASE step")?;
                }
                Err(error)
            }
        }
    }

    pub(super) fn control(&self, text: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(text)
            .and_then(|mut statement| statement.raw_execute())
            .map_err(failure)?;
        Ok(())
    }
}

fn bind(statement: &mut CachedStatement<'_>, params: &[Value]) -> Result<(), StoreError> {
    debug_assert_eq!(statement.parameter_count(), params.len(), "every parameter is bound");
    for (index, value) in params.iter().enumerate() {
        // SQLite would accept it, and its text functions would then stop at that byte.
        if matches!(value, Value::Text(Some(text)) if text.as_bytes().contains(&0)) {
            return Err(StoreError::Text);
        }
        statement.raw_bind_parameter(index + 1, value).map_err(failure)?;
    }
    Ok(())
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Int(Some(value)) => ValueRef::Integer(*value),
            Self::Bool(Some(value)) => ValueRef::Integer((*value).into()),
            Self::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
            Self::Int(None) | Self::Bool(None) | Self::Text(None) | Self::Bytes(None) => ValueRef::Null,
            Self::List(_) => return Err(rusqlite::Error::ToSqlConversionFailure("no arrays here".into())),
        }))
    }
}

/// Creates the file, accessible to its owner only, unless it exists.
pub(crate) fn create_private(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StoreError::unavailable(error))
        }
        _ => Ok(()),
    }
}

/// A connection that can write, in the file's current journal mode.
pub(crate) fn connect_plain(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failure)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failure)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Otherwise, in a database that was once analyzed, statements are planned again for every value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failure)?;
    Ok(connection)
}

/// A connection as the store uses it: write-ahead log, every commit durable.
pub(crate) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect_plain(path)?;
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
             PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;",
        )
        .map_err(failure)?;
    Ok(connection)
}

fn connect_reader(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true).map_err(failure)?;
    // Small, because pages that are read once evict useful data from the processor's cache, and each commit of the
    // writer empties this one. With 2 MiB, 3 % fewer of a million scores were served; with 16 MiB, 10 %.
    connection.pragma_update(None, "cache_size", -512).map_err(failure)?;
    // The file is not memory-mapped. A reader would drop its mapping after every commit of the writer, and faulting
    // pages in again costs more than reading them.
    Ok(connection)
}

/// Converts a driver error.
pub(crate) fn failure(error: rusqlite::Error) -> StoreError {
    let rusqlite::Error::SqliteFailure(code, message) = &error else {
        return StoreError::refused(error);
    };
    match (code.code, code.extended_code) {
        (
            _,
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID,
        ) => StoreError::Conflict { constraint: message.clone() },
        (_, ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => StoreError::Reference,
        (
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::OperationInterrupted
            | ErrorCode::ReadOnly,
            _,
        ) => StoreError::unavailable(error),
        _ => StoreError::refused(error),
    }
}
