//! The one thread that writes to a SQLite file.
//!
//! Everything that waits is taken into one transaction, so that many callers share one commit; the
//! thread never waits for more to come. An interactive transaction has the thread for itself.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{broadcast, oneshot};

use super::sqlite::Session;
use crate::error::Closed;
use crate::{Event, StoreError};

/// Most jobs in one commit, so that the first of them does not wait without bound.
const GROUP: usize = 1024;

/// Answers the caller once it is known whether the commit succeeded.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Runs inside the transaction, or learns why there is none.
type Work = Box<dyn FnOnce(Result<&Session<'_>, StoreError>) -> Answer + Send>;
type Step = Box<dyn FnOnce(&Session<'_>) + Send>;

enum Job {
    /// One step of a group commit.
    Work(Work),
    /// The same, where a commit need not wait for the disk.
    Relaxed(Work),
    /// Runs outside of any transaction.
    Aside(Step),
    /// An interactive transaction.
    Begin(oneshot::Sender<Result<Interactive, StoreError>>),
}

enum Command {
    Step(Step),
    Commit {
        events: Vec<Event>,
        bus: broadcast::Sender<Event>,
        answer: oneshot::Sender<Result<(), StoreError>>,
    },
}

/// The sending side of an interactive transaction; dropping it rolls back.
pub(crate) struct Interactive {
    commands: Sender<Command>,
}

/// The sending side of the writer thread; the thread ends when it is dropped.
pub(crate) struct Writer {
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

impl Writer {
    pub(crate) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (jobs, queue) = channel();
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || serve(&connection, &queue))
            .map_err(StoreError::unavailable)?;
        Ok(Self { jobs, thread })
    }

    /// Ends the thread and waits until its connection is closed. Not done on drop: a transaction that is
    /// still open has the thread, and whoever drops may be the one who holds it.
    pub(crate) fn close(self) {
        drop(self.jobs);
        if self.thread.join().is_err() {
            tracing::error!("the writer thread had panicked");
        }
    }

    /// Runs `work` in the next group commit and returns when it is durable.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = answering(work);
        self.submit(Job::Work(work))?;
        received(done).await
    }

    /// The same, but returns when a crash of the process can no longer undo it; a power cut still can.
    pub(crate) async fn run_relaxed<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = answering(work);
        self.submit(Job::Relaxed(work))?;
        received(done).await
    }

    /// Runs `step` on the writer connection, outside of any transaction.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, done) = oneshot::channel();
        self.submit(Job::Aside(Box::new(move |session| drop(answer.send(step(session))))))?;
        received(done).await
    }

    /// Takes the thread for an interactive transaction.
    pub(crate) async fn begin(&self) -> Result<Interactive, StoreError> {
        let (answer, begun) = oneshot::channel();
        self.submit(Job::Begin(answer))?;
        received(begun).await
    }

    fn submit(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.send(job).map_err(|_| StoreError::unavailable(Closed))
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
        events: Vec<Event>,
        bus: broadcast::Sender<Event>,
    ) -> Result<(), StoreError> {
        let (answer, done) = oneshot::channel();
        self.send(Command::Commit { events, bus, answer })?;
        received(done).await
    }

    fn send(&self, command: Command) -> Result<(), StoreError> {
        self.commands.send(command).map_err(|_| StoreError::unavailable(Closed))
    }
}

/// Work whose outcome is sent once it is known whether the commit succeeded.
fn answering<T: Send + 'static>(
    work: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
) -> (Work, oneshot::Receiver<Result<T, StoreError>>) {
    let (answer, done) = oneshot::channel();
    let work: Work = Box::new(move |session| {
        let outcome = session.and_then(work);
        Box::new(move |committed| drop(answer.send(committed.and(outcome))))
    });
    (work, done)
}

async fn received<T>(answer: oneshot::Receiver<Result<T, StoreError>>) -> Result<T, StoreError> {
    answer.await.map_err(|_| StoreError::unavailable(Closed))?
}

fn serve(connection: &Connection, queue: &Receiver<Job>) {
    let session = Session::new(connection);
    let mut put_back = None;
    while let Some(job) = put_back.take().or_else(|| queue.recv().ok()) {
        match job {
            Job::Work(first) => put_back = commit_group(&session, first, queue, Job::for_durable),
            Job::Relaxed(first) => put_back = commit_relaxed(&session, first, queue),
            Job::Aside(step) => step(&session),
            Job::Begin(answer) => interact(&session, answer),
        }
    }
}

