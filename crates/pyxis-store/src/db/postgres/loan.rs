//! A connection on loan from the pool, which never goes back busy or in a transaction.

use std::time::Duration;

use deadpool_postgres::Object;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::WAIT;
use crate::StoreError;

/// How long a statement whose caller has gone away may go on before it is cancelled. Most end by
/// themselves sooner than a cancellation, which needs a connection of its own, would reach the server.
const GRACE: Duration = Duration::from_millis(100);

/// Dropped before [`Loan::give_back`], it ends what still runs on the connection.
pub(super) struct PooledConnection {
    /// `None` once the connection has gone back to the pool.
    client: Option<Object>,
    tls: MakeRustlsConnect,
    closing: &'static str,
}

impl PooledConnection {
    /// `closing` is what ends the work on the connection: `ROLLBACK`, or nothing.
    pub(super) const fn new(client: Object, tls: MakeRustlsConnect, closing: &'static str) -> Self {
        Self { client: Some(client), tls, closing }
    }

    /// The same with something else that ends the work.
    pub(super) fn closing(self, closing: &'static str) -> Self {
        let mut loan = self;
        loan.closing = closing;
        loan
    }

    pub(super) fn client(&self) -> Result<&Object, StoreError> {
        self.client.as_ref().ok_or(StoreError::Aborted)
    }

    /// The work is done, and the connection is free for the next caller.
    pub(super) fn give_back(mut self) {
        drop(self.client.take());
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(close(client, self.tls.clone(), self.closing))),
            Err(_) => drop(Object::take(client)),
        }
    }
}

/// The answer to `closing` comes after everything that was sent before. If it is late, the statement is
/// cancelled and the connection thrown away: a cancellation that comes late itself must not hit what
/// somebody else runs there.
async fn close(client: Object, tls: MakeRustlsConnect, closing: &'static str) {
    if !end(&client, tls, closing).await {
        drop(Object::take(client));
    }
}

/// Waits a little for the end of what was sent, then cancels it; whether it ended by itself.
pub(super) async fn end(client: &Object, tls: MakeRustlsConnect, closing: &'static str) -> bool {
    match tokio::time::timeout(GRACE, client.batch_execute(closing)).await {
        Ok(ended) => return ended.is_ok(),
        Err(_) => match tokio::time::timeout(WAIT, client.cancel_token().cancel_query(tls)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a statement that nobody waits for goes on"),
            Err(_) => tracing::warn!("a statement that nobody waits for goes on: no connection to cancel it"),
        },
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::db::{Executor, SqlQuery, sql};
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

    /// True if statements with `mark` are under way, or a transaction whose last one it was.
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

    fn endless(mark: &str) -> SqlQuery {
        SqlQuery::assembled(format!("SELECT count(*) FROM pg_sleep(36000) AS {mark}"))
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
}
