//! Statements on a SQLite connection. `pyxis-sqlite` owns the connections.

use std::sync::Arc;

use pyxis_sqlite::Error;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, ffi};

use super::query::SqlQuery;
use super::row::{FromRow, Row};
use super::value::Value;
use crate::StoreError;
use crate::error::{Busy, Closed, ReceiverDropped};

/// Work on a session as work on the connection below it.
pub(crate) fn session<T>(
    work: impl FnOnce(&Session<'_>) -> Result<T, StoreError>,
) -> impl FnOnce(&Connection) -> Result<T, StoreError> {
    move |connection| work(&Session::new(connection))
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

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match error {
            Error::Sqlite(error) => driver_error(error),
            Error::Io(error) => Self::Unavailable(error),
            Error::Busy => Self::unavailable(Busy),
            Error::Closed => Self::unavailable(Closed),
            Error::Canceled => Self::unavailable(ReceiverDropped),
            Error::RolledBack => Self::Aborted,
        }
    }
}

/// Converts a driver error.
pub(crate) fn failure(error: rusqlite::Error) -> StoreError {
    driver_error(Arc::new(error))
}

fn driver_error(error: Arc<rusqlite::Error>) -> StoreError {
    let rusqlite::Error::SqliteFailure(code, message) = &*error else {
        return StoreError::Refused(error);
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
        ) => StoreError::Unavailable(error),
        _ => StoreError::Refused(error),
    }
}
