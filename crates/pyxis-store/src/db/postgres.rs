//! PostgreSQL: a pool of connections with cached prepared statements.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use futures_util::future::try_join_all;
use tokio::time::Instant;
use tokio_postgres::Config;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres_rustls::MakeRustlsConnect;

use loan::PooledConnection;
use shared::PipelinedPool;

use super::query::SqlQuery;
use super::row::{FromRow, Row};
use super::value::Value;
use crate::error::Busy;
use crate::store_metrics::PoolState;
use crate::{StoreError, StoreEvent};

mod loan;
mod shared;

/// Maximum time for connecting or for canceling a statement.
const WAIT: Duration = Duration::from_secs(5);
/// Wait for a connection after which the remaining lock timeout is set separately.
const LONG: Duration = Duration::from_millis(100);

/// A connection pool for one database.
pub(crate) struct Database {
    pool: Pool,
    /// For writes that may be lost if the server's machine fails: commits do not wait for the disk.
    relaxed: Pool,
    /// For point reads.
    shared: PipelinedPool,
    config: Config,
    tls: MakeRustlsConnect,
    commits: Arc<AtomicU64>,
    patience: Duration,
}

impl Database {
    /// Creates the pool without connecting. An operation waits for a connection and for locks for `patience` at most.
    pub(crate) fn open(
        config: Config,
        tls: MakeRustlsConnect,
        size: usize,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let options = config.get_options().unwrap_or_default();
        // Placed first, so that a setting in the database URL takes precedence.
        let options = format!("-c lock_timeout={} {options}", millis(patience));
        let mut bounded = config.clone();
        bounded.options(options.clone());
        let pool = pool_of(bounded.clone(), &tls, size.max(2), patience)?;
        let mut hasty = config.clone();
        hasty.options(format!("{options} -c synchronous_commit=off"));
        let relaxed = pool_of(hasty, &tls, 2, patience)?;
        let shared = pool_of(bounded, &tls, shared::LANES, patience)?;
        let shared = PipelinedPool::new(shared, tls.clone(), patience);
        Ok(Self { pool, relaxed, shared, config, tls, commits: Arc::default(), patience })
    }

    /// Connections of the pools, but for the few that are shared by point reads.
    pub(crate) fn pool_state(&self) -> PoolState {
        let [all, relaxed] = [&self.pool, &self.relaxed].map(Pool::status);
        let idle = all.available + relaxed.available;
        let waiters = all.waiting + relaxed.waiting;
        PoolState { idle, in_use: (all.size + relaxed.size).saturating_sub(idle), waiters }
    }

    pub(crate) const fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }

    /// Upper bound on the commits of this process.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    pub(crate) async fn client(&self) -> Result<Object, StoreError> {
        client(&self.pool).await
    }

    /// A point read.
    pub(super) async fn optional<T: FromRow>(&self, query: &SqlQuery) -> Result<Option<T>, StoreError> {
        self.shared.read(async |client| optional(client, query).await).await
    }

    pub(super) async fn all<T: FromRow>(&self, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
        self.alone(&self.pool, async |client| all(client, query).await).await
    }

    /// A write with RETURNING.
    pub(super) async fn returning<T: FromRow>(&self, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
        let outcome = if query.relaxed { self.all_relaxed(query).await } else { self.all(query).await };
        self.commits.fetch_add(1, Ordering::Release);
        outcome
    }

    /// See [`SqlQuery::relaxed`].
    async fn all_relaxed<T: FromRow>(&self, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
        self.alone(&self.relaxed, async |client| all(client, query).await).await
    }

    pub(super) async fn execute(&self, query: &SqlQuery) -> Result<u64, StoreError> {
        let run = async |client: &Object| execute(client, &query.text, &query.params).await;
        let outcome = self.alone(&self.pool, run).await;
        self.commits.fetch_add(1, Ordering::Release);
        outcome
    }

    /// Runs one statement on an exclusive connection. Time spent waiting for the connection reduces the lock timeout.
    async fn alone<T>(
        &self,
        pool: &Pool,
        run: impl AsyncFnOnce(&Object) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + self.patience;
        let loan = PooledConnection::new(client(pool).await?, self.tls(), "");
        let Some(left) = self.left(deadline) else {
            let outcome = run(loan.client()?).await;
            loan.give_back();
            return outcome;
        };
        let transaction = Transaction { loan: loan.closing("ROLLBACK"), commits: Arc::clone(&self.commits) };
        transaction.begin(Some(left)).await?;
        let outcome = run(transaction.client()?).await?;
        transaction.commit(&[]).await?;
        Ok(outcome)
    }

    /// Remaining lock timeout, unless it nearly equals the default of each connection.
    fn left(&self, deadline: Instant) -> Option<Duration> {
        let left = deadline.saturating_duration_since(Instant::now());
        (left + LONG < self.patience || left > self.patience).then_some(left)
    }

    /// Begins a transaction whose statements wait for locks until `deadline`, or slightly longer.
    pub(crate) async fn begin(&self, deadline: Instant) -> Result<Transaction, StoreError> {
        let client = tokio::time::timeout_at(deadline, self.client()).await;
        let client = client.map_err(|_| StoreError::unavailable(Busy))??;
        // From here on a drop rolls back, even while BEGIN is in progress.
        let loan = PooledConnection::new(client, self.tls(), "ROLLBACK");
        let transaction = Transaction { loan, commits: Arc::clone(&self.commits) };
        transaction.begin(self.left(deadline)).await?;
        Ok(transaction)
    }
}

