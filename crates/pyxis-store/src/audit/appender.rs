//! Group commit for audit records: all waiting records share one commit, which waits for no further ones.
//!
//! Callers hand records over under one lock. A commit takes whatever is waiting when its turn comes. When a commit
//! ends, the next one begins, on the thread that reports the end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::append::{HEAD_LOCKED, append_after, append_on};
use super::{AuditKeys, AuditRecord};
use crate::db::sqlite::{Session, session};
use crate::db::{Backend, sql};
use crate::error::Closed;
use crate::store_metrics::METRICS;
use crate::{Executor, Store, StoreError, generations};

/// Time that a record may wait for others if no one awaits it.
const MAX_DELAY: Duration = Duration::from_millis(5);
/// Maximum number of records in one commit.
const GROUP: usize = 512;

/// Record number, or `None` if the configuration had changed.
type AppendReply = oneshot::Sender<Result<Option<i64>, StoreError>>;

/// A pending entry and its waiting caller.
struct PendingAppend {
    /// Record to append. `None` only waits until everything before it is stored.
    record: Option<AuditRecord>,
    /// Configuration generation that the record depends on; `None` for any.
    generation: Option<i64>,
    answer: Option<AppendReply>,
    /// Time at which the entry fails unless its commit has had its turn.
    deadline: Instant,
}

/// Appends for all callers, with all waiting records in one transaction. It never delays a record that someone awaits.
///
/// Inside a transaction use [`append_in`](super::append_in). On SQLite the transaction holds the writer that this one
/// needs, so awaiting [`Appender::append`] there would deadlock.
#[derive(Clone)]
pub struct Appender(Arc<AppenderState>);

impl std::fmt::Debug for Appender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Appender(..)")
    }
}

impl Appender {
    /// Starts an appender that reports the end of commits on the current runtime.
    pub fn start(store: Store, keys: AuditKeys) -> Self {
        let most = match store.backend() {
            // Two: one waits for the disk while SQLite runs the other.
            Backend::Sqlite(_) => 2,
            Backend::Postgres(_) => 1,
        };
        Self(Arc::new(AppenderState {
            store,
            keys: Arc::new(keys),
            runtime: Handle::current(),
            most,
            waiting: Mutex::default(),
        }))
    }

    /// Appends a record. Returns its sequence number once it is durable.
    pub async fn append(&self, record: AuditRecord) -> Result<i64, StoreError> {
        self.enqueue(Some(record), None).await?.ok_or(StoreError::Aborted)
    }

    /// Appends only if the configuration is still at `generation` in the transaction that stores the record. A decision
    /// based on cached configuration is then still valid. On `None` nothing was stored, so decide again.
    pub async fn append_under(
        &self,
        record: AuditRecord,
        generation: i64,
    ) -> Result<Option<i64>, StoreError> {
        self.enqueue(Some(record), Some(generation)).await
    }

    async fn enqueue(
        &self,
        record: Option<AuditRecord>,
        generation: Option<i64>,
    ) -> Result<Option<i64>, StoreError> {
        let (answer, done) = oneshot::channel();
        let began = record.is_some().then(Instant::now);
        self.0.hand_over(self.entry(record, generation, Some(answer)), false)?;
        let stored = done.await.map_err(|_| StoreError::unavailable(Closed))?;
        if let (Some(began), Ok(Some(_))) = (began, &stored) {
            METRICS.append.record(began.elapsed().as_secs_f64());
        }
        stored
    }

    /// Number of records waiting for a commit.
    pub fn queued(&self) -> usize {
        self.0.lock().entries.len()
    }

    /// Hands a record over without waiting for durability, for places that cannot await, such as destructors. Failures
    /// are logged.
    pub fn append_detached(&self, record: AuditRecord) {
        let entry = self.entry(Some(record), None, None);
        if let Err(error) = self.0.hand_over(entry, false) {
            tracing::error!(%error, "cannot store an audit record");
        }
    }

    /// Waits until everything handed over before is stored.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.enqueue(None, None).await.map(drop)
    }

    /// Stores all waiting records. Later appends are refused.
    pub async fn stop(&self) -> Result<(), StoreError> {
        let (answer, done) = oneshot::channel();
        self.0.hand_over(self.entry(None, None, Some(answer)), true)?;
        done.await.map_err(|_| StoreError::unavailable(Closed))?.map(drop)
    }

    fn entry(
        &self,
        record: Option<AuditRecord>,
        generation: Option<i64>,
        answer: Option<AppendReply>,
    ) -> PendingAppend {
        PendingAppend { record, generation, answer, deadline: self.0.store.deadline() }
    }
}

