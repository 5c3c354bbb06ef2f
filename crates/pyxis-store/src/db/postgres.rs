//! PostgreSQL: a pool of connections with cached prepared statements.

use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use futures_util::StreamExt;
use futures_util::future::try_join3;
use futures_util::stream::FuturesOrdered;
use tokio::time::Instant;
use tokio_postgres::Config;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres_rustls::MakeRustlsConnect;

pub(crate) use limits::Limits;
pub use limits::long_work;
use limits::{is_long, millis};
use loan::{Closing, PooledConnection};
pub(crate) use server::Server;
use shared::PipelinedPool;

use super::query::SqlQuery;
use super::row::{FromRow, Row};
use super::value::Value;
use crate::error::Busy;
use crate::store_metrics::PoolState;
use crate::{StoreError, StoreEvent};

mod connect;
mod limits;
mod loan;
mod pooler;
mod server;
mod shared;

/// Wait for a connection after which the remaining lock timeout is set separately.
const LONG: Duration = Duration::from_millis(100);

/// A connection pool for one database.
pub(crate) struct PostgresDatabase {
    pool: Pool,
    /// For writes that may be lost if the server's machine fails: commits do not wait for the disk.
    relaxed: Pool,
    /// For point reads.
    shared: PipelinedPool,
    server: Arc<Server>,
    commits: Arc<AtomicU64>,
}

impl PostgresDatabase {
    /// Creates the pools without connecting.
    pub(crate) fn open(
        config: &Config,
        tls: MakeRustlsConnect,
        size: usize,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        let connector = connect::PostgresConnector::new(config, tls.clone(), limits);
        let server = Arc::new(Server::new(connector, limits, tls));
        let pool = pool_of(config, &server, server.connector.clone(), size.max(2))?;
        let relaxed = pool_of(config, &server, server.connector.relaxed(), 2)?;
        let shared = pool_of(config, &server, server.connector.clone(), shared::WITH_REPLACED)?;
        let shared = PipelinedPool::new(shared, Arc::clone(&server));
        Ok(Self { pool, relaxed, shared, server, commits: Arc::default() })
    }

    /// Connections of the pools, but for the few that are shared by point reads.
    pub(crate) fn pool_state(&self) -> PoolState {
        let [all, relaxed] = [&self.pool, &self.relaxed].map(Pool::status);
        let idle = all.available + relaxed.available;
        let waiters = all.waiting + relaxed.waiting;
        PoolState { idle, in_use: (all.size + relaxed.size).saturating_sub(idle), waiters }
    }

    pub(crate) const fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Refuses an address at which a connection is not a session.
    pub(crate) async fn refuse_shared_processes(&self) -> Result<(), StoreError> {
        pooler::refuse_shared_processes(&self.server).await
    }

