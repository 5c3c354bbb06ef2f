//! Transactions and events.

use std::time::Duration;

use pyxis_store::{Engine, Store, StoreError, StoreEvent, addresses, meta};
use pyxis_testkit::engines;

use crate::support::{NOW, World, address, at_once};

async fn next(events: &mut tokio::sync::broadcast::Receiver<StoreEvent>) -> StoreEvent {
    tokio::time::timeout(Duration::from_secs(20), events.recv()).await.expect("an event comes").unwrap()
}

engines! {
    async fn a_dropped_transaction_leaves_nothing_and_frees_the_writer(world: &World) {
        let mut tx = world.store.begin().await.unwrap();
        meta::put_if_absent(&mut tx, "a", "1").await.unwrap();
        assert_eq!(meta::get(&mut tx, "a").await.unwrap().as_deref(), Some("1"));
        drop(tx);
        assert_eq!(meta::get(&world.store, "a").await.unwrap(), None);
        assert!(meta::put_if_absent(&world.store, "a", "2").await.unwrap());
        assert_eq!(meta::get(&world.store, "a").await.unwrap().as_deref(), Some("2"));
    }

    async fn a_text_with_nul_is_refused_and_ends_only_its_own_transaction(world: &World) {
        let refused = meta::put_if_absent(&world.store, "a", "x\u{0}y").await;
        assert!(matches!(refused, Err(StoreError::Text)), "{refused:?}");
        assert!(matches!(meta::get(&world.store, "\u{0}").await, Err(StoreError::Text)));
        let mut tx = world.store.begin().await.unwrap();
        meta::put_if_absent(&mut tx, "b", "1").await.unwrap();
        assert!(matches!(meta::put_if_absent(&mut tx, "c", "\u{0}").await, Err(StoreError::Text)));
        assert!(matches!(tx.commit().await, Err(StoreError::Aborted)));
        assert!(meta::put_if_absent(&world.store, "b", "2").await.unwrap());
    }

    async fn nobody_sees_a_transaction_before_it_commits(world: &World) {
        let mut tx = world.store.begin().await.unwrap();
        meta::put_if_absent(&mut tx, "a", "1").await.unwrap();
        assert_eq!(meta::get(&world.store, "a").await.unwrap(), None);
        tx.commit().await.unwrap();
        assert_eq!(meta::get(&world.store, "a").await.unwrap().as_deref(), Some("1"));
    }

    async fn a_cancelled_transaction_does_not_leak(world: &World) {
        for _ in 0..40 {
            let store = world.store.clone();
            let task = tokio::spawn(async move {
                let mut tx = store.begin().await.unwrap();
                meta::put_if_absent(&mut tx, "canceled", "1").await.unwrap();
                std::future::pending::<()>().await;
            });
            tokio::task::yield_now().await;
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        }
        assert!(meta::put_if_absent(&world.store, "after", "1").await.unwrap());
        assert_eq!(meta::get(&world.store, "canceled").await.unwrap(), None);
    }

    async fn a_transaction_with_a_failed_statement_cannot_commit(world: &World) {
        let mut tx = world.store.begin().await.unwrap();
        meta::put_if_absent(&mut tx, "a", "1").await.unwrap();
        let nobody = "00000000-0000-7000-8000-000000000000".parse().unwrap();
        let now = crate::support::NOW;
        let failed = pyxis_store::addresses::ensure(&mut tx, nobody, crate::support::address(1), now).await;
        assert!(matches!(failed, Err(StoreError::Reference)));
        assert!(matches!(tx.commit().await, Err(StoreError::Aborted)));
        assert_eq!(meta::get(&world.store, "a").await.unwrap(), None);
    }

    async fn of_two_transactions_that_wait_for_each_other_one_is_told_to_begin_again(world: &World) {
        // On SQLite the second one waits before it begins.
        if world.store.engine() == Engine::Sqlite {
            return;
        }
        let mut transactions = Vec::new();
        for number in [1, 2] {
            let mut tx = world.store.begin().await.unwrap();
            addresses::ensure(&mut tx, world.ws, address(number), NOW).await.unwrap();
            transactions.push(tx);
        }
        let (mut one, mut two) = (transactions.remove(0), transactions.remove(0));
        let (one, two) = tokio::join!(
            addresses::ensure(&mut one, world.ws, address(2), NOW),
            addresses::ensure(&mut two, world.ws, address(1), NOW),
        );
        let told: Vec<StoreError> = [one, two].into_iter().filter_map(Result::err).collect();
        let [told] = told.as_slice() else { panic!("{told:?}") };
        assert!(told.is_contended() && !told.may_have_happened(), "{told:?}");
    }

    async fn concurrent_single_writes_all_take_effect(world: &World) {
        let stored = at_once(64, |number| {
            let store = world.store.clone();
            async move { meta::put_if_absent(&store, &format!("key{}", number % 32), "x").await.unwrap() }
        })
        .await;
        assert_eq!(stored.into_iter().filter(|stored| *stored).count(), 32);
    }

    async fn events_are_sent_after_the_commit_only(world: &World) {
        world.store.watch();
        let mut events = world.store.subscribe();
        if world.store.engine() == Engine::Postgres {
            listening(&world.store, &mut events).await;
        }
        let mut tx = world.store.begin().await.unwrap();
        tx.notify(StoreEvent::Unknown);
        drop(tx);
        let approval = StoreEvent::Approval { workspace: world.ws, txn: "7b1f9c2e-0000-4000-8000-000000000001".parse().unwrap() };
        let mut tx = world.store.begin().await.unwrap();
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

    async fn a_commit_of_another_process_is_noticed(world: &World) {
        world.store.watch();
        let mut events = world.store.subscribe();
        let other = Store::open(&world.options).unwrap();
        if world.store.engine() == Engine::Postgres {
            listening(&world.store, &mut events).await;
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
