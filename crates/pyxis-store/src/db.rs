//! The query layer: one small surface over SQLite and PostgreSQL.
//!
//! Statements are literal text with `$n` parameters in the portable subset (`RETURNING`, `ON CONFLICT`,
//! BIGINT, TEXT, BOOLEAN, BLOB/BYTEA). The clock is an argument, JSON is text, and concurrency is a
//! compare-and-set in the `WHERE` clause, so that both engines behave alike.

pub(crate) mod postgres;
mod query;
pub(crate) mod row;
pub(crate) mod sqlite;
mod tx;
pub(crate) mod value;

use std::borrow::Cow;
use std::future::Future;

pub(crate) use query::{SqlQuery, sql};
pub(crate) use row::{Attempt, FromRow, Row, row};
pub use tx::{Committing, Tx};
pub(crate) use value::{Bind, Cell, Column, Value, named_text, stored_enum};

use crate::{Engine, Store, StoreError};

/// The rows of a statement that runs once for each.
pub(crate) type Rows = Vec<Vec<Value>>;

/// Where a statement runs: `&Store` (on its own, committed when it returns) or `&mut Tx`.
///
/// Only this crate has statements to run; others pass an executor on to the aggregate functions.
pub trait Executor: Send + Sized {
    /// The engine behind it.
    #[doc(hidden)]
    fn engine(&self) -> Engine;

    /// At most one row of a read. On SQLite through `&Store` this runs inline, so it must be a point
    /// read.
    #[doc(hidden)]
    fn optional<T: FromRow>(
        self,
        query: SqlQuery,
    ) -> impl Future<Output = Result<Option<T>, StoreError>> + Send;

    /// All rows of a read.
    #[doc(hidden)]
    fn all<T: FromRow>(self, query: SqlQuery) -> impl Future<Output = Result<Vec<T>, StoreError>> + Send;

    /// A write; the number of rows that it touched.
    #[doc(hidden)]
    fn execute(self, query: SqlQuery) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// A write with RETURNING.
    #[doc(hidden)]
    fn returning<T: FromRow>(
        self,
        query: SqlQuery,
    ) -> impl Future<Output = Result<Vec<T>, StoreError>> + Send;

    /// A write once for each row of parameters, all or nothing; the number of rows that it touched.
    #[doc(hidden)]
    fn execute_each(
        self,
        text: Cow<'static, str>,
        rows: Rows,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// Runs an `INSERT … ON CONFLICT DO NOTHING`; a conflict is an error, but one after which a transaction
/// can go on.
pub(crate) async fn insert(executor: impl Executor, query: SqlQuery) -> Result<(), StoreError> {
    match executor.execute(query).await? {
        0 => Err(StoreError::Conflict { constraint: None }),
        _ => Ok(()),
    }
}

/// The form of a name or an e-mail address in which they are compared.
pub fn fold(name: &str) -> String {
    name.trim().to_lowercase()
}

pub(crate) enum Backend {
    Sqlite(sqlite::Database),
    Postgres(Box<postgres::Database>),
}

impl Backend {
    /// How often this process may have committed: a read that begins now sees all of that.
    pub(crate) fn commits(&self) -> u64 {
        match self {
            Self::Sqlite(database) => database.readers().commits(),
            Self::Postgres(database) => database.commits(),
        }
    }
}

impl Executor for &Store {
    fn engine(&self) -> Engine {
        Store::engine(self)
    }

    async fn optional<T: FromRow>(self, query: SqlQuery) -> Result<Option<T>, StoreError> {
        match self.backend() {
            Backend::Sqlite(database) if query.relaxed => {
                database.readers().read_relaxed(|session| session.optional(&query))
            }
            Backend::Sqlite(database) => database.readers().read(|session| session.optional(&query)),
            Backend::Postgres(database) => database.optional(&query).await,
        }
    }

    async fn all<T: FromRow>(self, query: SqlQuery) -> Result<Vec<T>, StoreError> {
        match self.backend() {
            Backend::Sqlite(database) => database.read_blocking(move |session| session.all(&query)).await,
            Backend::Postgres(database) => database.all(&query).await,
        }
    }

    async fn execute(self, query: SqlQuery) -> Result<u64, StoreError> {
        match self.backend() {
            Backend::Sqlite(database) => database.write(move |session| session.execute(&query)).await,
            Backend::Postgres(database) => database.execute(&query).await,
        }
    }

    async fn returning<T: FromRow>(self, query: SqlQuery) -> Result<Vec<T>, StoreError> {
        match self.backend() {
            Backend::Sqlite(database) if query.relaxed => {
                database.writer().run_relaxed(move |session| session.all(&query)).await
            }
            Backend::Sqlite(database) => database.write(move |session| session.all(&query)).await,
            Backend::Postgres(database) => database.returning(&query).await,
        }
    }

    async fn execute_each(self, text: Cow<'static, str>, rows: Rows) -> Result<u64, StoreError> {
        match self.backend() {
            Backend::Sqlite(database) => {
                database.write_atomic(move |session| session.execute_each(&text, &rows)).await
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
    /// Writes that take effect together; how many rows each touched. On SQLite they share a commit with
    /// whatever else is waiting, unlike a [`Tx`], which has the writer for itself.
    pub(crate) async fn execute_all(&self, queries: Vec<SqlQuery>) -> Result<Vec<u64>, StoreError> {
        match self.backend() {
            Backend::Sqlite(database) => {
                let all = move |session: &sqlite::Session<'_>| {
                    queries.iter().map(|query| session.execute(query)).collect()
                };
                database.write_atomic(all).await
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
