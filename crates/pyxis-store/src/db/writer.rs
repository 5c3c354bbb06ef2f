//! The one thread that writes to a SQLite file.
//!
//! Everything that waits is taken into one transaction, so that many callers share one commit; the
//! thread waits neither for more to come nor for the disk. An interactive transaction has the thread for itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{broadcast, oneshot};

use super::sqlite::Session;
use super::sqlite::checkpoints::Checkpoints;
use super::sqlite::durable::{Answer, Durable};
use super::sqlite::readers::Readers;
use crate::error::Closed;
use crate::{Event, StoreError};

/// Most jobs in one commit, so that the first of them does not wait without bound.
const GROUP: usize = 1024;

/// Runs inside the transaction, or learns why there is none.
type Work = Box<dyn FnOnce(Result<&Session<'_>, StoreError>) -> Answer + Send>;
type Step = Box<dyn FnOnce(&Session<'_>) + Send>;

enum Job {
    /// One step of a group commit.
    Work(Work),
    /// The same, but answered without waiting for the disk.
    Relaxed(Work),
    /// Runs outside of any transaction.
    Aside(Step),
    /// An interactive transaction.
    Begin(oneshot::Sender<Result<Interactive, StoreError>>),
    /// Moves the log into the file.
    CutLog(oneshot::Sender<()>),
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
    works: Arc<AtomicBool>,
}

impl Writer {
    pub(crate) fn start(
        connection: Connection,
        readers: Arc<Readers>,
        checkpoints: Checkpoints,
        durable: Durable,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = channel();
        let works = durable.works();
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || serve(connection, readers, checkpoints, durable, &queue))
            .map_err(StoreError::unavailable)?;
        Ok(Self { jobs, thread, works })
    }

    /// An error where nothing more can be written until a restart.
    pub(crate) fn works(&self) -> Result<(), StoreError> {
        works(&self.works)
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

    /// The same, and says how it went on another thread, once that is durable.
    pub(crate) fn run_then<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session<'_>) -> Result<T, StoreError> + Send + 'static,
        then: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        if let Err(refused) = self.jobs.send(Job::Work(telling(work, then)))
            && let Job::Work(work) = refused.0
        {
            work(Err(StoreError::unavailable(Closed)))(Ok(()));
        }
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

    /// Moves the log into the file and gives its space back, as far as that can be done now.
    pub(crate) async fn cut_log(&self) {
        let (answer, done) = oneshot::channel();
        if self.submit(Job::CutLog(answer)).is_ok() {
            // No answer: the thread is gone, and its connection closed.
            let _ = done.await;
        }
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
        self.commit_ahead(events, bus)?.await
    }

    /// The same, where the next transaction may begin before this one is durable.
    pub(crate) fn commit_ahead(
        self,
        events: Vec<Event>,
        bus: broadcast::Sender<Event>,
    ) -> Result<impl Future<Output = Result<(), StoreError>> + Send + 'static, StoreError> {
        let (answer, done) = oneshot::channel();
        self.send(Command::Commit { events, bus, answer })?;
        Ok(received(done))
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
    (telling(work, move |outcome| drop(answer.send(outcome))), done)
}

/// Work after which `then` is told how it and its commit went.
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
    durable: Durable,
    queue: &Receiver<Job>,
) {
    let works = durable.works();
    let place =
        Place { session: &Session::new(&connection), readers: &readers, durable: &durable, works: &works };
    let mut put_back = None;
    while let Some(job) = put_back.take().or_else(|| queue.recv().ok()) {
        match job {
            Job::Aside(step) => step(place.session),
            Job::Begin(answer) => place.interact(answer),
            Job::CutLog(answer) => {
                checkpoints.cut_log(&connection, &readers);
                let _ = answer.send(());
            }
            Job::Work(_) | Job::Relaxed(_) => put_back = place.commit_group(job, queue),
        }
        if works.load(Ordering::Acquire) {
            checkpoints.after_commit(&connection, &readers);
        }
    }
    checkpoints.close();
    durable.close();
    // What may be missing from the log must not get into the file in part.
    if !works.load(Ordering::Acquire)
        && let Err(error) = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
    {
        tracing::error!(%error, "the log may be moved into the file in part");
    }
}

fn works(flag: &AtomicBool) -> Result<(), StoreError> {
    if flag.load(Ordering::Acquire) { Ok(()) } else { Err(StoreError::unavailable(Closed)) }
}

/// The connection that writes, and who is told when it has.
#[derive(Clone, Copy)]
struct Place<'c> {
    session: &'c Session<'c>,
    readers: &'c Readers,
    durable: &'c Durable,
    works: &'c AtomicBool,
}

/// Who waits for a commit.
#[derive(Default)]
struct Waiting {
    for_disk: Vec<Answer>,
    for_commit: Vec<Answer>,
}

impl Waiting {
    /// Does a piece of work, unless it is a job that needs the thread for itself.
    fn take(&mut self, job: Job, session: Result<&Session<'_>, StoreError>) -> Option<Job> {
        match job {
            Job::Work(work) => self.for_disk.push(work(session)),
            Job::Relaxed(work) => self.for_commit.push(work(session)),
            other => return Some(other),
        }
        None
    }

    fn count(&self) -> usize {
        self.for_disk.len() + self.for_commit.len()
    }

    fn all(self) -> impl Iterator<Item = Answer> {
        self.for_disk.into_iter().chain(self.for_commit)
    }
}

