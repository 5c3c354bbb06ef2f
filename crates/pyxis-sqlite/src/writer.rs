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
use tokio::sync::oneshot;
use tokio::time::Instant;

use queue::{Queue, QueuedJob};

use crate::Error;
use crate::checkpoints::Checkpoints;
use crate::connection::{BUSY_TIMEOUT, control};
use crate::durable::{SyncCallback, WalSync};
use crate::error::is_busy;
use crate::readers::Readers;

mod queue;

/// Longest pause between two attempts to begin while another process writes.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// Maximum jobs per commit, so that the first one does not wait indefinitely.
const GROUP: usize = 1024;

/// Runs inside the transaction, or receives the reason that there is none.
type Work = Box<dyn FnOnce(Result<&Connection, Error>) -> SyncCallback + Send>;
type Step = Box<dyn FnOnce(&Connection) + Send>;

enum Job {
    /// One step of a group commit.
    Work(Work),
    /// Like `Work`, but answered without waiting for the disk.
    Relaxed(Work),
    /// Runs outside any transaction.
    Aside(Step),
    /// An interactive transaction.
    Begin(oneshot::Sender<Result<Transaction, Error>>),
    /// Checkpoints the log into the file.
    CutLog(oneshot::Sender<()>),
}

impl Job {
    /// Tells the waiting caller why the job was not done. A job without a reply channel is dropped.
    fn refuse(self, why: Error) {
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
    /// Commit, then run the callback once that is durable, and answer.
    Commit {
        then: Box<dyn FnOnce() + Send>,
        answer: oneshot::Sender<Result<(), Error>>,
    },
}

/// An interactive transaction, which uses the writer thread exclusively. Dropping it rolls back.
pub struct Transaction {
    commands: Sender<Command>,
}

/// Sending side of the writer thread. The thread ends when it is dropped.
pub(crate) struct Writer {
    jobs: Sender<QueuedJob>,
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
    ) -> Result<Self, Error> {
        // The thread waits itself, so that it can refuse other jobs meanwhile.
        connection.busy_timeout(Duration::ZERO)?;
        let (jobs, incoming) = channel();
        let works = durable.health_flag();
        let queue = Queue::new(incoming, patience);
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || serve(connection, readers, checkpoints, durable, queue))?;
        Ok(Self { jobs, thread, works, patience })
    }

    /// Returns an error if nothing can be written until a restart.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        check_flag(&self.works)
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
    pub(crate) async fn run<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (work, done) = answering(work);
        self.submit(Job::Work(work))?;
        received(done).await
    }

    /// Like [`run`](Self::run), but returns once a process crash can no longer undo the work; a power failure still
    /// can.
    pub(crate) async fn run_relaxed<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (work, done) = answering(work);
        self.submit(Job::Relaxed(work))?;
        received(done).await
    }

    /// Like [`run`](Self::run), but calls `then` with the result on another thread, once durable.
    pub(crate) fn run_then<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        deadline: Instant,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        then: impl FnOnce(Result<T, E>) + Send + 'static,
    ) {
        if let Err(refused) = self.jobs.send(QueuedJob { job: Job::Work(telling(work, then)), deadline }) {
            refused.0.job.refuse(Error::Closed);
        }
    }

    /// Runs `step` on the writer connection, outside any transaction.
    pub(crate) async fn run_outside_tx<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        step: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (answer, done) = oneshot::channel();
        self.submit(Job::Aside(Box::new(move |connection| drop(answer.send(step(connection))))))?;
        received(done).await
    }

    /// Reserves the thread for an interactive transaction, until `deadline`.
    pub(crate) async fn begin(&self, deadline: Instant) -> Result<Transaction, Error> {
        let (answer, begun) = oneshot::channel();
        self.hand_over(QueuedJob { job: Job::Begin(answer), deadline })?;
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

    fn submit(&self, job: Job) -> Result<(), Error> {
        self.hand_over(QueuedJob { job, deadline: Instant::now() + self.patience })
    }

    fn hand_over(&self, entry: QueuedJob) -> Result<(), Error> {
        self.jobs.send(entry).map_err(|_| Error::Closed)
    }
}

impl Transaction {
    /// Runs `step` inside the transaction.
    pub async fn run<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        step: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (answer, done) = oneshot::channel();
        self.send(Command::Step(Box::new(move |connection| drop(answer.send(step(connection))))))?;
        received(done).await
    }

    /// Runs `step` and commits if it succeeds.
    pub async fn finish<T: Send + 'static, E: From<Error> + Send + 'static>(
        self,
        step: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let value = self.run(step).await?;
        self.commit(|| ()).await?;
        Ok(value)
    }

    /// Commits. `then` is called on another thread once that is durable, even if the caller stops waiting.
    pub async fn commit(self, then: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        self.commit_pipelined(then)?.await
    }

    /// Like [`commit`](Self::commit), but the next transaction may begin before this one is durable.
    pub fn commit_pipelined(
        self,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<impl Future<Output = Result<(), Error>> + Send + 'static, Error> {
        let (answer, done) = oneshot::channel();
        self.send(Command::Commit { then: Box::new(then), answer })?;
        Ok(received(done))
    }

    fn send(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).map_err(|_| Error::Closed)
    }
}

