//! Databases on the test PostgreSQL server, with direct access to their rows.

mod template;

use std::fmt::Debug;
use std::str::FromStr;
use std::time::Duration;

use pyxis_core::entropy::{self, OsEntropy};

/// A database for one test, dropped with this value.
pub struct Database {
    admin: String,
    name: String,
}

impl Database {
    /// Creates an empty database on the server of `PX_TEST_POSTGRES`. Panics without it: tests that need PostgreSQL
    /// have its name in theirs, so that `ci/test.sh` can leave them out.
    pub async fn create(test: &str) -> Self {
        Self::copy(test, server(), "template1").await
    }

    /// Creates a database with this program's schema and no row. Much faster than [`create`](Self::create) and
    /// migrating.
    pub async fn migrated(test: &str) -> Self {
        let admin = server();
        let template = template::ready(&admin).await;
        Self::copy(test, admin, &template).await
    }

    #[expect(clippy::print_stderr, reason = "the name of its database helps to examine a failed test")]
    async fn copy(test: &str, admin: String, template: &str) -> Self {
        let name = entropy::token::<6>(&OsEntropy, "px_");
        run(&admin, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        eprintln!("{test}: {name}");
        Self { admin, name }
    }

    /// Name of the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Connection URL as text.
    pub fn address(&self) -> String {
        address(&self.admin, &self.name)
    }

    /// Connection URL, parsed.
    pub fn url<T: FromStr<Err: Debug>>(&self) -> T {
        self.address().parse().expect("a database address")
    }

    /// Runs statements and returns the first column of every row, as text.
    pub async fn run(&self, statements: &str) -> Vec<String> {
        run(&self.address(), statements).await
    }

    /// True if the server accepts these statements, which change nothing.
    pub async fn accepts(&self, statements: &str) -> bool {
        let connected = tokio_postgres::connect(&self.address(), tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("PostgreSQL");
        let driver = tokio::spawn(async move { drop(connection.await) });
        let accepted = client.batch_execute(statements).await.is_ok();
        drop(client);
        driver.await.expect("the connection's task");
        accepted
    }

    /// Waits until a statement is blocked by a lock of another transaction.
    pub async fn until_one_waits(&self) {
        self.until_waiting(|count| count > 0).await;
    }

    /// Waits until no statement is blocked by a lock.
    pub async fn until_none_waits(&self) {
        self.until_waiting(|count| count == 0).await;
    }

    /// Waits until every other connection is idle, so that advancing the clock ends no statement.
    pub async fn until_idle(&self) {
        let count = "SELECT count(*) FROM pg_stat_activity \
                     WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'";
        let waiting = async { while self.run(count).await[0] != "0" {} };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("statements that end");
    }

    async fn until_waiting(&self, enough: impl Fn(u32) -> bool) {
        let count = "SELECT count(*) FROM pg_stat_activity \
                     WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let waiting = async { while !enough(self.run(count).await[0].parse().expect("a number")) {} };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("statements that wait, or end");
    }

    /// Runs `statements` in a separate transaction, which stays open until released.
    pub async fn hold(&self, statements: &str) -> OpenTransaction {
        let (client, connection) =
            tokio_postgres::connect(&self.address(), tokio_postgres::NoTls).await.expect("PostgreSQL");
        let driver = tokio::spawn(async move { drop(connection.await) });
        client.batch_execute(&format!("BEGIN; {statements}")).await.expect(statements);
        OpenTransaction { client, driver }
    }

    /// Ends every connection and refuses new ones, or accepts them again.
    pub async fn set_reachable(&self, is_reachable: bool) {
        let name = &self.name;
        run(&self.admin, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {is_reachable}")).await;
        if !is_reachable {
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname =";
            run(&self.admin, &format!("{end} '{name}'")).await;
        }
    }

    /// Like [`Database::run`], from code that is not async. Blocks the thread.
    pub fn run_blocking(&self, statements: &str) -> Vec<String> {
        blocking(self.run(statements)).expect("statements that succeed")
    }
}

impl Drop for Database {
    /// Drops the database, even with open connections, and even while the test's runtime shuts down.
    fn drop(&mut self) {
        // A test that has failed already must not end the process here.
        drop(blocking(run(&self.admin, &format!("DROP DATABASE {} WITH (FORCE)", self.name))));
    }
}

/// URL of the test server, from `PX_TEST_POSTGRES`.
#[expect(clippy::disallowed_methods, reason = "a test finds its server this way")]
fn server() -> String {
    std::env::var("PX_TEST_POSTGRES")
        .expect("PX_TEST_POSTGRES names no server: put ci/postgres.sh before the command that runs the tests")
}

/// URL of another database on the server of `admin`.
fn address(admin: &str, name: &str) -> String {
    let (server, _) = admin.rsplit_once('/').expect("the URL names a database");
    format!("{server}/{name}")
}

/// Runs on a thread with its own runtime, so that it can be called from anywhere.
fn blocking<T: Send>(work: impl Future<Output = T> + Send) -> std::thread::Result<T> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(work)
    };
    std::thread::scope(|scope| scope.spawn(run).join())
}

pub struct OpenTransaction {
    client: tokio_postgres::Client,
    driver: tokio::task::JoinHandle<()>,
}

impl OpenTransaction {
    /// Rolls the transaction back.
    pub async fn release(self) {
        drop(self.client);
        self.driver.await.expect("the connection's task");
    }
}

pub(crate) async fn run(url: &str, statements: &str) -> Vec<String> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("PostgreSQL");
    let driver = tokio::spawn(connection);
    let messages = client.simple_query(statements).await.expect(statements);
    drop(client);
    driver.await.expect("the connection's task").expect("a connection that ends well");
    let first = |message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.into_iter().filter_map(first).collect()
}
