//! A pooled connection that is never returned while busy or in a transaction.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::time::{Instant, timeout};

use super::server::Server;
use crate::StoreError;

/// Time after which a statement is canceled once its caller is gone. Most statements end sooner than a cancel request,
/// which needs another connection, would reach the server.
const GRACE: Duration = Duration::from_millis(100);

/// Time within which a canceled statement has ended.
const PROMPT: Duration = Duration::from_secs(2);

/// Ways to end work that nobody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// Cancel the read.
    Read,
    /// Cancel the statement, and roll back.
    Transaction,
    /// Wait for the answer. Canceling a commit that waits for a synchronous standby would make it visible although the
    /// standby does not have it.
    Commit,
}

impl Closing {
    /// Statement that is answered after everything sent before.
    const fn statement(self) -> &'static str {
        match self {
            Self::Transaction => "ROLLBACK",
            Self::Read | Self::Commit => "",
        }
    }
}

/// If dropped before [`PooledConnection::give_back`], ends any work still running on the connection.
pub(super) struct PooledConnection {
    /// `None` once the connection is back in the pool.
    client: Option<Object>,
    server: Arc<Server>,
    closing: Closing,
}

impl PooledConnection {
    /// `closing` says how to end the work on the connection.
    pub(super) const fn new(client: Object, server: Arc<Server>, closing: Closing) -> Self {
        Self { client: Some(client), server, closing }
    }

    /// Changes how to end the work.
    pub(super) fn closing(self, closing: Closing) -> Self {
        let mut loan = self;
        loan.closing = closing;
        loan
    }

    pub(super) fn client(&self) -> Result<&Object, StoreError> {
        self.client.as_ref().ok_or(StoreError::Aborted)
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the connection to the pool after the work is done.
    pub(super) fn give_back(mut self) {
        drop(self.client.take());
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) if !self.server.suspects_client(&client) => {
                drop(runtime.spawn(close(client, Arc::clone(&self.server), self.closing)));
            }
            // Nothing will be answered on it.
            _ => drop(Object::take(client)),
        }
    }
}

/// Ends the work. If the answer is late, the connection is discarded, because a late cancel request must not hit another
/// caller's statement.
async fn close(client: Object, server: Arc<Server>, closing: Closing) {
    if !end(&client, &server, closing).await {
        drop(Object::take(client));
    }
}

/// Waits briefly for the pending work to end, then cancels it. Returns true if it ended without canceling.
pub(super) async fn end(client: &Object, server: &Server, closing: Closing) -> bool {
    let started = Instant::now();
    let grace = if closing == Closing::Commit { server.limits.answer() } else { GRACE };
    if let Ok(ended) = timeout(grace, client.batch_execute(closing.statement())).await {
        return ended.is_ok();
    }
    if closing == Closing::Commit {
        server.record_unanswered(started);
        return false;
    }
    match timeout(server.limits.connect, client.cancel_token().cancel_query(server.tls.clone())).await {
        // The request has no response, and a frozen server accepts it too. What was canceled has one.
        Ok(Ok(())) => {
            let response = timeout(PROMPT.min(server.limits.connect), client.batch_execute("")).await;
            if response.is_err() {
                server.record_unanswered(started);
            }
        }
        Ok(Err(error)) => {
            server.record_unanswered(started);
            tracing::warn!(%error, "an abandoned statement keeps running");
        }
        Err(_) => {
            server.record_unanswered(started);
            tracing::warn!("an abandoned statement keeps running: no connection to cancel it");
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::db::{Executor, SqlQuery, sql};
    use crate::{OpenOptions, Store};

    /// A store on the test server, with few connections.
    #[expect(clippy::disallowed_methods, reason = "only the environment of the tests names a server")]
    fn store() -> Store {
        let server = std::env::var("PX_TEST_POSTGRES").expect(
            "PX_TEST_POSTGRES names no server: put ci/postgres.sh before the command that runs the tests",
        );
        let url = format!("{server}?sslmode=disable").parse().unwrap();
        Store::open(&OpenOptions { pool_size: 2, ..OpenOptions::new(url) }).unwrap()
    }

    /// True if statements with `mark` are running, or if a transaction is open whose last statement had it.
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
    async fn a_statement_that_nobody_waits_for_is_canceled() {
        let store = store();
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
        let store = store();
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
