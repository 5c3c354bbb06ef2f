//! Schema and statements of a recorded release: its nodes go on while a later one has upgraded their database.

use std::collections::BTreeSet;
use std::process::Command;

use pyxis_testkit::postgres::Database;

use crate::support::{App, Setup};
use crate::upgrade::script_setting;

/// Columns of every table, and those that an INSERT must name.
const COLUMNS: &str = "SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c \
                       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'";
const REQUIRED: &str = "SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c \
                        WHERE t.type = 'table' AND c.\"notnull\" AND c.dflt_value IS NULL AND NOT c.pk";
const COLUMNS_ON_POSTGRES: &str = "SELECT table_name || '.' || column_name FROM information_schema.columns \
                                   WHERE table_schema = 'public'";
const REQUIRED_ON_POSTGRES: &str = "SELECT table_name || '.' || column_name FROM information_schema.columns \
                                    WHERE table_schema = 'public' AND is_nullable = 'NO' \
                                    AND column_default IS NULL AND is_identity = 'NO'";

/// Columns before the upgrade.
pub(super) struct RecordedSchema {
    columns: BTreeSet<String>,
    required: BTreeSet<String>,
}

impl RecordedSchema {
    pub(super) fn load(app: &App) -> Self {
        let (columns, required) =
            if app.is_postgres() { (COLUMNS_ON_POSTGRES, REQUIRED_ON_POSTGRES) } else { (COLUMNS, REQUIRED) };
        let read = |query| app.sql(query).into_iter().collect();
        Self { columns: read(columns), required: read(required) }
    }

    /// Asserts that the recorded program can use the upgraded database: its columns are there, and it may leave out new
    /// ones.
    pub(super) fn is_still_usable(&self, app: &App) {
        let now = Self::load(app);
        let gone: Vec<_> = self.columns.difference(&now.columns).collect();
        assert_eq!(gone, [] as [&String; 0], "older nodes use these columns");
        let tables: BTreeSet<_> = self.columns.iter().map(|column| table(column)).collect();
        let required: Vec<_> =
            now.required.difference(&self.required).filter(|column| tables.contains(table(column))).collect();
        assert_eq!(required, [] as [&String; 0], "older nodes leave these columns out");
    }
}

/// Asserts that PostgreSQL takes the recorded statements on the upgraded schema.
pub(super) async fn accepts_statements(database: &Database, statements: &str) {
    let prepared =
        statements.split(SEPARATOR).map(|one| format!("PREPARE recorded AS {one}; DEALLOCATE recorded"));
    database.run(&prepared.collect::<Vec<_>>().join(";")).await;
}

fn table(column: &str) -> &str {
    column.split('.').next().unwrap()
}

/// Text between two recorded statements.
const SEPARATOR: &str = ";\n";

/// Counts the statements of a database on PostgreSQL from now on, for a recording.
pub(super) async fn begin_statements(setup: &Setup) {
    if let Some(database) = setup.postgres() {
        database.run("CREATE EXTENSION pg_stat_statements").await;
    }
}

/// Returns the statements that read and changed rows since then, and ends the count. A statement whose parameters have
/// no type without its constants is left out.
pub(super) async fn take_statements(database: &Database) -> String {
    let query = "SELECT DISTINCT query FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid \
                 WHERE d.datname = current_database() AND query ~* '^\\s*(SELECT|INSERT|UPDATE|DELETE|WITH)' \
                 AND query !~ 'pg_(stat|database|backend|try|advisory|catalog)' ORDER BY query";
    let all = database.run(query).await;
    database.run("DROP EXTENSION pg_stat_statements").await;
    let mut accepted = Vec::new();
    for statement in all {
        let prepared = database.accepts(&format!("PREPARE recorded AS {statement}")).await;
        if prepared {
            accepted.push(statement);
        }
    }
    assert!(accepted.len() > 100, "only {} statements were recorded", accepted.len());
    accepted.join(SEPARATOR)
}

/// The database as SQL.
pub(super) fn dump(app: &App) -> String {
    if app.is_postgres() {
        pg_dump(&app.postgres().address())
    } else {
        pyxis_testkit::sqlite::dump(&app.data().join("pyxis.db"))
    }
}

/// A database on PostgreSQL as SQL. Lines for psql are left out.
fn pg_dump(url: &str) -> String {
    let program = script_setting("PX_PG_DUMP").unwrap_or_else(|| "pg_dump".to_owned());
    let dumped =
        Command::new(program).args(["--inserts", "--no-owner", "--no-privileges", url]).output().unwrap();
    assert!(dumped.status.success(), "{dumped:?}");
    let text = String::from_utf8(dumped.stdout).unwrap();
    let of_sql = |line: &&str| !line.is_empty() && !line.starts_with('\\') && !line.starts_with("--");
    text.lines().filter(of_sql).collect::<Vec<_>>().join("\n") + "\n"
}
