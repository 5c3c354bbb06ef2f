//! Appending for many at a time: whatever waits shares one commit, which waits for nobody.
//!
//! Records are handed over under one lock, by whoever makes them. A commit takes what waits at the moment when it is
//! its turn; with the end of one the next begins, on the thread that tells of the end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::append::{HEAD_LOCKED, append_after, append_on};
use super::{AuditKeys, AuditRecord};
use crate::db::sqlite::Session;
use crate::db::{Backend, sql};
use crate::error::Closed;
use crate::{Executor, Store, StoreError, generations};

/// How long a record that nobody waits for may wait for company.
const PATIENCE: Duration = Duration::from_millis(5);
/// Most records in one commit.
const GROUP: usize = 512;

/// The number of the record, or `None` where the configuration had moved on.
type Answer = oneshot::Sender<Result<Option<i64>, StoreError>>;

/// Something to append, and who waits for it.
struct Entry {
    /// `None`: nothing, but to know when all before it is stored.
    record: Option<AuditRecord>,
    /// The configuration that the record is true under; `None`: under any.
    generation: Option<i64>,
    answer: Option<Answer>,
    /// When it fails if it was not yet the turn of the commit that would take it.
    deadline: Instant,
}

/// Appends for everybody: takes all records that wait into one transaction. While somebody waits it
/// never waits for more.
///
/// Inside a transaction use [`append_in`](super::append_in): on SQLite the transaction holds the writer that this
/// one needs, so awaiting [`Appender::append`] there would wait for itself.
#[derive(Clone)]
pub struct Appender(Arc<Shared>);

impl std::fmt::Debug for Appender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Appender(..)")
    }
}

impl Appender {
    /// An appender whose commits are told of by the runtime that this is called in.
    pub fn start(store: Store, keys: AuditKeys) -> Self {
        let most = match store.backend() {
            // One that the disk works on, and one that SQLite does.
            Backend::Sqlite(_) => 2,
            Backend::Postgres(_) => 1,
        };
        Self(Arc::new(Shared {
            store,
            keys: Arc::new(keys),
            runtime: Handle::current(),
            most,
            waiting: Mutex::default(),
        }))
    }

    /// Appends and returns the sequence number once the record is durable.
    pub async fn append(&self, record: AuditRecord) -> Result<i64, StoreError> {
        self.ask(Some(record), None).await?.ok_or(StoreError::Aborted)
    }

    /// Appends only if the configuration is still of `generation` in the transaction that stores the
    /// record: what was decided from configuration in memory then stands. `None`: it is not, nothing
    /// was stored, decide again.
    pub async fn append_under(
        &self,
        record: AuditRecord,
        generation: i64,
    ) -> Result<Option<i64>, StoreError> {
        self.ask(Some(record), Some(generation)).await
    }

    async fn ask(
        &self,
        record: Option<AuditRecord>,
        generation: Option<i64>,
    ) -> Result<Option<i64>, StoreError> {
        let (answer, done) = oneshot::channel();
        self.0.hand_over(self.entry(record, generation, Some(answer)), false)?;
        done.await.map_err(|_| StoreError::unavailable(Closed))?
    }

    /// Hands a record over without waiting until it is durable, from where nothing can be awaited (a destructor).
    /// A failure to store it is logged.
    pub fn append_detached(&self, record: AuditRecord) {
        let entry = self.entry(Some(record), None, None);
        if let Err(error) = self.0.hand_over(entry, false) {
            tracing::error!(%error, "an audit record could not be stored");
        }
    }

    /// Returns when everything handed over before is stored.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.ask(None, None).await.map(drop)
    }

    /// Stores what waits; later appends are refused.
    pub async fn stop(&self) -> Result<(), StoreError> {
        let (answer, done) = oneshot::channel();
        self.0.hand_over(self.entry(None, None, Some(answer)), true)?;
        done.await.map_err(|_| StoreError::unavailable(Closed))?.map(drop)
    }

    fn entry(&self, record: Option<AuditRecord>, generation: Option<i64>, answer: Option<Answer>) -> Entry {
        Entry { record, generation, answer, deadline: self.0.store.deadline() }
    }
}

struct Shared {
    store: Store,
    keys: Arc<AuditKeys>,
    runtime: Handle,
    /// Most commits at a time. Each is stored after those that began before it.
    most: u32,
    waiting: Mutex<Waiting>,
}

/// What waits for a commit.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says something of its own")]
struct Waiting {
    entries: Vec<Entry>,
    /// True if somebody waits for one of them.
    urgent: bool,
    /// True if a commit will take them that has not had its turn.
    due: bool,
    /// Commits that have not ended.
    commits: u32,
    /// True if what is not urgent will be in a moment.
    patient: bool,
    closed: bool,
}

impl Waiting {
    /// What the next commit has in it.
    fn take(&mut self) -> Vec<Entry> {
        self.due = false;
        let later = self.entries.split_off(self.entries.len().min(GROUP));
        self.urgent = !later.is_empty();
        std::mem::replace(&mut self.entries, later)
    }

