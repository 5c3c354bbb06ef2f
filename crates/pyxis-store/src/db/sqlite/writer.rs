//! The only thread that writes to a SQLite file.
//!
//! All waiting jobs go into one transaction, so that many callers share one commit. The thread waits neither for
//! further jobs nor for the disk. An interactive transaction uses the thread exclusively.
//!
//! Each job has a deadline, counted from its submission. While another process writes to the file, or a transaction
//! uses the thread, jobs past their deadline are refused, however many wait before them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{broadcast, oneshot};
use tokio::time::Instant;

use queue::{Entry, Queue};

use super::Session;
use super::checkpoints::Checkpoints;
use super::durable::{SyncCallback, WalSync};
use super::readers::Readers;
use super::{BUSY_TIMEOUT, failure};
use crate::error::{Busy, Closed, is_busy};
use crate::{StoreError, StoreEvent};

mod queue;

/// Longest pause between two attempts to begin while another process writes.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// Maximum jobs per commit, so that the first one does not wait indefinitely.
const GROUP: usize = 1024;

/// Runs inside the transaction, or receives the reason that there is none.
type Work = Box<dyn FnOnce(Result<&Session<'_>, StoreError>) -> SyncCallback + Send>;
type Step = Box<dyn FnOnce(&Session<'_>) + Send>;

enum Job {
    /// One step of a group commit.
    Work(Work),
    /// Like `Work`, but answered without waiting for the disk.
    Relaxed(Work),
    /// Runs outside any transaction.
    Aside(Step),
    /// An interactive transaction.
    Begin(oneshot::Sender<Result<Interactive, StoreError>>),
    /// Checkpoints the log into the file.
    CutLog(oneshot::Sender<()>),
}

impl Job {
    /// Tells the waiting caller why the job was not done. A job without a reply channel is dropped.
    fn refuse(self, why: StoreError) {
        match self {
            Self::Work(work) | Self::Relaxed(work) => work(Err(why))(Ok(())),
            Self::Begin(answer) => drop(answer.send(Err(why))),
            Self::Aside(_) | Self::CutLog(_) => {}
        }
    }

    /// False for jobs without a transaction, which wait for no other process.
    const fn can_be_refused(&self) -> bool {
        matches!(self, Self::Work(_) | Self::Relaxed(_) | Self::Begin(_))
    }
}

enum Command {
    Step(Step),
    Commit {
        events: Vec<StoreEvent>,
        bus: broadcast::Sender<StoreEvent>,
        answer: oneshot::Sender<Result<(), StoreError>>,
    },
}

/// Sending side of an interactive transaction. Dropping it rolls back.
pub(crate) struct Interactive {
    commands: Sender<Command>,
}

/// Sending side of the writer thread. The thread ends when it is dropped.
pub(crate) struct Writer {
    jobs: Sender<Entry>,
    thread: JoinHandle<()>,
    works: Arc<AtomicBool>,
    patience: Duration,
}

impl Writer {
    pub(crate) fn start(
        connection: Connection,
        readers: Arc<Readers>,
        checkpoints: Checkpoints,
        durable: WalSync,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        // The thread waits itself, so that it can refuse other jobs meanwhile.
        connection.busy_timeout(Duration::ZERO).map_err(failure)?;
        let (jobs, incoming) = channel();
        let works = durable.health_flag();
        let queue = Queue::new(incoming, patience);
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || serve(connection, readers, checkpoints, durable, queue))
            .map_err(StoreError::unavailable)?;
        Ok(Self { jobs, thread, works, patience })
    }

    /// Returns an error if nothing can be written until a restart.
    pub(crate) fn works(&self) -> Result<(), StoreError> {
        works(&self.works)
    }

    /// Ends the thread and waits until its connection is closed. Not done on drop: an open transaction uses the thread,
    /// and the caller of drop may be its owner.
    pub(crate) fn close(self) {
        drop(self.jobs);
        if self.thread.join().is_err() {
            tracing::error!("the writer thread had panicked");
        }
    }

    /// Runs `work` in the next group commit. Returns once it is durable.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = answering(work);
        self.submit(Job::Work(work))?;
        received(done).await
    }

    /// Like [`run`](Self::run), but returns once a process crash can no longer undo the work; a power failure still
    /// can.
    pub(crate) async fn run_relaxed<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = answering(work);
        self.submit(Job::Relaxed(work))?;
        received(done).await
    }

    /// Like [`run`](Self::run), but calls `then` with the result on another thread, once durable.
    pub(crate) fn run_then<T: Send + 'static>(
        &self,
        deadline: Instant,
        work: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
        then: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        if let Err(refused) = self.jobs.send(Entry { job: Job::Work(telling(work, then)), deadline }) {
            refused.0.job.refuse(StoreError::unavailable(Closed));
        }
    }

    /// Runs `step` on the writer connection, outside any transaction.
    pub(crate) async fn run_outside_tx<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, done) = oneshot::channel();
        self.submit(Job::Aside(Box::new(move |session| drop(answer.send(step(session))))))?;
        received(done).await
    }

    /// Reserves the thread for an interactive transaction, until `deadline`.
    pub(crate) async fn begin(&self, deadline: Instant) -> Result<Interactive, StoreError> {
        let (answer, begun) = oneshot::channel();
        self.hand_over(Entry { job: Job::Begin(answer), deadline })?;
        received(begun).await
    }

    /// Checkpoints the log into the file and frees its space, as far as possible at the moment.
    pub(crate) async fn cut_log(&self) {
        let (answer, done) = oneshot::channel();
        if self.submit(Job::CutLog(answer)).is_ok() {
            // Without an answer the thread has ended and its connection is closed.
            let _ = done.await;
        }
    }

    fn submit(&self, job: Job) -> Result<(), StoreError> {
        self.hand_over(Entry { job, deadline: Instant::now() + self.patience })
    }

    fn hand_over(&self, entry: Entry) -> Result<(), StoreError> {
        self.jobs.send(entry).map_err(|_| StoreError::unavailable(Closed))
    }
}

