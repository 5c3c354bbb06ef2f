//! The query layer: one small interface for SQLite and PostgreSQL.
//!
//! Statements are literal text with `$n` parameters in the portable subset (`RETURNING`, `ON CONFLICT`, BIGINT, TEXT,
//! BOOLEAN, BLOB/BYTEA). Time is a parameter, JSON is text, and concurrency is controlled by compare-and-set in the
//! `WHERE` clause, so that both engines behave alike.

pub(crate) mod postgres;
mod query;
pub(crate) mod row;
pub(crate) mod sqlite;
mod tx;
pub(crate) mod value;

use std::borrow::Cow;
use std::future::Future;

pub(crate) use query::{SqlQuery, sql};
pub(crate) use row::{Attempt, FromRow, Row, readable, row};
use sqlite::session;
pub use tx::{Committing, Tx};
pub(crate) use value::{Bind, Cell, Column, Value, named_text, stored_enum};

use crate::{Engine, Store, StoreError};

/// Parameter rows of a statement that runs once per row.
pub(crate) type Rows = Vec<Vec<Value>>;

/// Target of a statement: `&Store` (runs separately, committed on return) or `&mut Tx`.
///
/// Only this crate creates statements. Other crates pass an executor to the functions of the aggregates.
pub trait Executor: Send + Sized {
    /// Database engine of the executor.
    #[doc(hidden)]
    fn engine(&self) -> Engine;

    /// Reads at most one row. On SQLite through `&Store` this runs inline, so it must be a point read.
    #[doc(hidden)]
    fn optional<T: FromRow>(
        self,
        query: SqlQuery,
    ) -> impl Future<Output = Result<Option<T>, StoreError>> + Send;

    /// Reads all rows.
    #[doc(hidden)]
    fn all<T: FromRow>(self, query: SqlQuery) -> impl Future<Output = Result<Vec<T>, StoreError>> + Send;

    /// Writes. Returns the number of affected rows.
    #[doc(hidden)]
    fn execute(self, query: SqlQuery) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Writes with RETURNING.
    #[doc(hidden)]
    fn returning<T: FromRow>(
        self,
        query: SqlQuery,
    ) -> impl Future<Output = Result<Vec<T>, StoreError>> + Send;

    /// Writes once per row of parameters, all or nothing. Returns the number of affected rows.
    #[doc(hidden)]
    fn execute_each(
        self,
        text: Cow<'static, str>,
        rows: Rows,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// Runs an `INSERT … ON CONFLICT DO NOTHING`. Reports a conflict as an error after which the transaction can continue.
pub(crate) async fn insert(executor: impl Executor, query: SqlQuery) -> Result<(), StoreError> {
    match executor.execute(query).await? {
        0 => Err(StoreError::Conflict { constraint: None }),
        _ => Ok(()),
    }
}

/// Normalizes a name or email address for comparison.
pub fn normalize_name(name: &str) -> String {
    name.trim().to_lowercase()
}

pub(crate) enum Backend {
    Sqlite(Box<pyxis_sqlite::Database>),
    Postgres(Box<postgres::PostgresDatabase>),
}

impl Backend {
    /// Upper bound on the commits of this process. A read that begins now sees all of them.
    pub(crate) fn commits(&self) -> u64 {
        match self {
            Self::Sqlite(database) => database.commits(),
            Self::Postgres(database) => database.commits(),
        }
    }
}

impl Executor for &Store {
    fn engine(&self) -> Engine {
        Store::engine(self)
    }

    async fn optional<T: FromRow>(self, query: SqlQuery) -> Result<Option<T>, StoreError> {
        match self.usable()? {
            Backend::Sqlite(database) if query.relaxed => {
                database.read_relaxed(session(|session| session.optional(&query)))
            }
            Backend::Sqlite(database) => database.read(session(|session| session.optional(&query))),
            Backend::Postgres(database) => database.optional(&query).await,
        }
    }

    async fn all<T: FromRow>(self, query: SqlQuery) -> Result<Vec<T>, StoreError> {
        match self.usable()? {
            Backend::Sqlite(database) => {
                database.read_blocking(session(move |session| session.all(&query))).await
            }
            Backend::Postgres(database) => database.all(&query).await,
        }
    }

    async fn execute(self, query: SqlQuery) -> Result<u64, StoreError> {
        match self.usable()? {
            Backend::Sqlite(database) => {
                database.write(session(move |session| session.execute(&query))).await
            }
            Backend::Postgres(database) => database.execute(&query).await,
        }
    }

    async fn returning<T: FromRow>(self, query: SqlQuery) -> Result<Vec<T>, StoreError> {
        match self.usable()? {
            Backend::Sqlite(database) if query.relaxed => {
                database.write_relaxed(session(move |session| session.all(&query))).await
            }
            Backend::Sqlite(database) => database.write(session(move |session| session.all(&query))).await,
            Backend::Postgres(database) => database.returning(&query).await,
        }
    }

    async fn execute_each(self, text: Cow<'static, str>, rows: Rows) -> Result<u64, StoreError> {
        match self.usable()? {
            Backend::Sqlite(database) => {
                database.write_atomic(session(move |session| session.execute_each(&text, &rows))).await
            }
            Backend::Postgres(_) => {
                let mut tx = self.begin().await?;
                let touched = (&mut tx).execute_each(text, rows).await?;
                tx.commit().await?;
                Ok(touched)
            }
        }
    }
}

impl Store {
    /// Runs several writes atomically. Returns the affected rows of each. On SQLite they share a commit with other
    /// waiting writes, unlike a [`Tx`], which holds the writer exclusively.
    pub(crate) async fn execute_all(&self, queries: Vec<SqlQuery>) -> Result<Vec<u64>, StoreError> {
        match self.usable()? {
            Backend::Sqlite(database) => {
                let all = move |session: &sqlite::Session<'_>| {
                    queries.iter().map(|query| session.execute(query)).collect()
                };
                database.write_atomic(session(all)).await
            }
            Backend::Postgres(_) => {
                let mut tx = self.begin().await?;
                let mut touched = Vec::with_capacity(queries.len());
                for query in queries {
                    touched.push((&mut tx).execute(query).await?);
                }
                tx.commit().await?;
                Ok(touched)
            }
        }
    }
}