    /// Succeeds if the server answers on a connection of every pool.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        let one = super::sql("SELECT CAST(1 AS BIGINT)");
        let read = self.optional::<(i64,)>(&one);
        let (write, relaxed) = (self.all::<(i64,)>(&one), self.all_relaxed::<(i64,)>(&one));
        Box::pin(try_join3(read, write, relaxed)).await.map(drop)
    }

    /// Upper bound on the commits of this process.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// A point read.
    pub(super) async fn optional<T: FromRow>(&self, query: &SqlQuery) -> Result<Option<T>, StoreError> {
        if is_long() {
            return self
                .run_exclusive(&self.pool, Closing::Read, async |loan| optional(loan, query).await)
                .await;
        }
        self.shared.read(async |client| first(&rows(&self.server, client, query).await?)).await
    }

    pub(super) async fn all<T: FromRow>(&self, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
        self.run_exclusive(&self.pool, Closing::Read, async |loan| all(loan, query).await).await
    }

    /// A write with RETURNING.
    pub(super) async fn returning<T: FromRow>(&self, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
        let pool = if query.relaxed { &self.relaxed } else { &self.pool };
        let outcome = self.run_exclusive(pool, Closing::Commit, async |loan| all(loan, query).await).await;
        self.commits.fetch_add(1, Ordering::Release);
        outcome
    }

    /// See [`SqlQuery::relaxed`].
    async fn all_relaxed<T: FromRow>(&self, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
        self.run_exclusive(&self.relaxed, Closing::Read, async |loan| all(loan, query).await).await
    }

    pub(super) async fn execute(&self, query: &SqlQuery) -> Result<u64, StoreError> {
        let run = async |loan: &PooledConnection| execute(loan, &query.text, &query.params).await;
        let outcome = self.run_exclusive(&self.pool, Closing::Commit, run).await;
        self.commits.fetch_add(1, Ordering::Release);
        outcome
    }

    /// Runs one statement on an exclusive connection. Time spent waiting for the connection reduces the lock timeout.
    async fn run_exclusive<T>(
        &self,
        pool: &Pool,
        closing: Closing,
        run: impl AsyncFnOnce(&PooledConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + self.server.limits.patience;
        let client = self.server.client(pool).await?;
        let loan = PooledConnection::new(client, Arc::clone(&self.server), closing);
        let left = self.remaining_timeout(deadline);
        if left.is_none() && !is_long() {
            let outcome = run(&loan).await;
            // A failed one is only given back if the connection still works.
            if outcome.is_ok() {
                loan.give_back();
            }
            return outcome;
        }
        let loan = loan.closing(Closing::Transaction);
        let transaction = Transaction { loan, commits: Arc::clone(&self.commits) };
        transaction.begin(left).await?;
        let outcome = run(&transaction.loan).await?;
        transaction.commit(&[]).await?;
        Ok(outcome)
    }

    /// Remaining lock timeout, unless it nearly equals the default of each connection.
    fn remaining_timeout(&self, deadline: Instant) -> Option<Duration> {
        let patience = self.server.limits.patience;
        let left = deadline.saturating_duration_since(Instant::now());
        (left + LONG < patience || left > patience).then_some(left)
    }

    /// Begins a transaction whose statements wait for locks until `deadline`, or slightly longer.
    pub(crate) async fn begin(&self, deadline: Instant) -> Result<Transaction, StoreError> {
        let client = tokio::time::timeout_at(deadline, self.server.client(&self.pool)).await;
        let client = client.map_err(|_| StoreError::unavailable(Busy))??;
        // From here on a drop rolls back, even while BEGIN is in progress.
        let loan = PooledConnection::new(client, Arc::clone(&self.server), Closing::Transaction);
        let transaction = Transaction { loan, commits: Arc::clone(&self.commits) };
        transaction.begin(self.remaining_timeout(deadline)).await?;
        Ok(transaction)
    }
}

fn pool_of(
    config: &Config,
    server: &Arc<Server>,
    connector: connect::PostgresConnector,
    size: usize,
) -> Result<Pool, StoreError> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let judge = Arc::clone(server);
    Pool::builder(Manager::from_connect(config.clone(), connector, recycling))
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(server.limits.patience))
        .create_timeout(Some(server.limits.connect))
        .pre_recycle(Hook::sync_fn(move |_, metrics| {
            if judge.suspects(metrics.created) {
                return Err(HookError::message("opened before the server failed to answer"));
            }
            Ok(())
        }))
        .build()
        .map_err(StoreError::unavailable)
}

/// A transaction on an exclusive connection.
pub(crate) struct Transaction {
    loan: PooledConnection,
    /// Commit counter of the database.
    commits: Arc<AtomicU64>,
}

impl Transaction {
    /// `locks` is the lock timeout, if it differs from the connection's.
    async fn begin(&self, locks: Option<Duration>) -> Result<(), StoreError> {
        let mut begin = "BEGIN".to_owned();
        let mut set = |name: &str, limit: Duration| {
            // Writing to a String does not fail.
            let _ = write!(begin, "; SET LOCAL {name} = {}", millis(limit));
        };
        if let Some(locks) = locks {
            set("lock_timeout", locks);
        }
        if is_long() {
            let limit = self.loan.server().limits.on_server();
            set("statement_timeout", limit);
            set("idle_in_transaction_session_timeout", limit);
        }
        self.batch(&begin).await
    }

    /// Runs statements without parameters.
    pub(crate) async fn batch(&self, statements: &str) -> Result<(), StoreError> {
        self.answer(self.client()?.batch_execute(statements)).await
    }

