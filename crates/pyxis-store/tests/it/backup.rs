//! Backup and restore in all four directions between the engines.

use std::path::Path;

use pyxis_core::entropy::OsEntropy;
use pyxis_store::audit::{self, Appender, AuditKeys, Record};
use pyxis_store::cipher::Keyring;
use pyxis_store::{
    DatabaseUrl, OpenOptions, Store, StoreError, agents, approvals, backup, credentials, generations,
};
use pyxis_store::{scorers, workspaces};

use crate::support::{
    Database, NOW, World, add_agent, add_approval, add_credential, add_user, contract, postgres_server,
};

async fn fill(world: &World) {
    let credential = add_credential(world, "api").await;
    add_agent(world, "bot", &[credential]).await;
    add_user(world, "o@example.com").await;
    add_approval(world, "k").await;
    scorers::insert(&world.store, world.ws, "one", NOW).await.unwrap();
    let keys = AuditKeys::new(&world.keyring);
    let mut tx = world.store.begin().await.unwrap();
    let record = Record {
        kind: "x".into(),
        workspace_id: Some(world.ws),
        detail: "{}".to_owned(),
        ..Record::default()
    };
    audit::append_in(&mut tx, &keys, &vec![record; 1200]).await.unwrap();
    audit::checkpoint(&mut tx, &keys, NOW).await.unwrap();
    tx.commit().await.unwrap();
}

/// Restores into `store` and compares.
async fn restored_equals(world: &World, file: &Path, store: &Store) {
    store.migrate().await.unwrap();
    let before = generations::read(store).await.unwrap();
    backup::restore(store, file, |_| ()).await.unwrap();
    assert!(
        generations::read(store).await.unwrap() > before.max(generations::read(&world.store).await.unwrap())
    );

    let ws = world.ws;
    assert_eq!(workspaces::list(store).await.unwrap(), workspaces::list(&world.store).await.unwrap());
    assert_eq!(agents::list(store, ws).await.unwrap(), agents::list(&world.store, ws).await.unwrap());
    let filter = approvals::ApprovalFilter {
        state: None,
        agent: None,
        credential: None,
        oldest_first: false,
        beyond: None,
        limit: 9,
    };
    let there = approvals::list(store, ws, &filter).await.unwrap();
    assert_eq!(there, approvals::list(&world.store, ws, &filter).await.unwrap());
    assert!(approvals::request(store, ws, there[0].txn_id).await.unwrap().is_some());

    // The same master key opens what was sealed, and the chain goes on.
    let keyring = Keyring::load(store, &world.master, &OsEntropy, NOW).await.unwrap();
    let row = credentials::find_by_name(store, ws, "api").await.unwrap().unwrap();
    let opened =
        keyring.open(&credentials::secret_aad(ws, row.id), row.sealed_secret.as_ref().unwrap()).unwrap();
    assert_eq!(opened.expose(), b"s3cret");
    let keys = AuditKeys::new(&keyring);
    let appender = Appender::start(store.clone(), keys.clone());
    assert_eq!(appender.append(Record::default()).await.unwrap(), 1201);
    let verdict = audit::verify(store, &keys, None, |_, _| ()).await.unwrap();
    assert_eq!((verdict.records, verdict.checkpoints, verdict.damage), (1201, 1, None));
    assert!(scorers::insert(store, ws, "two", NOW).await.unwrap() > 1);

    let refused = backup::restore(store, file, |_| ()).await;
    assert!(matches!(refused, Err(StoreError::Backup(_))));
}

contract! {
    async fn a_backup_restores_into_sqlite(world: &World) {
        fill(world).await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("backup.db");
        backup::write(&world.store, &file, |_| ()).await.unwrap();
        let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["backup.db"]);
        let again = backup::write(&world.store, &file, |_| ()).await;
        assert!(matches!(again, Err(StoreError::Backup(_))));
        let url = DatabaseUrl::sqlite(directory.path().join("restored.db"));
        restored_equals(world, &file, &Store::open(&OpenOptions::new(url)).unwrap()).await;
    }

    async fn a_backup_restores_into_postgres(world: &World) {
        let Some(server) = postgres_server() else { return };
        fill(world).await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("backup.db");
        backup::write(&world.store, &file, |_| ()).await.unwrap();
        let database = Database::create(&server).await;
        let store = Store::open(&OpenOptions::new(database.url().parse().unwrap())).unwrap();
        restored_equals(world, &file, &store).await;
        drop(store);
        database.drop().await;
    }

    async fn a_backup_taken_while_records_are_appended_is_consistent(world: &World) {
        fill(world).await;
        let keys = AuditKeys::new(&world.keyring);
        let appender = Appender::start(world.store.clone(), keys.clone());
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("backup.db");
        let appending = async {
            loop {
                appender.append(Record::default()).await.unwrap();
            }
        };
        tokio::select! {
            () = appending => {}
            written = backup::write(&world.store, &file, |_| ()) => written.unwrap(),
        }
        let url = DatabaseUrl::sqlite(directory.path().join("restored.db"));
        let store = Store::open(&OpenOptions::new(url)).unwrap();
        store.migrate().await.unwrap();
        backup::restore(&store, &file, |_| ()).await.unwrap();
        let verdict = audit::verify(&store, &keys, None, |_, _| ()).await.unwrap();
        assert!(verdict.records >= 1200 && verdict.damage.is_none());
    }

    async fn what_is_not_a_backup_is_refused_and_changes_nothing(world: &World) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x");
        for bytes in [&b"not a database"[..], b""] {
            std::fs::write(&file, bytes).unwrap();
            let refused = backup::restore(&world.store, &file, |_| ()).await;
            assert!(matches!(refused, Err(StoreError::Backup(_))));
        }
        assert!(backup::restore(&world.store, &directory.path().join("none"), |_| ()).await.is_err());
        assert!(workspaces::find(&world.store, world.ws).await.unwrap().is_some());
    }
}