impl Interactive {
    /// Runs `step` inside the transaction.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, done) = oneshot::channel();
        self.send(Command::Step(Box::new(move |session| drop(answer.send(step(session))))))?;
        received(done).await
    }

    /// Runs `step` and commits if it succeeds.
    pub(crate) async fn finish<T: Send + 'static>(
        self,
        step: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let value = self.run(step).await?;
        self.commit(Vec::new(), broadcast::channel(1).0).await?;
        Ok(value)
    }

    /// Commits and then announces `events`, even if the caller stops waiting.
    pub(crate) async fn commit(
        self,
        events: Vec<StoreEvent>,
        bus: broadcast::Sender<StoreEvent>,
    ) -> Result<(), StoreError> {
        self.commit_ahead(events, bus)?.await
    }

    /// Like [`commit`](Self::commit), but the next transaction may begin before this one is durable.
    pub(crate) fn commit_ahead(
        self,
        events: Vec<StoreEvent>,
        bus: broadcast::Sender<StoreEvent>,
    ) -> Result<impl Future<Output = Result<(), StoreError>> + Send + 'static, StoreError> {
        let (answer, done) = oneshot::channel();
        self.send(Command::Commit { events, bus, answer })?;
        Ok(received(done))
    }

    fn send(&self, command: Command) -> Result<(), StoreError> {
        self.commands.send(command).map_err(|_| StoreError::unavailable(Closed))
    }
}

/// Work whose result is sent once the commit has succeeded or failed.
fn answering<T: Send + 'static>(
    work: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
) -> (Work, oneshot::Receiver<Result<T, StoreError>>) {
    let (answer, done) = oneshot::channel();
    (telling(work, move |outcome| drop(answer.send(outcome))), done)
}

/// Work whose result, with that of its commit, is passed to `then`.
fn telling<T: Send + 'static>(
    work: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    then: impl FnOnce(Result<T, StoreError>) + Send + 'static,
) -> Work {
    Box::new(move |session| {
        let outcome = session.and_then(work);
        Box::new(move |committed| then(committed.and(outcome)))
    })
}

async fn received<T>(answer: oneshot::Receiver<Result<T, StoreError>>) -> Result<T, StoreError> {
    answer.await.map_err(|_| StoreError::unavailable(Closed))?
}

#[expect(clippy::needless_pass_by_value, reason = "the thread closes what it was given")]
fn serve(
    connection: Connection,
    readers: Arc<Readers>,
    mut checkpoints: Checkpoints,
    durable: WalSync,
    mut queue: Queue,
) {
    let works = durable.health_flag();
    let place = WriterContext {
        session: &Session::new(&connection),
        readers: &readers,
        durable: &durable,
        works: &works,
    };
    while let Some(Entry { job, deadline }) = queue.next() {
        match job {
            Job::Aside(step) => place.step_aside(step),
            Job::Begin(answer) => place.run_transaction(answer, deadline, &mut queue),
            Job::CutLog(answer) => {
                checkpoints.cut_log(&connection, &readers);
                let _ = answer.send(());
            }
            Job::Work(_) | Job::Relaxed(_) => place.commit_group(job, deadline, &mut queue),
        }
        if works.load(Ordering::Acquire) {
            checkpoints.after_commit(&connection, &readers);
        }
    }
    checkpoints.close();
    durable.close();
    // Data that may be missing from the log must not get into the file in part.
    if !works.load(Ordering::Acquire)
        && let Err(error) = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
    {
        tracing::error!(%error, "the log may be moved into the file in part");
    }
}

fn works(flag: &AtomicBool) -> Result<(), StoreError> {
    if flag.load(Ordering::Acquire) { Ok(()) } else { Err(StoreError::unavailable(Closed)) }
}

/// The writing connection, with the callers waiting for its commits.
#[derive(Clone, Copy)]
struct WriterContext<'c> {
    session: &'c Session<'c>,
    readers: &'c Readers,
    durable: &'c WalSync,
    works: &'c AtomicBool,
}

