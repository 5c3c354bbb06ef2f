//! Backup and restore between the engines, in all four directions.

use std::path::Path;

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::catalogue::default_catalogue;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::HistoryRequestId;
use pyxis_core::score::{Claim, Weights};
use pyxis_store::audit::{self, Appender, AuditKeys, AuditRecord};
use pyxis_store::cipher::Keyring;
use pyxis_store::scores::NewScore;
use pyxis_store::stamps::{Cursor, NullifierHash};
use pyxis_store::{
    DatabaseUrl, OpenOptions, Page, Store, StoreError, agents, approvals, backup, credentials, generations,
};
use pyxis_store::{
    addresses, api_keys, catalogue, claims, history_requests, issuers, revocations, score_history, scorers,
    scores, stamps, usage, workspaces,
};
use pyxis_testkit::engines;

use pyxis_testkit::postgres::Database;

use crate::support::{
    NOW, Workspace, add_agent, add_approval, add_credential, add_key, add_scorer, add_stamp, add_user,
    address, new_score, new_stamp, nullifiers,
};

async fn fill(main: &Workspace) {
    let credential = add_credential(main, "api").await;
    add_agent(main, "bot", &[credential]).await;
    add_user(main, "o@example.com").await;
    add_approval(main, "k").await;
    fill_scoring(main).await;
    let keys = AuditKeys::new(&main.keyring);
    let mut tx = main.store.begin().await.unwrap();
    let record = AuditRecord {
        event: AuditEvent::AgentCreated.into(),
        workspace_id: Some(main.id),
        detail: "{}".to_owned(),
        ..AuditRecord::default()
    };
    audit::append_in(&mut tx, &keys, &vec![record; 1200]).await.unwrap();
    audit::checkpoint(&mut tx, &keys, NOW).await.unwrap();
    tx.commit().await.unwrap();
}

/// Adds a row to every scoring table.
async fn fill_scoring(main: &Workspace) {
    let (store, ws) = (&main.store, main.id);
    let (scorer, key) = (add_scorer(main, "one").await, add_key(main).await);
    add_stamp(main, &new_stamp(1, "A", "n1 n2")).await;
    let first = new_score(scorer, 1);
    scores::put(store, ws, &first).await.unwrap();
    scores::mark_in_history(store, ws, scorer, first.address, NOW).await.unwrap();
    let newer = NewScore { body: "\u{fc}".to_owned(), ..first.clone() };
    scores::put(store, ws, &newer).await.unwrap();
    let batch = usage::Batch {
        key: key.id,
        surface: usage::Surface::Models,
        window_start: NOW,
        requests: 3,
        limit: 2,
        now: NOW,
    };
    usage::count(store, &batch).await.unwrap();
    let request = history_requests::NewRequest {
        id: HistoryRequestId::new(NOW, &OsEntropy),
        api_key_id: key.id,
        use_case: "x".to_owned(),
        requested_by: "ann@example.com".to_owned(),
        created_at: NOW,
    };
    history_requests::insert(store, ws, &request).await.unwrap();
    let issuer = issuers::IssuerRow { did: "did:key:a".to_owned(), name: "a".to_owned(), created_at: NOW };
    issuers::put(store, ws, &issuer).await.unwrap();
    let mut tx = store.begin().await.unwrap();
    catalogue::replace(&mut tx, ws, &default_catalogue()[..2]).await.unwrap();
    let claim = Claim {
        nullifier: "n1".parse().unwrap(),
        address: first.address,
        provider: Some("A".parse().unwrap()),
        digest: [1; 32],
        claimed_at: Some(NOW),
        expires_at: NOW,
    };
    claims::claim_or_extend(&mut tx, ws, scorer, NOW, &[claim]).await.unwrap();
    let revocation = revocations::RevocationRow {
        digest: [7; 32],
        revoked_at: NOW,
        revoked_by: "ann@example.com".to_owned(),
        reason: None,
    };
    revocations::insert(&mut tx, ws, &revocation).await.unwrap();
    tx.commit().await.unwrap();
}

/// Asserts that the scoring data of `store` equals that of `main`.
async fn scores_alike(main: &Workspace, store: &Store) {
    let (there, ws, holder) = (&main.store, main.id, address(1));
    let scorer = scorers::list(there, ws).await.unwrap()[0].id;
    let key = &api_keys::list(there, ws).await.unwrap()[0];
    macro_rules! alike {
        ($($module:ident::$read:ident($($arg:expr),*)),+ $(,)?) => {$(
            let restored = $module::$read(store, $($arg),*).await.unwrap();
            assert_eq!(restored, $module::$read(there, $($arg),*).await.unwrap(), stringify!($module::$read));
            assert_ne!(format!("{restored:?}"), "[]");
        )+};
    }
    alike!(
        scorers::list(ws),
        scorers::terms(ws, scorer),
        api_keys::list(ws),
        history_requests::list(ws, None),
        usage::windows(ws, key.id, UnixMillis(0), UnixMillis(i64::MAX)),
        issuers::list(ws),
        catalogue::list(ws),
        addresses::filter_known(ws, &[holder]),
        stamps::all_of(ws, holder),
        stamps::page(ws, holder, NOW, Cursor::First, 9),
        stamps::others_with_nullifiers(ws, Some(address(2)), &NullifierHash::hash_all(ws, &nullifiers("n2"))),
        revocations::list(ws, Page::first(9)),
        claims::list_for(ws, scorer, &nullifiers("n1")),
        scores::look_up(&key.key_hash, scorer, holder),
        score_history::latest_before(ws, scorer, holder, UnixMillis(i64::MAX)),
    );
    // Numbering continues after the highest number.
    let mut tx = store.begin().await.unwrap();
    let second = stamps::insert(&mut tx, ws, &new_stamp(1, "B", "b")).await.unwrap();
    assert!(second > stamps::all_of(&mut tx, ws, holder).await.unwrap().stamps[0].id);
    let next = scorers::insert(&mut tx, ws, "two", Decimal::ZERO, &Weights::new(), NOW).await.unwrap();
    assert!(next > scorer);
    tx.commit().await.unwrap();
}

