//! Locks on nullifiers and revocations, with any number of values per transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyxis_core::stamp::Nullifier;
use pyxis_store::revocations::{self, RevocationRow};
use pyxis_store::{Engine, claims};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_scorer, at_once, query_strings};

/// More than fit into the lock table of a server with 300 connections.
const VERY_MANY: usize = 40_000;

fn many(count: usize) -> Vec<Nullifier> {
    (0..count).map(|number| format!("n{number}").parse().unwrap()).collect()
}

/// Lock table entries that the database's transactions hold for values.
async fn count_advisory_locks(main: &Workspace) -> usize {
    if main.store.engine() == Engine::Sqlite {
        return 0;
    }
    let statement = "SELECT CAST(count(*) AS TEXT) FROM pg_locks JOIN pg_database AS d ON database = d.oid \
                     WHERE locktype = 'advisory' AND datname = current_database()";
    query_strings(main, statement).await[0].parse().unwrap()
}

engines! {
    async fn no_number_of_values_fills_the_lock_table(main: &Workspace) {
        for count in [1, 256, 257, VERY_MANY] {
            let mut tx = main.store.begin().await.unwrap();
            claims::lock(&mut tx, main.id, &many(count)).await.unwrap();
            assert!(count_advisory_locks(main).await <= 257, "{count}");
            tx.commit().await.unwrap();
            assert_eq!(count_advisory_locks(main).await, 0);
        }
        let digests: Vec<_> = (0..200).map(|number| [number; 32]).collect();
        let mut tx = main.store.begin().await.unwrap();
        assert!(revocations::revoked_among(&mut tx, main.id, &digests).await.unwrap().is_empty());
        assert!(count_advisory_locks(main).await <= 1);
    }

    async fn claims_on_very_many_nullifiers_are_read(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        let (store, ws) = (&main.store, main.id);
        assert!(claims::list_for(store, ws, scorer, &many(VERY_MANY)).await.unwrap().is_empty());
        let mut tx = store.begin().await.unwrap();
        assert!(claims::list_for(&mut tx, ws, scorer, &many(VERY_MANY)).await.unwrap().is_empty());
    }

    async fn few_nullifiers_and_many_keep_each_other_out(main: &Workspace) {
        let inside = Arc::new(AtomicBool::new(false));
        let alone = at_once(24, |number| {
            let (store, ws, inside) = (main.store.clone(), main.id, Arc::clone(&inside));
            async move {
                // All of them contain n0.
                let nullifiers = many([1, 300, 2, 256][number % 4]);
                let mut tx = store.begin().await.unwrap();
                claims::lock(&mut tx, ws, &nullifiers).await.unwrap();
                let was_inside = inside.swap(true, Ordering::SeqCst);
                tokio::task::yield_now().await;
                inside.store(false, Ordering::SeqCst);
                tx.commit().await.unwrap();
                !was_inside
            }
        })
        .await;
        assert!(alone.into_iter().all(|alone| alone));
    }

    async fn a_revocation_and_those_who_bring_credentials_keep_each_other_out(main: &Workspace) {
        let inside = Arc::new(AtomicBool::new(false));
        let alone = at_once(24, |number| {
            let (store, ws, inside) = (main.store.clone(), main.id, Arc::clone(&inside));
            async move {
                let mut tx = store.begin().await.unwrap();
                let alone = if number % 4 == 0 {
                    let new = RevocationRow {
                        digest: [7; 32],
                        revoked_at: NOW,
                        revoked_by: "test".to_owned(),
                        reason: None,
                    };
                    revocations::insert(&mut tx, ws, &new).await.unwrap();
                    inside.store(true, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    inside.store(false, Ordering::SeqCst);
                    true
                } else {
                    revocations::revoked_among(&mut tx, ws, &[[7; 32]]).await.unwrap();
                    !inside.load(Ordering::SeqCst)
                };
                tx.commit().await.unwrap();
                alone
            }
        })
        .await;
        assert!(alone.into_iter().all(|alone| alone));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_are_not_waited_for_on_postgres() {
    let main = &Workspace::start(TestDatabase::postgres("others_are_not_waited_for").await).await;
    let other = main.add_workspace("other").await;
    let lock = async |ws, nullifiers: &[Nullifier]| {
        let mut tx = main.store.begin().await.unwrap();
        claims::lock(&mut tx, ws, nullifiers).await.unwrap();
        tx
    };
    let all = many(300);
    // Each would wait forever if it waited for an earlier one.
    let one = lock(main.id, &all[..20]).await;
    let another = lock(main.id, &all[20..276]).await;
    let elsewhere = lock(other, &all).await;
    let mut bringing = Vec::new();
    for _ in 0..2 {
        let mut tx = main.store.begin().await.unwrap();
        revocations::revoked_among(&mut tx, main.id, &[[7; 32]]).await.unwrap();
        bringing.push(tx);
    }
    drop((one, another, elsewhere, bringing));
}
