//! What can go wrong in the store.

use std::sync::Arc;

use tokio_postgres::error::SqlState;

/// The driver's own error, shared because one failed commit answers many callers.
pub(crate) type ErrorSource = Arc<dyn std::error::Error + Send + Sync>;

/// A failed store operation. Absence is `Option` and a lost race is `bool`, so neither is here.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A row with the same unique value exists.
    #[error("a row with the same value exists: {}", constraint.as_deref().unwrap_or("unnamed constraint"))]
    Conflict {
        /// The constraint or its columns as the engine names them; for people, not for code.
        constraint: Option<String>,
    },
    /// The row refers to something that does not exist (any more), or something still refers to it.
    #[error("a row that this one refers to does not exist, or is still in use")]
    Reference,
    /// A text has a character that cannot be stored: NUL. PostgreSQL refuses it, so SQLite may not differ.
    #[error("a text holds the NUL character, which cannot be stored")]
    Text,
    /// A stored value cannot be what it must be.
    #[error("corrupt value in {table}.{column}, row {row}")]
    Corrupt {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// The row's first column as text.
        row: String,
    },
    /// An earlier statement of this transaction failed, so nothing of it was stored.
    #[error("the transaction was rolled back because one of its statements failed")]
    Aborted,
    /// The address of the database cannot be used.
    #[error("database address: {0}")]
    Address(&'static str),
    /// The schema is not one that this program can use.
    #[error("database schema: {0}")]
    Schema(String),
    /// The backup file, or the database to restore into, does not fit.
    #[error("backup: {0}")]
    Backup(String),
    /// The engine refused the statement for a reason that is a defect of the program or the disk.
    #[error("the database refused a statement")]
    Refused(#[source] ErrorSource),
    /// The engine cannot be reached, or is too busy.
    #[error("the database is not available")]
    Unavailable(#[source] ErrorSource),
}

impl StoreError {
    pub(crate) fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Unavailable(Arc::new(error))
    }

    pub(crate) fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Refused(Arc::new(error))
    }

    /// True if the write that failed may have been carried out all the same: the connection broke while it
    /// was on its way, and nobody knows how far it came.
    pub fn may_have_happened(&self) -> bool {
        let Self::Unavailable(source) = self else { return false };
        // There was no connection to send it by, or it was rolled back.
        !source.is::<deadpool_postgres::PoolError>()
            && !source.is::<rusqlite::Error>()
            && !source.is::<Busy>()
            && !is_lock_timeout(source)
            && !self.is_contended()
    }

    /// True if the engine ended the transaction because another was in its way: nothing of it was stored, and it may
    /// succeed as soon as it is begun again.
    pub fn is_contended(&self) -> bool {
        const CIRCLES: [&SqlState; 2] =
            [&SqlState::T_R_DEADLOCK_DETECTED, &SqlState::T_R_SERIALIZATION_FAILURE];
        let Self::Unavailable(source) = self else { return false };
        refusal(source).is_some_and(|code| CIRCLES.contains(&code))
    }

    /// True where somebody else kept the database busy until the deadline. Nothing was done.
    pub(crate) fn is_busy(&self) -> bool {
        let Self::Unavailable(source) = self else { return false };
        source.is::<Busy>() || is_lock_timeout(source)
    }

    /// True if a row with the same unique value was in the way.
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }
}

/// Reason that PostgreSQL gave.
fn refusal(source: &ErrorSource) -> Option<&SqlState> {
    source.downcast_ref().and_then(tokio_postgres::Error::code)
}

/// True where PostgreSQL ended a statement that waited too long for a lock.
fn is_lock_timeout(source: &ErrorSource) -> bool {
    refusal(source) == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// True where SQLite could not begin because another process writes.
pub(crate) fn is_busy(error: &StoreError) -> bool {
    let StoreError::Unavailable(source) = error else { return false };
    let code = source.downcast_ref().and_then(rusqlite::Error::sqlite_error_code);
    matches!(code, Some(rusqlite::ErrorCode::DatabaseBusy))
}

/// The deadline passed before it was the turn of a job, so that nothing of it was done.
#[derive(Debug, thiserror::Error)]
#[error("somebody else has been writing to the database for too long; nothing was done")]
pub(crate) struct Busy;

/// The thread or task that serves the database has ended.
#[derive(Debug, thiserror::Error)]
#[error("the store is closed")]
pub(crate) struct Closed;

/// Whoever asked no longer waits for the answer.
#[derive(Debug, thiserror::Error)]
#[error("nobody waits for this any more")]
pub(crate) struct ReceiverDropped;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_that_broke_leaves_open_whether_a_write_happened() {
        let broken = "port=none".parse::<tokio_postgres::Config>().unwrap_err();
        assert!(StoreError::unavailable(broken).may_have_happened());
        assert!(StoreError::unavailable(Closed).may_have_happened());
        let no_connection = deadpool_postgres::PoolError::Closed;
        assert!(!StoreError::unavailable(no_connection).may_have_happened());
        assert!(!StoreError::unavailable(rusqlite::Error::InvalidQuery).may_have_happened());
        assert!(!StoreError::unavailable(Busy).may_have_happened());
        assert!(!StoreError::refused(rusqlite::Error::InvalidQuery).may_have_happened());
        assert!(!StoreError::Aborted.may_have_happened());
        for error in [StoreError::unavailable(Closed), StoreError::Aborted] {
            assert!(!error.is_contended());
        }
    }
}
