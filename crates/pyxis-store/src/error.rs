//! Errors of the store.

use std::sync::Arc;

use pyxis_core::admin_error::AdminError;
use tokio_postgres::error::SqlState;

/// The driver's error. Shared, because one failed commit answers many callers.
pub(crate) type ErrorSource = Arc<dyn std::error::Error + Send + Sync>;

/// Refusal of a text with NUL, for the person who sent it.
pub const NO_NUL: &str = "must not contain the NUL character";

/// A failed store operation. A missing row is an `Option` and a lost race a `bool`, so neither is listed here.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Another row with the same unique value exists.
    #[error("a row with the same value exists: {}", constraint.as_deref().unwrap_or("unnamed constraint"))]
    Conflict {
        /// The constraint or its columns, as named by the engine. For display only.
        constraint: Option<String>,
    },
    /// The row references a missing row, or is still referenced by another one.
    #[error("a row that this one refers to does not exist, or is still in use")]
    Reference,
    /// A text contains NUL, which cannot be stored. PostgreSQL refuses it, so SQLite must do the same.
    #[error("a text contains the NUL character, which cannot be stored")]
    Text,
    /// A stored value is invalid.
    #[error("corrupt value in {table}.{column}, row {row}")]
    Corrupt {
        /// Name of the table.
        table: &'static str,
        /// Name of the column.
        column: &'static str,
        /// The row's first column as text.
        row: String,
    },
    /// An earlier statement of this transaction failed, so none of it was stored.
    #[error("the transaction was rolled back because one of its statements failed")]
    Aborted,
    /// The database URL is not usable.
    #[error("database address: {0}")]
    Address(&'static str),
    /// This program cannot use the schema.
    #[error("database schema: {0}")]
    Schema(String),
    /// The backup file, or the database to restore into, is not suitable.
    #[error("backup: {0}")]
    Backup(String),
    /// The engine refused the statement because of a defect in the program or the disk.
    #[error("the database refused a statement")]
    Refused(#[source] ErrorSource),
    /// The engine is unreachable or too busy.
    #[error("the database is not available")]
    Unavailable(#[source] ErrorSource),
}

impl StoreError {
    pub(crate) fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Unavailable(Arc::new(error))
    }

    /// True if a failed write may have been executed anyway: the connection broke during it, so its outcome is unknown.
    pub fn may_have_happened(&self) -> bool {
        let Self::Unavailable(source) = self else { return false };
        // There was no connection to send it on, or it was rolled back.
        !source.is::<deadpool_postgres::PoolError>()
            && !source.is::<rusqlite::Error>()
            && !source.is::<Busy>()
            && !source.is::<Outdated>()
            && !is_lock_timeout(source)
            && !self.is_contended()
    }

    /// True if the engine ended the transaction because of a conflict with another one. Nothing was stored, and a retry
    /// may succeed immediately.
    pub fn is_contended(&self) -> bool {
        const CIRCLES: [&SqlState; 2] =
            [&SqlState::T_R_DEADLOCK_DETECTED, &SqlState::T_R_SERIALIZATION_FAILURE];
        let Self::Unavailable(source) = self else { return false };
        refusal(source).is_some_and(|code| CIRCLES.contains(&code))
    }

    /// True if someone else kept the database busy until the deadline. Nothing was done.
    pub(crate) fn is_busy(&self) -> bool {
        let Self::Unavailable(source) = self else { return false };
        source.is::<Busy>() || is_lock_timeout(source)
    }

    /// True if another row had the same unique value.
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }
}

impl From<StoreError> for AdminError {
    /// Callers first handle errors that they can act on, such as conflicts.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Text => Self::field("text", NO_NUL),
            _ if error.is_contended() => Self::Busy,
            StoreError::Unavailable(_) => Self::Unavailable { what: "the database", source: error.into() },
            other => Self::internal(other),
        }
    }
}

/// PostgreSQL's reason, if it gave one.
fn refusal(source: &ErrorSource) -> Option<&SqlState> {
    source.downcast_ref().and_then(tokio_postgres::Error::code)
}

/// True if PostgreSQL ended a statement that waited too long for a lock.
fn is_lock_timeout(source: &ErrorSource) -> bool {
    refusal(source) == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// The deadline passed before the job's turn, so nothing was done.
#[derive(Debug, thiserror::Error)]
#[error("another writer has held the database for too long; nothing was done")]
pub(crate) struct Busy;

/// The server did not answer in time. Work that was sent to it may have been done.
#[derive(Debug, thiserror::Error)]
#[error("the database server does not answer")]
pub(crate) struct NoAnswer;

/// The thread or task that serves the database has ended.
#[derive(Debug, thiserror::Error)]
#[error("the store is closed")]
pub(crate) struct Closed;

/// A newer release changed the database, so this program does nothing with it anymore.
#[derive(Debug, thiserror::Error)]
#[error("a newer release changed the database; this program no longer uses it")]
pub(crate) struct Outdated;

/// The caller no longer waits for the answer.
#[derive(Debug, thiserror::Error)]
#[error("the caller no longer waits for this")]
pub(crate) struct ReceiverDropped;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_that_broke_leaves_open_whether_a_write_happened() {
        let broken = "port=none".parse::<tokio_postgres::Config>().unwrap_err();
        assert!(StoreError::unavailable(broken).may_have_happened());
        assert!(StoreError::unavailable(Closed).may_have_happened());
        assert!(StoreError::unavailable(NoAnswer).may_have_happened());
        let no_connection = deadpool_postgres::PoolError::Closed;
        assert!(!StoreError::unavailable(no_connection).may_have_happened());
        assert!(!StoreError::unavailable(rusqlite::Error::InvalidQuery).may_have_happened());
        assert!(!StoreError::unavailable(Busy).may_have_happened());
        assert!(!StoreError::unavailable(Outdated).may_have_happened());
        assert!(!StoreError::Refused(Arc::new(rusqlite::Error::InvalidQuery)).may_have_happened());
        assert!(!StoreError::Aborted.may_have_happened());
        for error in [StoreError::unavailable(Closed), StoreError::Aborted] {
            assert!(!error.is_contended());
        }
    }
}