/// Restores into `store` and compares.
async fn restored_equals(main: &Workspace, file: &Path, store: &Store) {
    store.migrate().await.unwrap();
    let before = generations::read(store).await.unwrap();
    backup::restore(store, file, |_| ()).await.unwrap();
    assert!(
        generations::read(store).await.unwrap() > before.max(generations::read(&main.store).await.unwrap())
    );

    let ws = main.id;
    assert_eq!(workspaces::list(store).await.unwrap(), workspaces::list(&main.store).await.unwrap());
    assert_eq!(agents::list(store, ws).await.unwrap(), agents::list(&main.store, ws).await.unwrap());
    let filter = approvals::ApprovalFilter {
        state: None,
        settled: false,
        text: None,
        agent: None,
        credential: None,
        risk: None,
        by: approvals::ApprovalColumn::Asked,
        rising: false,
        beyond: None,
        limit: 9,
    };
    let there = approvals::list(store, ws, &filter).await.unwrap();
    assert_eq!(there, approvals::list(&main.store, ws, &filter).await.unwrap());
    assert!(approvals::request(store, ws, there[0].txn_id).await.unwrap().is_some());

    // The same master key opens sealed values, and the chain continues.
    let keyring = Keyring::load(store, &main.master, &OsEntropy, NOW).await.unwrap();
    let row = credentials::find_by_name(store, ws, "api").await.unwrap().unwrap();
    let opened =
        keyring.open(&credentials::secret_aad(ws, row.id), row.sealed_secret.as_ref().unwrap()).unwrap();
    assert_eq!(opened.expose(), b"s3cret");
    let keys = AuditKeys::new(&keyring);
    let appender = Appender::start(store.clone(), keys.clone());
    assert_eq!(appender.append(AuditRecord::default()).await.unwrap(), 1201);
    let verdict = audit::verify(store, &keys, None, |_, _| ()).await.unwrap();
    assert_eq!((verdict.records, verdict.checkpoints, verdict.damage), (1201, 1, None));
    scores_alike(main, store).await;

    let refused = backup::restore(store, file, |_| ()).await;
    assert!(matches!(refused, Err(StoreError::Backup(_))));
}

engines! {
    async fn a_backup_restores_into_sqlite(main: &Workspace) {
        fill(main).await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("backup.db");
        backup::write(&main.store, &file, None, |_| ()).await.unwrap();
        let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["backup.db"]);
        let again = backup::write(&main.store, &file, None, |_| ()).await;
        assert!(matches!(again, Err(StoreError::Backup(_))));
        let url = DatabaseUrl::sqlite(directory.path().join("restored.db"));
        restored_equals(main, &file, &Store::open(&OpenOptions::new(url)).unwrap()).await;
    }

    async fn a_backup_restores_into_postgres(main: &Workspace) {
        let database = Database::create("restored").await;
        fill(main).await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("backup.db");
        backup::write(&main.store, &file, None, |_| ()).await.unwrap();
        let store = Store::open(&OpenOptions::new(database.url())).unwrap();
        restored_equals(main, &file, &store).await;
    }

    async fn a_backup_taken_while_records_are_appended_is_consistent(main: &Workspace) {
        fill(main).await;
        let keys = AuditKeys::new(&main.keyring);
        let appender = Appender::start(main.store.clone(), keys.clone());
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("backup.db");
        let appending = async {
            loop {
                appender.append(AuditRecord::default()).await.unwrap();
            }
        };
        tokio::select! {
            () = appending => {}
            written = backup::write(&main.store, &file, None, |_| ()) => drop(written.unwrap()),
        }
        let url = DatabaseUrl::sqlite(directory.path().join("restored.db"));
        let store = Store::open(&OpenOptions::new(url)).unwrap();
        store.migrate().await.unwrap();
        backup::restore(&store, &file, |_| ()).await.unwrap();
        let verdict = audit::verify(&store, &keys, None, |_, _| ()).await.unwrap();
        assert!(verdict.records >= 1200 && verdict.damage.is_none());
    }

    async fn what_is_not_a_backup_is_refused_and_changes_nothing(main: &Workspace) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x");
        for bytes in [&b"not a database"[..], b""] {
            std::fs::write(&file, bytes).unwrap();
            let refused = backup::restore(&main.store, &file, |_| ()).await;
            assert!(matches!(refused, Err(StoreError::Backup(_))));
        }
        assert!(backup::restore(&main.store, &directory.path().join("none"), |_| ()).await.is_err());
        assert!(workspaces::find(&main.store, main.id).await.unwrap().is_some());
    }
}