async fn client(pool: &Pool) -> Result<Object, StoreError> {
    pool.get().await.map_err(|error| match error {
        PoolError::Timeout(TimeoutType::Wait) => StoreError::unavailable(Busy),
        error => StoreError::unavailable(error),
    })
}

/// Milliseconds for a server setting in which 0 means no limit.
fn millis(time: Duration) -> u128 {
    time.as_millis().clamp(1, 2_147_483_647)
}

fn pool_of(
    config: Config,
    tls: &MakeRustlsConnect,
    size: usize,
    patience: Duration,
) -> Result<Pool, StoreError> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    Pool::builder(Manager::from_config(config, tls.clone(), recycling))
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(patience))
        .create_timeout(Some(WAIT))
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
        let begin = match locks {
            None => "BEGIN".to_owned(),
            Some(locks) => format!("BEGIN; SET LOCAL lock_timeout = {}", millis(locks)),
        };
        self.client()?.batch_execute(&begin).await.map_err(failure)
    }

    pub(crate) fn client(&self) -> Result<&Object, StoreError> {
        self.loan.client()
    }

    pub(crate) async fn optional<T: FromRow>(&self, query: &SqlQuery) -> Result<Option<T>, StoreError> {
        optional(self.client()?, query).await
    }

    pub(crate) async fn all<T: FromRow>(&self, query: &SqlQuery) -> Result<Vec<T>, StoreError> {
        all(self.client()?, query).await
    }

    pub(crate) async fn execute(&self, query: &SqlQuery) -> Result<u64, StoreError> {
        execute(self.client()?, &query.text, &query.params).await
    }

    /// Sends every row before waiting for the first response.
    pub(super) async fn execute_each(&self, text: &str, rows: &[Vec<Value>]) -> Result<u64, StoreError> {
        let client = self.client()?;
        let statement = client.prepare_cached(text).await.map_err(failure)?;
        let statement = &statement;
        let sent = rows.iter().map(|row| async move {
            let params: Vec<&(dyn ToSql + Sync)> = row.iter().map(|value| value as _).collect();
            client.execute(statement, &params).await
        });
        let touched = try_join_all(sent).await.map_err(failure)?;
        Ok(touched.into_iter().sum())
    }

    pub(crate) async fn commit(self, events: &[StoreEvent]) -> Result<(), StoreError> {
        for event in events {
            let notify =
                super::sql("SELECT pg_notify($1, $2)").bind(crate::event::CHANNEL).bind(event.to_payload());
            self.execute(&notify).await?;
        }
        let committed = self.client()?.batch_execute("COMMIT").await.map_err(failure);
        self.commits.fetch_add(1, Ordering::Release);
        committed?;
        self.loan.give_back();
        Ok(())
    }
}

async fn optional<T: FromRow>(
    client: &deadpool_postgres::ClientWrapper,
    query: &SqlQuery,
) -> Result<Option<T>, StoreError> {
    let rows = rows(client, query).await?;
    rows.first().map(|row| T::from_row(&mut Row::postgres(row, T::TABLE))).transpose()
}

async fn all<T: FromRow>(
    client: &deadpool_postgres::ClientWrapper,
    query: &SqlQuery,
) -> Result<Vec<T>, StoreError> {
    let rows = rows(client, query).await?;
    rows.iter().map(|row| T::from_row(&mut Row::postgres(row, T::TABLE))).collect()
}

async fn rows(
    client: &deadpool_postgres::ClientWrapper,
    query: &SqlQuery,
) -> Result<Vec<tokio_postgres::Row>, StoreError> {
    let statement = client.prepare_cached(&query.text).await.map_err(failure)?;
    let params: Vec<&(dyn ToSql + Sync)> = query.params.iter().map(|value| value as _).collect();
    client.query(&statement, &params).await.map_err(failure)
}

pub(crate) async fn execute(
    client: &deadpool_postgres::ClientWrapper,
    text: &str,
    params: &[Value],
) -> Result<u64, StoreError> {
    let statement = client.prepare_cached(text).await.map_err(failure)?;
    let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as _).collect();
    client.execute(&statement, &params).await.map_err(failure)
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

/// Classes 08 (connection), 53 (resources), 57 (operator) and 40 (serialization, deadlock), and lock timeouts.
fn is_unavailable(code: &SqlState) -> bool {
    *code == SqlState::LOCK_NOT_AVAILABLE || matches!(code.code().get(..2), Some("08" | "53" | "57" | "40"))
}
