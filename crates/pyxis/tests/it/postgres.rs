//! A database of its own on the test PostgreSQL server.

use std::time::Duration;

use pyxis_core::entropy::{self, OsEntropy};
use pyxis_store::DatabaseUrl;

/// A database that exists for one test.
pub(crate) struct Database {
    admin: String,
    name: String,
}

impl Database {
    /// A new database, or `None` (and a line that says so) without `PX_TEST_POSTGRES`.
    #[expect(clippy::disallowed_methods, clippy::print_stderr, reason = "a test finds its server this way")]
    pub(crate) async fn create(test: &str) -> Option<Self> {
        let Ok(admin) = std::env::var("PX_TEST_POSTGRES") else {
            eprintln!("skipped on PostgreSQL: PX_TEST_POSTGRES is not set");
            return None;
        };
        let name = entropy::token::<6>(&OsEntropy, "px_");
        run(&admin, &format!("CREATE DATABASE {name}")).await;
        eprintln!("{test}: {name}");
        Some(Self { admin, name })
    }

    /// The address as text.
    pub(crate) fn address(&self) -> String {
        let (server, _) = self.admin.rsplit_once('/').expect("the URL names a database");
        format!("{server}/{}", self.name)
    }

    /// The address.
    pub(crate) fn url(&self) -> DatabaseUrl {
        self.address().parse().expect("a database address")
    }

    /// Until one statement waits for a lock that another transaction holds.
    pub(crate) async fn until_one_waits(&self) {
        let (client, connection) =
            tokio_postgres::connect(&self.address(), tokio_postgres::NoTls).await.expect("PostgreSQL");
        let driver = tokio::spawn(connection);
        let count = "SELECT count(*) FROM pg_stat_activity \
                     WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let waiting =
            async { while client.query_one(count, &[]).await.expect("a count").get::<_, i64>(0) == 0 {} };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("a statement that waits");
        drop(client);
        driver.await.expect("the connection's task").expect("the connection");
    }

    /// Drops it, whoever is still connected.
    pub(crate) async fn remove(self) {
        run(&self.admin, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

async fn run(url: &str, statement: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("PostgreSQL");
    let driver = tokio::spawn(connection);
    client.batch_execute(statement).await.expect(statement);
    drop(client);
    driver.await.expect("the connection's task").expect("the connection");
}