impl Place<'_> {
    /// Commits `first` and the work that waits behind it; returns a job of another kind that ended the
    /// group.
    fn commit_group(self, first: Job, queue: &Receiver<Job>) -> Option<Job> {
        let mut waiting = Waiting::default();
        if let Err(error) = self.begin() {
            let stopper = waiting.take(first, Err(error));
            waiting.all().for_each(|answer| answer(Ok(())));
            return stopper;
        }
        let mut stopper = waiting.take(first, Ok(self.session));
        // An engine that rolled back by itself (full disk) has ended the transaction: stop there.
        while stopper.is_none() && waiting.count() < GROUP && !self.session.connection().is_autocommit() {
            let Ok(job) = queue.try_recv() else { break };
            stopper = waiting.take(job, Ok(self.session));
        }
        if let Err(error) = self.finish() {
            waiting.all().for_each(|answer| answer(Err(error.clone())));
            return stopper;
        }
        waiting.for_commit.into_iter().for_each(|answer| answer(Ok(())));
        if !waiting.for_disk.is_empty() {
            self.durable.then(waiting.for_disk);
        }
        stopper
    }

    fn begin(self) -> Result<(), StoreError> {
        // Better no write than one that only seems safe.
        works(self.works)?;
        self.session.control("BEGIN IMMEDIATE")
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
            tracing::error!(%error, "rolling back failed");
        }
    }

    fn interact(self, answer: oneshot::Sender<Result<Interactive, StoreError>>) {
        if answer.is_closed() {
            return;
        }
        if let Err(error) = self.begin() {
            drop(answer.send(Err(error)));
            return;
        }
        let (commands, queue) = channel();
        drop(answer.send(Ok(Interactive { commands })));
        while let Ok(command) = queue.recv() {
            match command {
                Command::Step(step) => step(self.session),
                Command::Commit { events, bus, answer } => {
                    let tell = move |durable: Result<(), StoreError>| {
                        if durable.is_ok() {
                            // No subscriber is not an error.
                            for event in events {
                                drop(bus.send(event));
                            }
                        }
                        drop(answer.send(durable));
                    };
                    match self.finish() {
                        Ok(()) => self.durable.then(vec![Box::new(tell)]),
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
mod tests {
    use std::sync::Mutex;

    use super::super::sqlite::checkpoints::{Length, Mover};
    use super::*;

    /// A writer of a table in memory whose disk waits for a word.
    fn writer() -> (Writer, Sender<std::io::Result<()>>) {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (n INTEGER)").unwrap();
        let mover = Mover::by(Connection::open_in_memory().unwrap(), Box::new(|| Ok(())));
        let (disk, words) = channel();
        let words = Mutex::new(words);
        let sync = move || words.lock().unwrap().recv().unwrap();
        let durable = Durable::by(Box::new(sync)).unwrap();
        let checkpoints =
            Checkpoints::of(&mut connection, mover, durable.works(), Length::default()).unwrap();
        (Writer::start(connection, Arc::default(), checkpoints, durable).unwrap(), disk)
    }

    fn insert(session: &Session<'_>) -> Result<i64, StoreError> {
        session.batch("INSERT INTO t VALUES (1)")?;
        Ok(session.connection().query_row("SELECT count(*) FROM t", (), |row| row.get(0)).unwrap())
    }

    #[tokio::test]
    async fn a_write_is_answered_when_it_is_durable_and_others_go_on_meanwhile() {
        let (writer, disk) = writer();
        let mut first = Box::pin(writer.run(insert));
        let seen = tokio::select! {
            biased;
            _ = &mut first => unreachable!("answered before the disk was"),
            seen = writer.run_relaxed(insert) => seen.unwrap(),
        };
        assert_eq!(seen, 2);
        disk.send(Ok(())).unwrap();
        assert_eq!(first.await.unwrap(), 1);
        writer.close();
    }

    #[tokio::test]
    async fn a_transaction_is_answered_when_it_is_durable() {
        let (writer, disk) = writer();
        let transaction = writer.begin().await.unwrap();
        let mut finished = Box::pin(transaction.finish(insert));
        tokio::select! {
            biased;
            _ = &mut finished => unreachable!("answered before the disk was"),
            seen = writer.run_relaxed(insert) => assert_eq!(seen.unwrap(), 2),
        }
        disk.send(Ok(())).unwrap();
        assert_eq!(finished.await.unwrap(), 1);
        writer.close();
    }

    #[tokio::test]
    async fn the_next_transaction_sees_one_whose_commit_is_on_its_way() {
        let (writer, disk) = writer();
        let first = writer.begin().await.unwrap();
        assert_eq!(first.run(insert).await.unwrap(), 1);
        let mut first = Box::pin(first.commit_ahead(Vec::new(), broadcast::channel(1).0).unwrap());
        let second = writer.begin().await.unwrap();
        tokio::select! {
            biased;
            _ = &mut first => unreachable!("answered before the disk was"),
            seen = second.run(insert) => assert_eq!(seen.unwrap(), 2),
        }
        disk.send(Ok(())).unwrap();
        first.await.unwrap();
        disk.send(Ok(())).unwrap();
        second.commit(Vec::new(), broadcast::channel(1).0).await.unwrap();
        writer.close();
    }

    #[tokio::test]
    async fn nothing_is_written_after_a_sync_that_failed() {
        let (writer, disk) = writer();
        disk.send(Err(std::io::Error::other("the disk is broken"))).unwrap();
        let error = writer.run(insert).await.unwrap_err();
        assert!(error.may_have_happened());
        assert!(writer.run_relaxed(insert).await.is_err());
        assert!(writer.begin().await.is_err());
        assert!(writer.works().is_err());
        writer.close();
    }
}
