//! Tests that run once on each database engine.

use std::fmt::Debug;
use std::path::PathBuf;
use std::str::FromStr;

use tempfile::TempDir;

use crate::postgres::Database;
use crate::sqlite;

/// Database of one test without rows, removed when dropped. A SQLite file does not exist yet.
pub struct TestDatabase(Kind);

enum Kind {
    Sqlite(TempDir),
    Postgres(Database),
}

impl TestDatabase {
    /// A file in a new folder.
    pub fn sqlite() -> Self {
        Self(Kind::Sqlite(tempfile::tempdir().expect("a folder")))
    }

    /// A database on the test server; see [`Database::migrated`].
    pub async fn postgres(test: &str) -> Self {
        Self(Kind::Postgres(Database::migrated(test).await))
    }

    /// Path of the SQLite file; `None` on PostgreSQL.
    pub fn file(&self) -> Option<PathBuf> {
        match &self.0 {
            Kind::Sqlite(folder) => Some(folder.path().join("px.db")),
            Kind::Postgres(_) => None,
        }
    }

    /// The PostgreSQL database; `None` on SQLite.
    pub fn as_postgres(&self) -> Option<&Database> {
        match &self.0 {
            Kind::Sqlite(_) => None,
            Kind::Postgres(database) => Some(database),
        }
    }

    /// The PostgreSQL database alone; `None` on SQLite.
    pub fn into_postgres(self) -> Option<Database> {
        match self.0 {
            Kind::Sqlite(_) => None,
            Kind::Postgres(database) => Some(database),
        }
    }

    /// Database URL as text.
    pub fn address(&self) -> String {
        match &self.0 {
            Kind::Sqlite(folder) => format!("sqlite:{}", folder.path().join("px.db").display()),
            Kind::Postgres(database) => database.address(),
        }
    }

    /// Database URL, parsed.
    pub fn url<T: FromStr<Err: Debug>>(&self) -> T {
        self.address().parse().expect("a database URL")
    }

    /// Runs statements and returns the first column of every row, as text.
    pub async fn run(&self, statements: &str) -> Vec<String> {
        match &self.0 {
            Kind::Sqlite(folder) => sqlite::run(&folder.path().join("px.db"), statements),
            Kind::Postgres(database) => database.run(statements).await,
        }
    }
}

/// What a test starts with, on a database of its own.
pub trait Fixture: Sized {
    /// Sets up on a database without rows.
    fn start(database: TestDatabase) -> impl Future<Output = Self>;
}

impl Fixture for TestDatabase {
    async fn start(database: TestDatabase) -> Self {
        database
    }
}

/// Expands each test to a module of its name with the tests `sqlite` and `postgres`. The argument is a [`Fixture`], by
/// value or by reference.
#[macro_export]
macro_rules! engines {
    ($($(#[$attribute:meta])* async fn $name:ident($argument:ident: $($type:tt)+) $body:block)+) => {$(
        mod $name {
            use super::*;

            $(#[$attribute])*
            async fn body($argument: $($type)+) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn sqlite() {
                $crate::on_engine!($crate::database::TestDatabase::sqlite(), body, $($type)+);
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn postgres() {
                let engine = $crate::database::TestDatabase::postgres(stringify!($name)).await;
                $crate::on_engine!(engine, body, $($type)+);
            }
        }
    )+};
}

/// Calls a body of [`engines!`] with what its type asks for.
#[doc(hidden)]
#[macro_export]
macro_rules! on_engine {
    ($engine:expr, $body:ident, &mut $fixture:ty) => {{
        let mut fixture = <$fixture as $crate::database::Fixture>::start($engine).await;
        $body(&mut fixture).await;
    }};
    ($engine:expr, $body:ident, &$fixture:ty) => {{
        let fixture = <$fixture as $crate::database::Fixture>::start($engine).await;
        $body(&fixture).await;
    }};
    ($engine:expr, $body:ident, $fixture:ty) => {{
        $body(<$fixture as $crate::database::Fixture>::start($engine).await).await;
    }};
}