struct AppenderState {
    store: Store,
    keys: Arc<AuditKeys>,
    runtime: Handle,
    /// Maximum concurrent commits. Each is stored after those that began before it.
    most: u32,
    waiting: Mutex<AppendQueue>,
}

/// Entries waiting for a commit.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says something of its own")]
struct AppendQueue {
    entries: Vec<PendingAppend>,
    /// True if a caller awaits one of the entries.
    urgent: bool,
    /// True if a commit that will take them has not had its turn yet.
    due: bool,
    /// Number of unfinished commits.
    commits: u32,
    /// True if a timer will soon make the rest urgent.
    patient: bool,
    closed: bool,
}

impl AppendQueue {
    /// Takes the entries of the next commit.
    fn take(&mut self) -> Vec<PendingAppend> {
        self.due = false;
        let later = self.entries.split_off(self.entries.len().min(GROUP));
        self.urgent = !later.is_empty();
        std::mem::replace(&mut self.entries, later)
    }

    /// Takes the entries past their deadline. The rest waits for the next commit.
    fn take_late(&mut self, now: Instant) -> Vec<PendingAppend> {
        self.due = false;
        let (late, rest) =
            std::mem::take(&mut self.entries).into_iter().partition(|entry| entry.deadline <= now);
        self.entries = rest;
        self.urgent = !self.entries.is_empty();
        late
    }

    /// Time by which the next commit must have its turn.
    fn deadline(&self) -> Option<Instant> {
        self.entries.iter().map(|entry| entry.deadline).min()
    }
}

impl AppenderState {
    fn lock(&self) -> MutexGuard<'_, AppendQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_over(self: &Arc<Self>, entry: PendingAppend, is_last: bool) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::unavailable(Closed));
        }
        waiting.closed = is_last;
        waiting.urgent |= entry.answer.is_some();
        waiting.entries.push(entry);
        if !waiting.urgent && !waiting.due && !waiting.patient {
            waiting.patient = true;
            drop(self.runtime.spawn(Arc::clone(self).lose_patience()));
        }
        self.go_on(waiting);
        Ok(())
    }

    /// Waits for an urgent record to share a commit with, so that records no one awaits do not cost a separate one.
    /// Commits anyway after a short time.
    async fn lose_patience(self: Arc<Self>) {
        tokio::time::sleep(MAX_DELAY).await;
        let mut waiting = self.lock();
        waiting.patient = false;
        waiting.urgent |= !waiting.entries.is_empty();
        self.go_on(waiting);
    }

    /// Begins a commit if there are entries and capacity.
    fn go_on(self: &Arc<Self>, mut waiting: MutexGuard<'_, AppendQueue>) {
        if !waiting.urgent || waiting.due || waiting.commits >= self.most {
            return;
        }
        waiting.due = true;
        waiting.commits += 1;
        let deadline = waiting.deadline().unwrap_or_else(|| self.store.deadline());
        // A closed store reports the end immediately, so the lock must not be held here.
        drop(waiting);
        Commit { shared: Arc::clone(self), answers: Arc::default(), deadline }.start();
    }
}

/// Record numbers of a commit's entries: `Some` where a record was stored.
type Numbers = Vec<Option<i64>>;

/// A commit in progress.
#[derive(Clone)]
struct Commit {
    shared: Arc<AppenderState>,
    /// Channels of the entries taken. Shared by the worker and by the code that reports the result.
    answers: Arc<Mutex<Vec<Option<AppendReply>>>>,
    /// Deadline of the oldest entry.
    deadline: Instant,
}

impl Commit {
    fn start(self) {
        match self.shared.store.backend() {
            Backend::Sqlite(database) => {
                let worker = self.clone();
                let work = move |session: &Session<'_>| worker.on_sqlite(session);
                let end = End(Some(self.clone()));
                database.write_atomic_then(self.deadline, session(work), move |outcome| end.is(outcome));
            }
            Backend::Postgres(_) => {
                let (worker, end) = (self.clone(), End(Some(self.clone())));
                drop(self.shared.runtime.spawn(async move { end.is(worker.on_postgres().await) }));
            }
        }
    }

