//! The database, behind the program's back.

use std::path::Path;

use crate::postgres::Database;

/// Runs statements and returns the first column of every row, as text.
pub(super) fn postgres(database: &Database, statements: &str) -> Vec<String> {
    let (url, statements) = (database.address(), statements.to_owned());
    apart(async move { simple_query(&url, &statements).await })
}

/// Drops a database, also while the test's runtime shuts down.
pub(super) fn remove(database: Database) {
    apart(database.remove());
}

/// The same for SQLite.
pub(super) fn sqlite(path: &Path, statements: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).expect("the program's database");
    connection.busy_timeout(super::PATIENCE).expect("a timeout");
    if !statements.trim_start().to_ascii_lowercase().starts_with("select") {
        connection.execute_batch(statements).expect("statements that work");
        return Vec::new();
    }
    let mut statement = connection.prepare(statements).expect("a query that works");
    let rows = statement.query_map([], |row| row.get::<_, rusqlite::types::Value>(0)).expect("rows");
    rows.map(|value| match value.expect("a row") {
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Integer(number) => number.to_string(),
        other => panic!("neither text nor number: {other:?}"),
    })
    .collect()
}

/// On a thread with a runtime of its own, so that it works wherever it is called from.
fn apart<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(work)
    });
    thread.join().expect("work that succeeds")
}

async fn simple_query(url: &str, statements: &str) -> Vec<String> {
    let (client, connection) =
        tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("the test's PostgreSQL");
    let connection = tokio::spawn(connection);
    let messages = client.simple_query(statements).await.expect("statements that work");
    drop(client);
    connection.await.expect("no panic").expect("a connection that ends well");
    let first = |message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.into_iter().filter_map(first).collect()
}