/// Callers waiting for a commit.
#[derive(Default)]
struct Waiting {
    for_disk: Vec<SyncCallback>,
    for_commit: Vec<SyncCallback>,
}

impl Waiting {
    /// Executes a job, unless it needs the thread exclusively; then the job is returned.
    fn take(&mut self, job: Job, session: &Session<'_>) -> Option<Job> {
        match job {
            Job::Work(work) => self.for_disk.push(work(Ok(session))),
            Job::Relaxed(work) => self.for_commit.push(work(Ok(session))),
            other => return Some(other),
        }
        None
    }

    fn count(&self) -> usize {
        self.for_disk.len() + self.for_commit.len()
    }

    fn all(self) -> impl Iterator<Item = SyncCallback> {
        self.for_disk.into_iter().chain(self.for_commit)
    }
}

impl WriterContext<'_> {
    /// Commits `first` and the jobs waiting behind it, up to a job of another kind.
    fn commit_group(self, first: Job, deadline: Instant, queue: &mut Queue) {
        if let Err(error) = self.begin(deadline, queue) {
            first.refuse(error);
            return;
        }
        let mut waiting = Waiting::default();
        let mut next = Some(Entry { job: first, deadline });
        while let Some(Entry { job, deadline }) = next {
            if let Some(job) = waiting.take(job, self.session) {
                queue.put_back(Entry { job, deadline });
                break;
            }
            // If the engine rolled back on its own (full disk), the transaction is over, so stop.
            let is_over = waiting.count() >= GROUP || self.session.connection().is_autocommit();
            next = if is_over { None } else { queue.next_at_once() };
        }
        if let Err(error) = self.finish() {
            waiting.all().for_each(|answer| answer(Err(error.clone())));
            return;
        }
        waiting.for_commit.into_iter().for_each(|answer| answer(Ok(())));
        if !waiting.for_disk.is_empty() {
            self.durable.on_synced(waiting.for_disk);
        }
    }

    /// Begins a transaction as soon as no other process writes. Tries at least once, and until `deadline`. Jobs that
    /// reach their own deadline meanwhile are refused.
    fn begin(self, deadline: Instant, queue: &mut Queue) -> Result<(), StoreError> {
        let mut pause = Duration::from_millis(1);
        loop {
            // No write is better than one that only appears to be safe.
            works(self.works)?;
            match self.session.control("BEGIN IMMEDIATE") {
                Err(error) if is_busy(&error) => {}
                begun => return begun,
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(StoreError::unavailable(Busy));
            }
            queue.wait(deadline.min(now + pause));
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// Runs a step that may have to wait for another process.
    fn step_aside(self, step: Step) {
        let connection = self.session.connection();
        if let Err(error) = connection.busy_timeout(BUSY_TIMEOUT) {
            tracing::warn!(%error, "a step will not wait for another process");
        }
        step(self.session);
        if let Err(error) = connection.busy_timeout(Duration::ZERO) {
            tracing::warn!(%error, "the writer waits in SQLite");
        }
    }

    fn finish(self) -> Result<(), StoreError> {
        if self.session.connection().is_autocommit() {
            return Err(StoreError::Aborted);
        }
        self.session.control("COMMIT").inspect_err(|_| self.roll_back())?;
        self.readers.committed();
        Ok(())
    }

    fn roll_back(self) {
        if !self.session.connection().is_autocommit()
            && let Err(error) = self.session.control("ROLLBACK")
        {
            tracing::error!(%error, "cannot roll back");
        }
    }

    fn run_transaction(
        self,
        answer: oneshot::Sender<Result<Interactive, StoreError>>,
        deadline: Instant,
        queue: &mut Queue,
    ) {
        if answer.is_closed() {
            return;
        }
        if let Err(error) = self.begin(deadline, queue) {
            drop(answer.send(Err(error)));
            return;
        }
        let (commands, steps) = channel();
        drop(answer.send(Ok(Interactive { commands })));
        let look_every = queue.patience() / 16;
        let mut next_look = Instant::now() + look_every;
        loop {
            // Deadlines are also checked between consecutive steps.
            let now = Instant::now();
            if now >= next_look {
                queue.wait(now);
                next_look = now + look_every;
            }
            let command = match steps.recv_timeout(next_look.saturating_duration_since(now)) {
                Ok(command) => command,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match command {
                Command::Step(step) => step(self.session),
                Command::Commit { events, bus, answer } => {
                    let tell = move |durable: Result<(), StoreError>| {
                        if durable.is_ok() {
                            // An event without subscribers is not an error.
                            for event in events {
                                drop(bus.send(event));
                            }
                        }
                        drop(answer.send(durable));
                    };
                    match self.finish() {
                        Ok(()) => self.durable.on_synced(vec![Box::new(tell)]),
                        Err(error) => tell(Err(error)),
                    }
                    return;
                }
            }
        }
        self.roll_back();
    }
}

#[cfg(test)]
mod tests;
