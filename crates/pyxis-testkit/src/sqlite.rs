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

/// The whole file as SQL: tables with their rows, then indexes and triggers.
pub fn dump(path: &Path) -> String {
    let connection = Connection::open(path).expect("a database");
    let texts = |query: &str| -> Vec<String> {
        let mut statement = connection.prepare(query).expect(query);
        let rows = statement.query_map([], |row| row.get(0)).expect(query);
        rows.map(|text| text.expect("a text")).collect()
    };
    let mut lines = vec!["PRAGMA foreign_keys = OFF;".to_owned(), "BEGIN;".to_owned()];
    let is_own = "name NOT LIKE 'sqlite%'";
    lines.extend(texts(&format!(
        "SELECT sql || ';' FROM sqlite_master WHERE type = 'table' AND {is_own} ORDER BY rowid"
    )));
    let numbered = "SELECT name FROM sqlite_master WHERE name = 'sqlite_sequence'";
    lines.extend(texts(numbered).iter().map(|name| format!("DELETE FROM {name};")));
    let mut tables =
        texts(&format!("SELECT name FROM sqlite_master WHERE type = 'table' AND {is_own} ORDER BY name"));
    tables.extend(texts(numbered));
    for table in tables {
        let columns = texts(&format!("SELECT name FROM pragma_table_xinfo('{table}') WHERE hidden = 0"));
        let quoted =
            columns.iter().map(|name| format!("quote({name})")).collect::<Vec<_>>().join(" || ', ' || ");
        let columns = columns.join(", ");
        lines.extend(texts(&format!(
            "SELECT 'INSERT INTO {table} ({columns}) VALUES (' || {quoted} || ');' FROM {table}"
        )));
    }
    lines.extend(texts(&format!(
        "SELECT sql || ';' FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL AND {is_own} ORDER BY rowid"
    )));
    lines.push("COMMIT;\n".to_owned());
    lines.join("\n")
}