    /// Waits for an answer of the server, within the limit of a statement.
    pub(crate) async fn answer<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        self.loan.server().answer(work).await
    }

    pub(crate) fn client(&self) -> Result<&Object, StoreError> {
        self.loan.client()
    }

    pub(crate) async fn optional<T: FromRow>(&self, query: &SqlQuery) -> Result<Option<T>, StoreError> {
        optional(&self.loan, query).await
    }

    pub(crate) async fn all<T: FromRow>(&self, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
        all(&self.loan, query).await
    }

    pub(crate) async fn execute(&self, query: &SqlQuery) -> Result<u64, StoreError> {
        execute(&self.loan, &query.text, &query.params).await
    }

    /// Sends every row before waiting for the first response. The time limit is for each.
    pub(super) async fn execute_each(&self, text: &str, rows: &[Vec<Value>]) -> Result<u64, StoreError> {
        let client = self.client()?;
        let statement = self.answer(client.prepare_cached(text)).await?;
        let statement = &statement;
        let mut sent: FuturesOrdered<_> = rows
            .iter()
            .map(|row| async move {
                let params: Vec<&(dyn ToSql + Sync)> = row.iter().map(|value| value as _).collect();
                client.execute(statement, &params).await
            })
            .collect();
        let mut touched = 0;
        while let Some(one) = self.answer(async { sent.next().await.transpose() }).await? {
            touched += one;
        }
        Ok(touched)
    }

    pub(crate) async fn commit(self, events: &[StoreEvent]) -> Result<(), StoreError> {
        for event in events {
            let notify =
                super::sql("SELECT pg_notify($1, $2)").bind(crate::event::CHANNEL).bind(event.to_payload());
            self.execute(&notify).await?;
        }
        let loan = self.loan.closing(Closing::Commit);
        let committed = loan.server().answer(loan.client()?.batch_execute("COMMIT")).await;
        self.commits.fetch_add(1, Ordering::Release);
        committed?;
        loan.give_back();
        Ok(())
    }
}

async fn optional<T: FromRow>(loan: &PooledConnection, query: &SqlQuery) -> Result<Option<T>, StoreError> {
    first(&rows(loan.server(), loan.client()?, query).await?)
}

fn first<T: FromRow>(rows: &[tokio_postgres::Row]) -> Result<Option<T>, StoreError> {
    rows.first().map(|row| T::from_row(&mut Row::postgres(row, T::TABLE))).transpose()
}

async fn all<T: FromRow>(loan: &PooledConnection, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
    let rows = rows(loan.server(), loan.client()?, query).await?;
    rows.iter().map(|row| T::from_row(&mut Row::postgres(row, T::TABLE))).collect()
}

async fn rows(
    server: &Server,
    client: &deadpool_postgres::ClientWrapper,
    query: &SqlQuery,
) -> Result<Vec<tokio_postgres::Row>, StoreError> {
    let answer = async {
        let statement = client.prepare_cached(&query.text).await?;
        let params: Vec<&(dyn ToSql + Sync)> = query.params.iter().map(|value| value as _).collect();
        client.query(&statement, &params).await
    };
    server.answer(answer).await
}

async fn execute(loan: &PooledConnection, text: &str, params: &[Value]) -> Result<u64, StoreError> {
    let client = loan.client()?;
    let answer = async {
        let statement = client.prepare_cached(text).await?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as _).collect();
        client.execute(&statement, &params).await
    };
    loan.server().answer(answer).await
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            // An expression such as `$1 + 1` makes the server expect an int4.
            Self::Int(Some(value)) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            Self::Int(value) => value.to_sql(kind, out),
            Self::Bool(value) => value.to_sql(kind, out),
            Self::Text(value) => value.as_deref().to_sql(kind, out),
            Self::Bytes(value) => value.as_deref().to_sql(kind, out),
            Self::List(values) => values.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Converts a driver error.
pub(crate) fn failure(error: tokio_postgres::Error) -> StoreError {
    let Some(refusal) = error.as_db_error() else {
        return StoreError::Unavailable(Arc::new(error));
    };
    let code = refusal.code();
    if *code == SqlState::UNIQUE_VIOLATION {
        StoreError::Conflict { constraint: refusal.constraint().map(str::to_owned) }
    } else if *code == SqlState::FOREIGN_KEY_VIOLATION {
        StoreError::Reference
    } else if *code == SqlState::CHARACTER_NOT_IN_REPERTOIRE {
        StoreError::Text
    } else if is_unavailable(code) {
        StoreError::Unavailable(Arc::new(error))
    } else {
        StoreError::Refused(Arc::new(error))
    }
}

/// Classes 08 (connection), 53 (resources), 57 (operator) and 40 (serialization, deadlock), lock timeouts, and a server
/// that became a standby.
fn is_unavailable(code: &SqlState) -> bool {
    const OTHERS: [&SqlState; 3] = [
        &SqlState::LOCK_NOT_AVAILABLE,
        &SqlState::READ_ONLY_SQL_TRANSACTION,
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    OTHERS.contains(&code) || matches!(code.code().get(..2), Some("08" | "53" | "57" | "40"))
}