/// Work whose result is sent once the commit has succeeded or failed.
fn answering<T: Send + 'static, E: From<Error> + Send + 'static>(
    work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
) -> (Work, oneshot::Receiver<Result<T, E>>) {
    let (answer, done) = oneshot::channel();
    (telling(work, move |outcome| drop(answer.send(outcome))), done)
}

/// Work whose result, with that of its commit, is passed to `then`.
fn telling<T: Send + 'static, E: From<Error> + Send + 'static>(
    work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    then: impl FnOnce(Result<T, E>) + Send + 'static,
) -> Work {
    Box::new(move |connection| {
        let outcome = connection.map_err(E::from).and_then(work);
        Box::new(move |committed| then(committed.map_err(E::from).and(outcome)))
    })
}

async fn received<T, E: From<Error>>(answer: oneshot::Receiver<Result<T, E>>) -> Result<T, E> {
    answer.await.map_err(|_| Error::Closed)?
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
    let place =
        WriterContext { connection: &connection, readers: &readers, durable: &durable, works: &works };
    while let Some(QueuedJob { job, deadline }) = queue.next() {
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

fn check_flag(flag: &AtomicBool) -> Result<(), Error> {
    if flag.load(Ordering::Acquire) { Ok(()) } else { Err(Error::Closed) }
}

/// The writing connection, with the callers waiting for its commits.
#[derive(Clone, Copy)]
struct WriterContext<'c> {
    connection: &'c Connection,
    readers: &'c Readers,
    durable: &'c WalSync,
    works: &'c AtomicBool,
}

/// Callers waiting for a commit.
#[derive(Default)]
struct PendingCallbacks {
    for_disk: Vec<SyncCallback>,
    for_commit: Vec<SyncCallback>,
}

impl PendingCallbacks {
    /// Executes a job, unless it needs the thread exclusively; then the job is returned.
    fn execute_job(&mut self, job: Job, connection: &Connection) -> Option<Job> {
        match job {
            Job::Work(work) => self.for_disk.push(work(Ok(connection))),
            Job::Relaxed(work) => self.for_commit.push(work(Ok(connection))),
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
        let mut waiting = PendingCallbacks::default();
        let mut next = Some(QueuedJob { job: first, deadline });
        while let Some(QueuedJob { job, deadline }) = next {
            if let Some(job) = waiting.execute_job(job, self.connection) {
                queue.put_back(QueuedJob { job, deadline });
                break;
            }
            // If the engine rolled back on its own (full disk), the transaction is over, so stop.
            let is_over = waiting.count() >= GROUP || self.connection.is_autocommit();
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
    fn begin(self, deadline: Instant, queue: &mut Queue) -> Result<(), Error> {
        let mut pause = Duration::from_millis(1);
        loop {
            // No write is better than one that only appears to be safe.
            check_flag(self.works)?;
            match control(self.connection, "BEGIN IMMEDIATE") {
                Err(error) if is_busy(&error) => {}
                begun => return Ok(begun?),
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(Error::Busy);
            }
            queue.wait(deadline.min(now + pause));
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// Runs a step that may have to wait for another process.
    fn step_aside(self, step: Step) {
        if let Err(error) = self.connection.busy_timeout(BUSY_TIMEOUT) {
            tracing::warn!(%error, "a step will not wait for another process");
        }
        step(self.connection);
        if let Err(error) = self.connection.busy_timeout(Duration::ZERO) {
            tracing::warn!(%error, "the writer waits in SQLite");
        }
    }

    fn finish(self) -> Result<(), Error> {
        if self.connection.is_autocommit() {
            return Err(Error::RolledBack);
        }
        control(self.connection, "COMMIT").inspect_err(|_| self.roll_back())?;
        self.readers.committed();
        Ok(())
    }

    fn roll_back(self) {
        if !self.connection.is_autocommit()
            && let Err(error) = control(self.connection, "ROLLBACK")
        {
            tracing::error!(%error, "cannot roll back");
        }
    }

    fn run_transaction(
        self,
        answer: oneshot::Sender<Result<Transaction, Error>>,
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
        drop(answer.send(Ok(Transaction { commands })));
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
                Command::Step(step) => step(self.connection),
                Command::Commit { then, answer } => {
                    let tell = move |durable: Result<(), Error>| {
                        if durable.is_ok() {
                            then();
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
