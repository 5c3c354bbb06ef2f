//! Opening and migrating; both engines end with the same schema.

use std::collections::BTreeMap;

use pyxis_store::{DatabaseUrl, Engine, OpenOptions, Store, StoreError, backup};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;

use crate::support::{Workspace, query_strings, tamper};

engines! {
    async fn migrating_again_changes_nothing(main: &Workspace) {
        assert_eq!(main.store.migrate().await.unwrap(), Store::wanted_schema_version());
        assert_eq!(main.store.schema_version().await.unwrap(), Store::wanted_schema_version());
        main.store.ping().await.unwrap();
    }

    async fn a_database_of_a_newer_program_is_refused(main: &Workspace) {
        tamper(main, "INSERT INTO schema_migrations (version, name, checksum) VALUES (999, 'x', 'y')").await;
        assert!(matches!(main.store.migrate().await, Err(StoreError::Schema(_))));
        assert!(matches!(main.store.schema_version().await, Err(StoreError::Schema(_))));
    }

    async fn a_migration_applied_in_another_form_is_refused(main: &Workspace) {
        tamper(main, "UPDATE schema_migrations SET checksum = 'other'").await;
        assert!(matches!(main.store.migrate().await, Err(StoreError::Schema(_))));
    }

    async fn every_table_is_backed_up_or_known_to_be_transient(main: &Workspace) {
        let statement = match main.store.engine() {
            Engine::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
            Engine::Postgres => "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'",
        };
        let mut tables = query_strings(main, statement).await;
        tables.retain(|table| !matches!(table.as_str(), "nodes" | "leases" | "schema_migrations"));
        tables.sort();
        let mut copied: Vec<String> = backup::TABLES.iter().map(|table| (*table).to_owned()).collect();
        copied.sort();
        assert_eq!(tables, copied);
    }
}

#[test]
fn opening_a_database_in_a_missing_directory_fails_and_creates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("none").join("px.db");
    let opened = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path)));
    assert!(matches!(opened, Err(StoreError::Unavailable(_))));
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn a_new_database_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    let store = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(store.engine(), Engine::Sqlite);
}

#[tokio::test]
async fn a_database_that_was_never_migrated_has_version_zero() {
    let database = TestDatabase::sqlite();
    let store = Store::open(&OpenOptions::new(database.url())).unwrap();
    assert_eq!(store.schema_version().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_have_the_same_columns_types_and_nullability_in_sqlite_and_postgres() {
    let columns = async |database, statement| {
        let main = Workspace::start(database).await;
        query_strings(&main, statement).await.iter().map(|row| split(row)).collect::<BTreeMap<_, _>>()
    };
    let mut sqlite = columns(
        TestDatabase::sqlite(),
        "SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" FROM sqlite_master m \
         JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'",
    )
    .await;
    let mut postgres = columns(
        TestDatabase::postgres("schema parity").await,
        "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || \
         CASE is_nullable WHEN 'NO' THEN 1 ELSE 0 END FROM information_schema.columns \
         WHERE table_schema = 'public'",
    )
    .await;
    assert!(sqlite.len() > 100);
    // The only table created by the runner itself has the types of its text.
    sqlite.retain(|column, _| !column.starts_with("schema_migrations."));
    postgres.retain(|column, _| !column.starts_with("schema_migrations."));
    assert_eq!(sqlite, postgres);
}

/// Splits `table.column type notnull`, and converts the type to a portable name.
fn split(row: &str) -> (String, String) {
    let (column, rest) = row.split_once(' ').unwrap();
    let portable = rest
        .replace("INTEGER", "integer")
        .replace("bigint", "integer")
        .replace("boolean", "integer")
        .replace("TEXT", "text")
        .replace("BLOB", "bytes")
        .replace("bytea", "bytes");
    (column.to_owned(), portable)
}
