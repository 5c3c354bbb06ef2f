//! A database of the first schema, with rows, becomes one of the present schema.

use pyxis_core::catalogue::default_weights;
use pyxis_core::digest::sha256_hex;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_store::{DatabaseUrl, OpenOptions, Store, api_keys, scorers};

use pyxis_testkit::postgres::Database;

use crate::support::runtime;

const WORKSPACE: &str = "0190a2b4-0000-7000-8000-000000000001";

/// What makes the first schema, with rows in the tables that later ones change.
fn script(schema: &str, truth: &str) -> String {
    format!(
        "{schema};
         CREATE TABLE schema_migrations (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL);
         INSERT INTO schema_migrations VALUES (1, '0001_init', '{checksum}');
         INSERT INTO workspaces (id, name, name_folded, mode, created_at)
             VALUES ('{WORKSPACE}', 'main', 'main', 'gated', 1);
         INSERT INTO scorers (workspace_id, name, created_at) VALUES ('{WORKSPACE}', 'first', 2);
         INSERT INTO api_keys (id, workspace_id, name, key_hash, key_hint, tier, can_read, can_write,
             can_read_history, created_at, last_used_at)
             VALUES ('key_0123456789abcdef', '{WORKSPACE}', 'k', 'hash', 'px_api_1', 3, {truth}, {truth}, {truth}, 3, 4);",
        checksum = sha256_hex(schema.as_bytes()),
    )
}

async fn is_upgraded(store: &Store) {
    assert_eq!(store.schema_version().await.unwrap(), 1);
    assert_eq!(store.migrate().await.unwrap(), Store::wanted_schema_version());
    let ws: WorkspaceId = WORKSPACE.parse().unwrap();
    let first: ScorerId = "1".parse().unwrap();
    let terms = scorers::terms(store, ws, first).await.unwrap().unwrap();
    let defaults = default_weights();
    assert_eq!((terms.revision, terms.threshold), (1, defaults.threshold));
    assert_eq!(terms.weights, defaults.weights);
    let keys = api_keys::list(store, ws).await.unwrap();
    let key = &keys[0];
    assert_eq!((key.id.to_string().as_str(), key.key_hash.as_str()), ("key_0123456789abcdef", "hash"));
    assert_eq!((key.stamps_tier, key.stamps_limit, key.models_tier, key.models_limit), (3, None, 1, None));
    assert_eq!(key.last_used_at.map(|at| at.0), Some(4));
}

#[test]
fn a_first_sqlite_database_is_upgraded_with_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    let schema = include_str!("../../migrations/sqlite/0001_init.sql");
    rusqlite::Connection::open(&path).unwrap().execute_batch(&script(schema, "1")).unwrap();
    runtime().block_on(async {
        is_upgraded(&Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap()).await;
    });
}

#[test]
fn a_first_postgres_database_is_upgraded_with_its_rows() {
    runtime().block_on(async {
        let Some(database) = Database::create("upgrade").await else { return };
        let schema = include_str!("../../migrations/postgres/0001_init.sql");
        database.run(&script(schema, "true")).await;
        let store = Store::open(&OpenOptions::new(database.url())).unwrap();
        is_upgraded(&store).await;
        drop(store);
        database.remove().await;
    });
}