impl Job {
    /// The work of a job that may go into a durable commit.
    fn for_durable(self) -> Result<Work, Self> {
        match self {
            Self::Work(work) | Self::Relaxed(work) => Ok(work),
            other => Err(other),
        }
    }

    /// The work of a job that may go into a commit that does not wait for the disk.
    fn for_relaxed(self) -> Result<Work, Self> {
        if let Self::Relaxed(work) = self { Ok(work) } else { Err(self) }
    }
}

/// In write-ahead mode a commit is in the file at once; only whether it is flushed is a choice.
fn commit_relaxed(session: &Session<'_>, first: Work, queue: &Receiver<Job>) -> Option<Job> {
    if let Err(error) = session.batch("PRAGMA synchronous = NORMAL") {
        first(Err(error))(Ok(()));
        return None;
    }
    let stopper = commit_group(session, first, queue, Job::for_relaxed);
    if let Err(error) = session.batch("PRAGMA synchronous = FULL") {
        tracing::error!(%error, "commits can no longer be made durable: no more writes");
        // Better no write than one that only seems safe.
        drop(session.batch("PRAGMA query_only = ON"));
    }
    stopper
}

/// Commits `first` and the work that waits behind it; returns a job of another kind that ended the
/// group.
fn commit_group(
    session: &Session<'_>,
    first: Work,
    queue: &Receiver<Job>,
    fits: fn(Job) -> Result<Work, Job>,
) -> Option<Job> {
    if let Err(error) = session.control("BEGIN IMMEDIATE") {
        first(Err(error))(Ok(()));
        return None;
    }
    let mut answers: Vec<Answer> = vec![first(Ok(session))];
    let mut stopper = None;
    // An engine that rolled back by itself (full disk) has ended the transaction: stop there.
    while answers.len() < GROUP && !session.connection().is_autocommit() {
        match queue.try_recv().map(fits) {
            Ok(Ok(work)) => answers.push(work(Ok(session))),
            Ok(Err(other)) => {
                stopper = Some(other);
                break;
            }
            Err(_) => break,
        }
    }
    let outcome = finish(session);
    for answer in answers {
        answer(outcome.clone());
    }
    stopper
}

fn finish(session: &Session<'_>) -> Result<(), StoreError> {
    if session.connection().is_autocommit() {
        return Err(StoreError::Aborted);
    }
    session.control("COMMIT").inspect_err(|_| roll_back(session))
}

fn roll_back(session: &Session<'_>) {
    if !session.connection().is_autocommit()
        && let Err(error) = session.control("ROLLBACK")
    {
        tracing::error!(%error, "rolling back failed");
    }
}

fn interact(session: &Session<'_>, answer: oneshot::Sender<Result<Interactive, StoreError>>) {
    if answer.is_closed() {
        return;
    }
    if let Err(error) = session.control("BEGIN IMMEDIATE") {
        drop(answer.send(Err(error)));
        return;
    }
    let (commands, queue) = channel();
    drop(answer.send(Ok(Interactive { commands })));
    while let Ok(command) = queue.recv() {
        match command {
            Command::Step(step) => step(session),
            Command::Commit { events, bus, answer } => {
                let outcome = finish(session);
                if outcome.is_ok() {
                    // No subscriber is not an error.
                    for event in events {
                        drop(bus.send(event));
                    }
                }
                drop(answer.send(outcome));
                return;
            }
        }
    }
    roll_back(session);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_relaxed_write_is_seen_at_once_and_leaves_later_ones_durable() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("PRAGMA synchronous = FULL; CREATE TABLE t (n INTEGER)").unwrap();
        let writer = Writer::start(connection).unwrap();
        let level = |session: &Session<'_>| {
            Ok(session
                .connection()
                .pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0))
                .unwrap())
        };
        let during = writer.run_relaxed(move |session| {
            session.batch("INSERT INTO t VALUES (1)")?;
            level(session)
        });
        assert_eq!(during.await.unwrap(), 1);
        assert_eq!(writer.run(level).await.unwrap(), 2);
        assert_eq!(writer.aside(level).await.unwrap(), 2);
        writer.close();
    }
}