    /// What is late. The rest waits for the next commit.
    fn take_late(&mut self, now: Instant) -> Vec<Entry> {
        self.due = false;
        let (late, rest) =
            std::mem::take(&mut self.entries).into_iter().partition(|entry| entry.deadline <= now);
        self.entries = rest;
        self.urgent = !self.entries.is_empty();
        late
    }

    /// When the commit that comes next must have its turn.
    fn deadline(&self) -> Option<Instant> {
        self.entries.iter().map(|entry| entry.deadline).min()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_over(self: &Arc<Self>, entry: Entry, is_last: bool) -> Result<(), StoreError> {
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

    /// What nobody waits for costs no commit of its own: it goes along with the next record that somebody
    /// does wait for, unless none comes in time.
    async fn lose_patience(self: Arc<Self>) {
        tokio::time::sleep(PATIENCE).await;
        let mut waiting = self.lock();
        waiting.patient = false;
        waiting.urgent |= !waiting.entries.is_empty();
        self.go_on(waiting);
    }

    /// Begins a commit, if there is something for it and room.
    fn go_on(self: &Arc<Self>, mut waiting: MutexGuard<'_, Waiting>) {
        if !waiting.urgent || waiting.due || waiting.commits >= self.most {
            return;
        }
        waiting.due = true;
        waiting.commits += 1;
        let deadline = waiting.deadline().unwrap_or_else(|| self.store.deadline());
        // A store that is closed tells of the end at once, for which there must be no lock.
        drop(waiting);
        Commit { shared: Arc::clone(self), answers: Arc::default(), deadline }.start();
    }
}

/// The numbers of the entries of a commit: `Some` where a record was stored.
type Numbers = Vec<Option<i64>>;

/// One commit.
#[derive(Clone)]
struct Commit {
    shared: Arc<Shared>,
    /// Of the entries that it took. Whoever does the work and whoever tells of it are two.
    answers: Arc<Mutex<Vec<Option<Answer>>>>,
    /// That of the oldest entry.
    deadline: Instant,
}

impl Commit {
    fn start(self) {
        match self.shared.store.backend() {
            Backend::Sqlite(database) => {
                let worker = self.clone();
                let work = move |session: &Session<'_>| worker.on_sqlite(session);
                let end = End(Some(self.clone()));
                database.write_atomic_then(self.deadline, work, move |outcome| end.is(outcome));
            }
            Backend::Postgres(_) => {
                let (worker, end) = (self.clone(), End(Some(self.clone())));
                drop(self.shared.runtime.spawn(async move { end.is(worker.on_postgres().await) }));
            }
        }
    }

    /// Takes what waits.
    fn begin(&self) -> Vec<(Option<AuditRecord>, Option<i64>)> {
        let entries = self.shared.lock().take();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let split = |entry: Entry| {
            answers.push(entry.answer);
            (entry.record, entry.generation)
        };
        entries.into_iter().map(split).collect()
    }

    fn on_sqlite(&self, session: &Session<'_>) -> Result<Numbers, StoreError> {
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
        // The lock comes first. A change of configuration holds it while it commits: read before, the
        // generation could be that of the time before a change which was answered before this commit.
        let head = (&mut tx).optional(sql(HEAD_LOCKED)).await?;
        let generation = (&mut tx).optional(generations::query()).await?;
        let (records, mut numbers) = still_true(self.begin(), generation);
        if !records.is_empty() {
            number(&mut numbers, append_after(&mut tx, head, &self.shared.keys, records).await?);
        }
        tx.commit().await?;
        Ok(numbers)
    }

    /// Lets the next commit begin, and tells whoever waited for this one.
    fn ended(self, outcome: Result<Numbers, StoreError>) {
        let mut answers = std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        let mut waiting = self.shared.lock();
        if answers.is_empty() {
            // It never had its turn. What it would have taken has failed with it, unless that can wait for another.
            let is_busy = outcome.as_ref().is_err_and(StoreError::is_busy);
            let failed = if is_busy { waiting.take_late(Instant::now()) } else { waiting.take() };
            answers = failed.into_iter().map(|entry| entry.answer).collect();
        }
        waiting.commits -= 1;
        self.shared.go_on(waiting);
        // Told from there: whoever waits is then woken by a thread that runs them, and not one by one from outside.
        drop(self.shared.runtime.spawn(async move { tell(answers, outcome) }));
    }
}

/// Sees to it that a commit ends, also where whoever worked on it is gone.
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

/// The records to store, and a place for the number of each entry: `Some` where one is stored.
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

/// Nobody waiting any more is fine.
fn tell(answers: Vec<Option<Answer>>, outcome: Result<Numbers, StoreError>) {
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
            tracing::error!(%error, count, "audit records could not be stored");
            for answer in answers.into_iter().flatten() {
                drop(answer.send(Err(error.clone())));
            }
        }
    }
}
