//! Transactions and events.

use std::time::Duration;

use pyxis_store::{Engine, Store, StoreError, StoreEvent, addresses, meta};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, address, at_once};

async fn next(events: &mut tokio::sync::broadcast::Receiver<StoreEvent>) -> StoreEvent {
    tokio::time::timeout(Duration::from_secs(20), events.recv()).await.expect("an event comes").unwrap()
}

engines! {
    async fn a_dropped_transaction_leaves_nothing_and_frees_the_writer(main: &Workspace) {
        let mut tx = main.store.begin().await.unwrap();
        meta::put_if_absent(&mut tx, "a", "1").await.unwrap();
        assert_eq!(meta::get(&mut tx, "a").await.unwrap().as_deref(), Some("1"));
        drop(tx);
        assert_eq!(meta::get(&main.store, "a").await.unwrap(), None);
        assert!(meta::put_if_absent(&main.store, "a", "2").await.unwrap());
        assert_eq!(meta::get(&main.store, "a").await.unwrap().as_deref(), Some("2"));
    }

    async fn a_text_with_nul_is_refused_and_ends_only_its_own_transaction(main: &Workspace) {
        let refused = meta::put_if_absent(&main.store, "a", "x\u{0}y").await;
        assert!(matches!(refused, Err(StoreError::Text)), "{refused:?}");
        assert!(matches!(meta::get(&main.store, "\u{0}").await, Err(StoreError::Text)));
        let mut tx = main.store.begin().await.unwrap();
        meta::put_if_absent(&mut tx, "b", "1").await.unwrap();
        assert!(matches!(meta::put_if_absent(&mut tx, "c", "\u{0}").await, Err(StoreError::Text)));
        assert!(matches!(tx.commit().await, Err(StoreError::Aborted)));
        assert!(meta::put_if_absent(&main.store, "b", "2").await.unwrap());
    }

    async fn nobody_sees_a_transaction_before_it_commits(main: &Workspace) {
        let mut tx = main.store.begin().await.unwrap();
        meta::put_if_absent(&mut tx, "a", "1").await.unwrap();
        assert_eq!(meta::get(&main.store, "a").await.unwrap(), None);
        tx.commit().await.unwrap();
        assert_eq!(meta::get(&main.store, "a").await.unwrap().as_deref(), Some("1"));
    }

    async fn a_canceled_transaction_does_not_leak(main: &Workspace) {
        for _ in 0..40 {
            let store = main.store.clone();
            let task = tokio::spawn(async move {
                let mut tx = store.begin().await.unwrap();
                meta::put_if_absent(&mut tx, "canceled", "1").await.unwrap();
                std::future::pending::<()>().await;
            });
            tokio::task::yield_now().await;
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        }
        assert!(meta::put_if_absent(&main.store, "after", "1").await.unwrap());
        assert_eq!(meta::get(&main.store, "canceled").await.unwrap(), None);
    }

    async fn a_transaction_with_a_failed_statement_cannot_commit(main: &Workspace) {
        let mut tx = main.store.begin().await.unwrap();
        meta::put_if_absent(&mut tx, "a", "1").await.unwrap();
        let nobody = "00000000-0000-7000-8000-000000000000".parse().unwrap();
        let now = crate::support::NOW;
        let failed = pyxis_store::addresses::ensure(&mut tx, nobody, crate::support::address(1), now).await;
        assert!(matches!(failed, Err(StoreError::Reference)));
        assert!(matches!(tx.commit().await, Err(StoreError::Aborted)));
        assert_eq!(meta::get(&main.store, "a").await.unwrap(), None);
    }

    async fn concurrent_single_writes_all_take_effect(main: &Workspace) {
        let stored = at_once(64, |number| {
            let store = main.store.clone();
            async move { meta::put_if_absent(&store, &format!("key{}", number % 32), "x").await.unwrap() }
        })
        .await;
        assert_eq!(stored.into_iter().filter(|stored| *stored).count(), 32);
    }

    async fn events_are_sent_after_the_commit_only(main: &Workspace) {
        main.store.watch();
        let mut events = main.store.subscribe();
        if main.store.engine() == Engine::Postgres {
            listening(&main.store, &mut events).await;
        }
        let mut tx = main.store.begin().await.unwrap();
        tx.notify(StoreEvent::Unknown);
        drop(tx);
        let approval = StoreEvent::Approval { workspace: main.id, txn: "7b1f9c2e-0000-4000-8000-000000000001".parse().unwrap() };
        let mut tx = main.store.begin().await.unwrap();
        tx.notify(approval);
        tx.commit().await.unwrap();
        loop {
            match next(&mut events).await {
                StoreEvent::Configuration => {}
                event => {
                    assert_eq!(event, approval);
                    break;
                }
            }
        }
    }

    async fn a_commit_of_another_process_is_noticed(main: &Workspace) {
        main.store.watch();
        let mut events = main.store.subscribe();
        let other = main.reopen();
        if main.store.engine() == Engine::Postgres {
            listening(&main.store, &mut events).await;
            let mut tx = other.begin().await.unwrap();
            tx.notify(StoreEvent::Unknown);
            tx.commit().await.unwrap();
        } else {
            // The watcher notices any write after its first check.
            let writer = async {
                for number in 0_u32.. {
                    meta::put_if_absent(&other, &format!("k{number}"), "x").await.unwrap();
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                () = writer => {}
                event = next(&mut events) => assert_eq!(event, StoreEvent::Configuration),
            }
        }
        while next(&mut events).await != StoreEvent::Unknown {}
    }
}

/// Waits until a store's LISTEN connection is open.
async fn listening(store: &Store, events: &mut tokio::sync::broadcast::Receiver<StoreEvent>) {
    loop {
        let mut tx = store.begin().await.unwrap();
        tx.notify(StoreEvent::Configuration);
        tx.commit().await.unwrap();
        if tokio::time::timeout(Duration::from_millis(100), events.recv()).await.is_ok() {
            return;
        }
    }
}

// On SQLite the second one waits before it begins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_transactions_that_wait_for_each_other_one_is_told_to_begin_again_on_postgres() {
    let main = &Workspace::start(TestDatabase::postgres("of_two_transactions").await).await;
    let mut transactions = Vec::new();
    for number in [1, 2] {
        let mut tx = main.store.begin().await.unwrap();
        addresses::ensure(&mut tx, main.id, address(number), NOW).await.unwrap();
        transactions.push(tx);
    }
    let (mut one, mut two) = (transactions.remove(0), transactions.remove(0));
    let (one, two) = tokio::join!(
        addresses::ensure(&mut one, main.id, address(2), NOW),
        addresses::ensure(&mut two, main.id, address(1), NOW),
    );
    let told: Vec<StoreError> = [one, two].into_iter().filter_map(Result::err).collect();
    let [told] = told.as_slice() else { panic!("{told:?}") };
    assert!(told.is_contended() && !told.may_have_happened(), "{told:?}");
}
