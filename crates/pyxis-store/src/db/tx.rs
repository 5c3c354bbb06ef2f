//! An interactive transaction.

use std::borrow::Cow;
use std::pin::Pin;

use pyxis_sqlite::Transaction;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::postgres;
use super::query::SqlQuery;
use super::row::FromRow;
use super::sqlite::{Session, session};
use super::{Executor, Rows};
use crate::store_metrics::METRICS;
use crate::{StoreError, StoreEvent};

/// Resolves when a commit is durable.
pub type Committing = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Statements that take effect together. Rolled back if dropped without [`Tx::commit`].
///
/// After a failed statement the transaction can only be dropped: `commit` then returns [`StoreError::Aborted`], on both
/// engines.
pub struct Tx {
    engine: Engine,
    events: Vec<StoreEvent>,
    bus: broadcast::Sender<StoreEvent>,
    failed: bool,
}

enum Engine {
    Sqlite(Transaction),
    Postgres(Box<postgres::Transaction>),
}

impl Tx {
    pub(crate) const fn sqlite(transaction: Transaction, bus: broadcast::Sender<StoreEvent>) -> Self {
        Self { engine: Engine::Sqlite(transaction), events: Vec::new(), bus, failed: false }
    }

    pub(crate) fn postgres(transaction: postgres::Transaction, bus: broadcast::Sender<StoreEvent>) -> Self {
        Self { engine: Engine::Postgres(Box::new(transaction)), events: Vec::new(), bus, failed: false }
    }

    /// Queues an event that is sent only if the transaction commits.
    pub fn notify(&mut self, event: StoreEvent) {
        self.events.push(event);
    }

    /// Makes everything durable, then sends the queued events.
    pub async fn commit(self) -> Result<(), StoreError> {
        if self.failed {
            return Err(StoreError::Aborted);
        }
        let began = Instant::now();
        match self.engine {
            Engine::Sqlite(transaction) => transaction.commit(announcing(self.events, self.bus)).await?,
            Engine::Postgres(transaction) => transaction.commit(&self.events).await?,
        }
        METRICS.commit.record(began.elapsed().as_secs_f64());
        Ok(())
    }

    /// Like [`commit`](Self::commit), but on SQLite it returns before everything is durable. Operations that begin
    /// afterwards see the changes, and are never durable without them.
    pub async fn commit_pipelined(self) -> Result<Committing, StoreError> {
        if self.failed {
            return Err(StoreError::Aborted);
        }
        match self.engine {
            Engine::Sqlite(transaction) => {
                let durable = transaction.commit_pipelined(announcing(self.events, self.bus))?;
                Ok(Box::pin(async { Ok(durable.await?) }))
            }
            Engine::Postgres(transaction) => {
                transaction.commit(&self.events).await?;
                Ok(Box::pin(std::future::ready(Ok(()))))
            }
        }
    }

    /// Runs several statements in one visit to the writer thread. Only for SQLite; see [`Tx::is_sqlite`].
    pub(crate) async fn on_sqlite<T: Send + 'static>(
        &mut self,
        step: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let outcome = match &self.engine {
            Engine::Sqlite(transaction) => transaction.run(session(step)).await,
            Engine::Postgres(_) => Err(StoreError::Schema("a SQLite step on PostgreSQL".to_owned())),
        };
        self.noted(outcome)
    }

    pub(crate) const fn is_sqlite(&self) -> bool {
        matches!(self.engine, Engine::Sqlite(_))
    }

    fn noted<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        self.failed |= outcome.is_err();
        outcome
    }
}

/// Sends events to subscribers, if any.
fn announcing(events: Vec<StoreEvent>, bus: broadcast::Sender<StoreEvent>) -> impl FnOnce() + Send + 'static {
    move || {
        for event in events {
            drop(bus.send(event));
        }
    }
}

impl Executor for &mut Tx {
    fn engine(&self) -> crate::Engine {
        if self.is_sqlite() { crate::Engine::Sqlite } else { crate::Engine::Postgres }
    }

    async fn optional<T: FromRow>(self, query: SqlQuery) -> Result<Option<T>, StoreError> {
        let outcome = match &self.engine {
            Engine::Sqlite(transaction) => {
                transaction.run(session(move |session| session.optional(&query))).await
            }
            Engine::Postgres(transaction) => transaction.optional(&query).await,
        };
        self.noted(outcome)
    }

    async fn all<T: FromRow>(self, query: SqlQuery) -> Result<Vec<T>, StoreError> {
        let outcome = match &self.engine {
            Engine::Sqlite(transaction) => transaction.run(session(move |session| session.all(&query))).await,
            Engine::Postgres(transaction) => transaction.all(&query).await,
        };
        self.noted(outcome)
    }

    async fn execute(self, query: SqlQuery) -> Result<u64, StoreError> {
        let outcome = match &self.engine {
            Engine::Sqlite(transaction) => {
                transaction.run(session(move |session| session.execute(&query))).await
            }
            Engine::Postgres(transaction) => transaction.execute(&query).await,
        };
        self.noted(outcome)
    }

    async fn returning<T: FromRow>(self, query: SqlQuery) -> Result<Vec<T>, StoreError> {
        self.all(query).await
    }

    async fn execute_each(self, text: Cow<'static, str>, rows: Rows) -> Result<u64, StoreError> {
        let outcome = match &self.engine {
            Engine::Sqlite(transaction) => {
                transaction.run(session(move |session| session.execute_each(&text, &rows))).await
            }
            Engine::Postgres(transaction) => transaction.execute_each(&text, &rows).await,
        };
        self.noted(outcome)
    }
}
