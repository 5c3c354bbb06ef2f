//! Connections, and the statements that control transactions on them.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::Error;

/// Maximum wait for another process, such as a command on the same file. The writer's transactions have separate
/// deadlines.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const STATEMENT_CACHE: usize = 256;

/// Creates the file, accessible to its owner only, unless it exists.
pub fn create_private(path: &Path) -> Result<(), Error> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

/// A connection that can write, in the file's current journal mode.
pub fn connect_plain(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Otherwise, in a database that was once analyzed, statements are planned again for every value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// A connection with a write-ahead log, in which every commit is durable.
pub fn connect(path: &Path) -> Result<Connection, Error> {
    let connection = connect_plain(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;",
    )?;
    Ok(connection)
}

pub(crate) fn connect_reader(path: &Path) -> Result<Connection, Error> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true)?;
    // Small, because pages that are read once evict useful data from the processor's cache, and each commit of the
    // writer empties this one. With 2 MiB, 3 % fewer of a million scores were served; with 16 MiB, 10 %.
    connection.pragma_update(None, "cache_size", -512)?;
    // The file is not memory-mapped. A reader would drop its mapping after every commit of the writer, and faulting
    // pages in again costs more than reading them.
    Ok(connection)
}

/// Runs a statement without parameters or rows, which stays prepared.
pub(crate) fn control(connection: &Connection, text: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(text)?.raw_execute().map(drop)
}

/// Runs `work` inside a savepoint, which undoes it if it fails.
pub(crate) fn atomically<T, E: From<Error>>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    let control = |text| control(connection, text).map_err(Error::from);
    control("SAVEPOINT step")?;
    match work(connection) {
        Ok(value) => {
            control("RELEASE step")?;
            Ok(value)
        }
        Err(error) => {
            // If the engine has already rolled everything back, there is no savepoint to return to.
            if !connection.is_autocommit() {
                control("ROLLBACK TO step")?;
                control("RELEASE step")?;
            }
            Err(error)
        }
    }
}
