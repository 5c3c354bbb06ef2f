//! Upgrades a database of the first schema, with rows, to the current schema.

use std::fmt::Write as _;

use pyxis_core::catalogue::default_weights;
use pyxis_core::digest::sha256_hex;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_store::stamps::NullifierHash;
use pyxis_store::{DatabaseUrl, OpenOptions, Store, api_keys, issuers, nullifier_sets, scorers, stamps};

use pyxis_testkit::postgres::Database;

use crate::support::{address, nullifiers};

const WORKSPACE: &str = "0190a2b4-0000-7000-8000-000000000001";

/// SQL for the first schema, with rows in the tables that later migrations change.
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

/// SQL for the schema of version 20, with holders of nullifiers.
fn script_of_20(engine: &str) -> String {
    let directory = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.as_str() < "0021")
        .collect();
    names.sort();
    assert_eq!(names.len(), 17);
    let mut script =
        "CREATE TABLE schema_migrations (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL);"
            .to_owned();
    for name in names {
        let text = std::fs::read_to_string(format!("{directory}/{name}")).unwrap();
        let (version, checksum) = (name[..4].parse::<u8>().unwrap(), sha256_hex(text.as_bytes()));
        let name = name.strip_suffix(".sql").unwrap();
        write!(script, "{text}; INSERT INTO schema_migrations VALUES ({version}, '{name}', '{checksum}');")
            .unwrap();
    }
    script + &holders_of_nullifiers(engine)
}

fn holders_of_nullifiers(engine: &str) -> String {
    let mut script = format!(
        "INSERT INTO workspaces (id, name, name_folded, mode, created_at)
             VALUES ('{WORKSPACE}', 'main', 'main', 'gated', 1);"
    );
    let open = if engine == "sqlite" { "X'" } else { "'\\x" };
    let hex = |byte: u8, length: usize| format!("{open}{}'", format!("{byte:02x}").repeat(length));
    // One key under two DIDs, and another key.
    for (did, at) in [("did:pkh:eip155:1:", 2), ("did:ethr:0x1:", 1)] {
        write!(
            script,
            "INSERT INTO issuers VALUES ('{WORKSPACE}', '{did}0x{}', 'at {at}', {at});",
            "ab".repeat(20)
        )
        .unwrap();
    }
    write!(script, "INSERT INTO issuers VALUES ('{WORKSPACE}', 'did:key:z6Mk', 'key', 3);").unwrap();
    // The last one no longer has a Stamp.
    for (holder, provider, listed) in [(1, "A", "n1 n2"), (2, "A", "n2"), (2, "B", "n4"), (3, "A", "n1")] {
        let (address, digest) = (hex(holder, 20), hex(holder, 32));
        write!(script, "INSERT INTO holders VALUES ('{WORKSPACE}', {address}, 1) ON CONFLICT DO NOTHING;")
            .unwrap();
        if holder != 3 {
            let json = serde_json::to_string(&listed.split(' ').collect::<Vec<_>>()).unwrap();
            write!(
                script,
                "INSERT INTO stamps (workspace_id, address, provider, issuer, issued_at, expires_at, digest, nullifiers, received_at)
                     VALUES ('{WORKSPACE}', {address}, '{provider}', 'i', 1, 9, {digest}, '{json}', 1);"
            )
            .unwrap();
        }
        for nullifier in listed.split(' ') {
            write!(
                script,
                "INSERT INTO stamp_nullifiers VALUES ('{WORKSPACE}', '{nullifier}', {address}, '{provider}');"
            )
            .unwrap();
        }
    }
    script
}

async fn nullifiers_are_found(store: &Store) {
    assert_eq!(store.schema_version().await.unwrap(), 20);
    assert_eq!(store.migrate().await.unwrap(), Store::wanted_schema_version());
    let ws: WorkspaceId = WORKSPACE.parse().unwrap();
    for (listed, holders) in [
        ("n1", vec![address(1)]),
        ("n2", vec![address(1), address(2)]),
        ("n4", vec![address(2)]),
        ("n3", vec![]),
    ] {
        let found = {
            let hashes = NullifierHash::hash_all(ws, &nullifiers(listed));
            stamps::others_with_nullifiers(store, ws, Some(address(9)), &hashes).await.unwrap()
        };
        assert_eq!(found, holders, "{listed}");
    }
    let issuers = issuers::list(store, ws).await.unwrap();
    let issuers: Vec<_> = issuers.iter().map(|row| (row.did.as_str(), row.name.as_str())).collect();
    let did = format!("did:ethr:0x{}", "ab".repeat(20));
    assert_eq!(issuers, [(did.as_str(), "at 1"), ("did:key:z6Mk", "key")]);
    // Before sets existed, wallet 1's Stamp already linked n1 and n2.
    let sets = nullifier_sets::read(store, ws, nullifiers("n1 n2 n4").iter().collect()).await.unwrap();
    let name = |nullifier: &str| sets.name(&nullifier.parse().unwrap()).to_string();
    assert_eq!([name("n1"), name("n2"), name("n4")], ["n1", "n1", "n4"]);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_sqlite_database_is_upgraded_with_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    let schema = include_str!("../../migrations/sqlite/0001_init.sql");
    rusqlite::Connection::open(&path).unwrap().execute_batch(&script(schema, "1")).unwrap();
    is_upgraded(&Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nullifiers_of_sqlite_databases_of_version_20_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    let script = script_of_20("sqlite");
    rusqlite::Connection::open(&path).unwrap().execute_batch(&script).unwrap();
    nullifiers_are_found(&Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nullifiers_of_postgres_databases_of_version_20_are_found() {
    let database = Database::create("upgrade_nullifiers").await;
    database.run(&script_of_20("postgres")).await;
    let store = Store::open(&OpenOptions::new(database.url())).unwrap();
    nullifiers_are_found(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_postgres_database_is_upgraded_with_its_rows() {
    let database = Database::create("upgrade").await;
    let schema = include_str!("../../migrations/postgres/0001_init.sql");
    database.run(&script(schema, "true")).await;
    let store = Store::open(&OpenOptions::new(database.url())).unwrap();
    is_upgraded(&store).await;
}