    /// Takes the waiting entries.
    fn begin(&self) -> Vec<(Option<AuditRecord>, Option<i64>)> {
        let entries = self.shared.lock().take();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let split = |entry: PendingAppend| {
            answers.push(entry.answer);
            (entry.record, entry.generation)
        };
        entries.into_iter().map(split).collect()
    }

    fn on_sqlite(&self, session: &Session<'_>) -> Result<Numbers, StoreError> {
        self.shared.store.usable()?;
        let entries = self.begin();
        let generation = session.optional(&generations::query())?;
        let (records, mut numbers) = still_true(entries, generation);
        if !records.is_empty() {
            number(&mut numbers, append_on(session, &self.shared.keys, records)?);
        }
        Ok(numbers)
    }

    async fn on_postgres(&self) -> Result<Numbers, StoreError> {
        let mut tx = self.shared.store.begin_by(self.deadline).await?;
        // The lock comes first. A configuration change holds it while it commits. If the generation were read before
        // the lock, it could predate a change that was acknowledged before this commit.
        let head = (&mut tx).optional(sql(HEAD_LOCKED)).await?;
        let generation = (&mut tx).optional(generations::query()).await?;
        let (records, mut numbers) = still_true(self.begin(), generation);
        if !records.is_empty() {
            number(&mut numbers, append_after(&mut tx, head, &self.shared.keys, records).await?);
        }
        tx.commit().await?;
        Ok(numbers)
    }

    /// Lets the next commit begin, and informs the callers that awaited this one.
    fn ended(self, outcome: Result<Numbers, StoreError>) {
        let mut answers = std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        let mut waiting = self.shared.lock();
        if answers.is_empty() {
            // The commit never had its turn. Entries that it would have taken fail with it, unless they can wait for
            // another one.
            let is_busy = outcome.as_ref().is_err_and(StoreError::is_busy);
            let failed = if is_busy { waiting.take_late(Instant::now()) } else { waiting.take() };
            answers = failed.into_iter().map(|entry| entry.answer).collect();
        }
        waiting.commits -= 1;
        self.shared.go_on(waiting);
        // Answered from a runtime task, so that a runtime thread wakes the callers, and not one by one from outside.
        drop(self.shared.runtime.spawn(async move { send_replies(answers, outcome) }));
    }
}

/// Ends a commit even if its worker is gone.
struct End(Option<Commit>);

impl End {
    fn is(mut self, outcome: Result<Numbers, StoreError>) {
        if let Some(commit) = self.0.take() {
            commit.ended(outcome);
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if let Some(commit) = self.0.take() {
            commit.ended(Err(StoreError::unavailable(Closed)));
        }
    }
}

/// Records to store, and one result slot per entry: `Some` where a record is stored.
fn still_true(
    entries: Vec<(Option<AuditRecord>, Option<i64>)>,
    generation: Option<(i64,)>,
) -> (Vec<AuditRecord>, Numbers) {
    let now = generation.map(|(generation,)| generation);
    let mut records = Vec::with_capacity(entries.len());
    let mut numbers = Vec::with_capacity(entries.len());
    for (record, under) in entries {
        let record = record.filter(|_| under.is_none() || under == now);
        numbers.push(record.as_ref().map(|_| 0));
        records.extend(record);
    }
    (records, numbers)
}

fn number(numbers: &mut [Option<i64>], first: i64) {
    for (seq, number) in (first..).zip(numbers.iter_mut().flatten()) {
        *number = seq;
    }
}

/// Callers that stopped waiting are ignored.
fn send_replies(answers: Vec<Option<AppendReply>>, outcome: Result<Numbers, StoreError>) {
    match outcome {
        Ok(numbers) => {
            for (answer, number) in answers.into_iter().zip(numbers) {
                if let Some(answer) = answer {
                    drop(answer.send(Ok(number)));
                }
            }
        }
        Err(error) => {
            let count = answers.len();
            METRICS.append_failures.increment(count as u64);
            tracing::error!(%error, count, "cannot store audit records");
            for answer in answers.into_iter().flatten() {
                drop(answer.send(Err(error.clone())));
            }
        }
    }
}
