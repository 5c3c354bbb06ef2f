//! Integrity of a SQLite file: pages, indexes and references between rows.

use rusqlite::{Connection, OpenFlags};

use crate::db::Backend;
use crate::{Store, StoreError};

/// Maximum length of a description of damage, in characters.
const MAX_CHARS: usize = 300;

/// Result of an integrity check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Every page, index and reference is as it should be.
    Intact,
    /// First damage found, in SQLite's words.
    Damaged(String),
    /// PostgreSQL checks its files itself.
    NotChecked,
}

/// Reads the whole database file and checks it, on a separate connection. Reads and writes continue meanwhile.
pub async fn check(store: &Store) -> Result<Integrity, StoreError> {
    let Backend::Sqlite(database) = store.backend() else { return Ok(Integrity::NotChecked) };
    let path = database.path().to_owned();
    let examined = tokio::task::spawn_blocking(move || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(crate::db::sqlite::failure)?;
        Ok::<_, StoreError>(examine(&connection))
    });
    let damage = examined.await.map_err(StoreError::unavailable)??;
    Ok(damage.map_or(Integrity::Intact, Integrity::Damaged))
}

/// First damage that SQLite finds; `None` if there is none. A file that cannot be read counts as damaged.
pub(crate) fn examine(connection: &Connection) -> Option<String> {
    let pages = connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get::<_, String>(0));
    match pages {
        Ok(answer) if answer == "ok" => {}
        Ok(answer) => return Some(shortened(&answer)),
        Err(error) => return Some(error.to_string()),
    }
    let dangling = |row: &rusqlite::Row<'_>| {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        Ok(format!("a row of {table} refers to a missing row of {parent}"))
    };
    match connection.query_row("PRAGMA foreign_key_check", (), dangling) {
        Err(rusqlite::Error::QueryReturnedNoRows) => None,
        Ok(dangling) => Some(dangling),
        Err(error) => Some(error.to_string()),
    }
}

fn shortened(answer: &str) -> String {
    let line = answer.lines().filter(|line| !line.starts_with("***")).collect::<Vec<_>>().join("; ");
    line.chars().take(MAX_CHARS).collect()
}
