//! Errors of the engine.

use std::io;
use std::sync::Arc;

use rusqlite::ErrorCode;

/// A failed operation. Cloned, because one failed commit answers many callers.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// SQLite refused a statement.
    #[error(transparent)]
    Sqlite(Arc<rusqlite::Error>),
    /// The file could not be opened or synced. If it was a sync, the write may have happened.
    #[error(transparent)]
    Io(Arc<io::Error>),
    /// The deadline passed before the job's turn. Nothing was done.
    #[error("another writer has held the database for too long; nothing was done")]
    Busy,
    /// The thread that serves the database has ended, or no commit can be made durable anymore. A write may have
    /// happened.
    #[error("the database is closed")]
    Closed,
    /// The caller no longer waits for the answer.
    #[error("the caller no longer waits for this")]
    Canceled,
    /// SQLite ended the transaction because a statement failed. Nothing was stored.
    #[error("the transaction was rolled back because one of its statements failed")]
    RolledBack,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(error))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

/// True if SQLite could not begin because another process is writing.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
