//! Direct access to the rows of a SQLite file.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::Value;

/// Runs statements and returns the first column of every row of a query, as text.
pub fn run(path: &Path, statements: &str) -> Vec<String> {
    let connection = Connection::open(path).expect("a database");
    connection.busy_timeout(Duration::from_secs(30)).expect("a timeout");
    if !statements.trim_start().to_ascii_lowercase().starts_with("select") {
        connection.execute_batch(statements).expect(statements);
        return Vec::new();
    }
    let mut statement = connection.prepare(statements).expect(statements);
    let rows = statement.query_map([], |row| row.get::<_, Value>(0)).expect("rows");
    rows.map(|value| match value.expect("a row") {
        Value::Text(text) => text,
        Value::Integer(number) => number.to_string(),
        other => panic!("neither text nor number: {other:?}"),
    })
    .collect()
}

/// Blocks all other writers until dropped.
pub struct WriteLock(#[expect(dead_code, reason = "held, not used")] Connection);

/// Acquires the file's only write lock.
pub fn lock_writes(path: &Path) -> WriteLock {
    let connection = Connection::open(path).expect("a database");
    connection.busy_timeout(Duration::from_secs(30)).expect("a timeout");
    connection.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    WriteLock(connection)
}
