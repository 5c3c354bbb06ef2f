//! What becomes of the connections whose callers go away or wait long.

use std::time::Duration;

use crate::db::{Executor, Query, sql};
use crate::{OpenOptions, Store};

/// A store on the server of the tests, with few connections.
#[expect(clippy::disallowed_methods, reason = "only the environment of the tests names a server")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn store() -> Option<Store> {
    let Ok(server) = std::env::var("PX_TEST_POSTGRES") else {
        eprintln!("skipped: PX_TEST_POSTGRES is not set");
        return None;
    };
    let url = format!("{server}?sslmode=disable").parse().unwrap();
    Some(Store::open(&OpenOptions { pool_size: 2, ..OpenOptions::new(url) }).unwrap())
}

/// Whether statements with `mark` are under way, or a transaction whose last one it was.
async fn is_busy(store: &Store, mark: &'static str) -> bool {
    let query = sql("SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
         AND state <> 'idle' AND strpos(query, $1) > 0");
    store.optional::<(i64,)>(query.bind(mark)).await.unwrap() != Some((0,))
}

async fn until(store: &Store, mark: &'static str, busy: bool) {
    while is_busy(store, mark).await != busy {
        tokio::task::yield_now().await;
    }
}

fn endless(mark: &str) -> Query {
    Query::assembled(format!("SELECT count(*) FROM pg_sleep(36000) AS {mark}"))
}

#[tokio::test]
async fn a_statement_that_nobody_waits_for_is_cancelled() {
    let Some(store) = store() else { return };
    let mark = "px_abandoned_statement";
    let reader = store.clone();
    let read = tokio::spawn(async move { reader.all::<(i64,)>(endless(mark)).await });
    until(&store, mark, true).await;
    read.abort();
    until(&store, mark, false).await;
    for _ in 0..4 {
        store.ping().await.unwrap();
    }
}

#[tokio::test]
async fn a_transaction_that_nobody_waits_for_is_cancelled_and_rolled_back() {
    let Some(store) = store() else { return };
    let mark = "px_abandoned_transaction";
    let writer = store.clone();
    let work = tokio::spawn(async move {
        let mut tx = writer.begin().await.unwrap();
        tx.all::<(i64,)>(endless(mark)).await
    });
    until(&store, mark, true).await;
    work.abort();
    until(&store, mark, false).await;
    let mut tx = store.begin().await.unwrap();
    assert!(tx.optional::<(i64,)>(sql("SELECT CAST(1 AS BIGINT)")).await.unwrap().is_some());
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_point_read_that_takes_long_holds_up_no_other() {
    let Some(store) = store() else { return };
    let mark = "px_slow_point_read";
    let reader = store.clone();
    let slow = tokio::spawn(async move { reader.optional::<(i64,)>(endless(mark)).await });
    let others = async {
        until(&store, mark, true).await;
        for _ in 0..20 {
            store.optional::<(i64,)>(sql("SELECT CAST(1 AS BIGINT)")).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), others).await.expect("a read waited behind the slow one");
    slow.abort();
    until(&store, mark, false).await;
}
