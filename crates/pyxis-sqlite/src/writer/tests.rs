//! The writer over an in-memory table, and over a file that another process keeps busy.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::checkpoints::{CheckpointWorker, WalLimits};

const PATIENCE: Duration = Duration::from_secs(5);

/// A writer of an in-memory table whose disk waits for a signal.
fn writer() -> (Writer, Sender<std::io::Result<()>>) {
    writer_with(PATIENCE)
}

fn writer_with(patience: Duration) -> (Writer, Sender<std::io::Result<()>>) {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (n INTEGER)").unwrap();
    let mover = CheckpointWorker::with_sync(Connection::open_in_memory().unwrap(), Box::new(|| Ok(())));
    let (disk, words) = channel();
    let words = Mutex::new(words);
    let sync = move || words.lock().unwrap().recv().unwrap();
    let durable = WalSync::with_sync(Box::new(sync)).unwrap();
    let checkpoints =
        Checkpoints::install(&mut connection, mover, durable.health_flag(), WalLimits::default()).unwrap();
    (Writer::start(connection, Arc::default(), checkpoints, durable, patience).unwrap(), disk)
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

fn insert(connection: &Connection) -> Result<i64, Error> {
    connection.execute_batch("INSERT INTO t VALUES (1)")?;
    Ok(connection.query_row("SELECT count(*) FROM t", (), |row| row.get(0))?)
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
    let transaction = writer.begin(soon()).await.unwrap();
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
    let first = writer.begin(soon()).await.unwrap();
    assert_eq!(first.run(insert).await.unwrap(), 1);
    let mut first = Box::pin(first.commit_pipelined(|| ()).unwrap());
    let second = writer.begin(soon()).await.unwrap();
    tokio::select! {
        biased;
        _ = &mut first => unreachable!("answered before the disk was"),
        seen = second.run(insert) => assert_eq!(seen.unwrap(), 2),
    }
    disk.send(Ok(())).unwrap();
    first.await.unwrap();
    disk.send(Ok(())).unwrap();
    second.commit(|| ()).await.unwrap();
    writer.close();
}

#[tokio::test]
async fn a_job_is_refused_at_its_deadline_between_two_steps_that_leave_no_break() {
    let (writer, _disk) = writer_with(Duration::from_nanos(16));
    let transaction = writer.begin(soon()).await.unwrap();
    let (go_on, told) = channel();
    transaction.send(Command::Step(Box::new(move |_| told.recv().unwrap()))).unwrap();
    let (work, mut answer) = answering(insert);
    writer.hand_over(QueuedJob { job: Job::Work(work), deadline: Instant::now() }).unwrap();
    // The answer is available before the first step ends.
    let next = transaction.run(move |_| Ok::<_, Error>(answer.try_recv()));
    let mut next = Box::pin(next);
    tokio::select! {
        biased;
        _ = &mut next => unreachable!("the first step has not ended"),
        () = std::future::ready(()) => {}
    }
    go_on.send(()).unwrap();
    assert!(matches!(next.await.unwrap(), Ok(Err(Error::Busy))));
    drop(transaction);
    writer.close();
}

#[tokio::test]
async fn nothing_is_written_after_a_sync_that_failed() {
    let (writer, disk) = writer();
    disk.send(Err(std::io::Error::other("the disk is broken"))).unwrap();
    assert!(matches!(writer.run(insert).await, Err(Error::Io(_))));
    assert!(writer.run_relaxed(insert).await.is_err());
    assert!(writer.begin(soon()).await.is_err());
    assert!(writer.check_writable().is_err());
    writer.close();
}

/// Number of times that SQLite found the file busy.
static TRIES: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_line_of_jobs_waits_for_another_process_once_and_not_one_after_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    crate::create_private(&path).unwrap();
    let mut connection = crate::connect(&path).unwrap();
    connection.execute_batch("CREATE TABLE t (n INTEGER)").unwrap();
    let held = crate::connect(&path).unwrap();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Counts, after which SQLite gives up immediately.
    connection.busy_handler(Some(|_| TRIES.fetch_add(1, Ordering::Relaxed) == usize::MAX)).unwrap();
    let (jobs, incoming) = channel();
    let deadline = Instant::now() + Duration::from_millis(20);
    let mut works = Vec::new();
    let mut transactions = Vec::new();
    for _ in 0..500 {
        let (work, answer) = answering(insert);
        jobs.send(QueuedJob { job: Job::Work(work), deadline }).unwrap();
        works.push(answer);
        let (asks, begun) = oneshot::channel();
        jobs.send(QueuedJob { job: Job::Begin(asks), deadline }).unwrap();
        transactions.push(begun);
    }
    drop(jobs);
    let mover = CheckpointWorker::with_sync(Connection::open_in_memory().unwrap(), Box::new(|| Ok(())));
    let durable = WalSync::with_sync(Box::new(|| Ok(()))).unwrap();
    let checkpoints =
        Checkpoints::install(&mut connection, mover, durable.health_flag(), WalLimits::default()).unwrap();
    serve(connection, Arc::default(), checkpoints, durable, Queue::new(incoming, PATIENCE));
    assert!(works.iter_mut().all(|answer| matches!(answer.try_recv(), Ok(Err(Error::Busy)))));
    assert!(transactions.iter_mut().all(|answer| matches!(answer.try_recv(), Ok(Err(Error::Busy)))));
    // At most one attempt per pause of the first job, and none for the other 999.
    let tries = TRIES.load(Ordering::Relaxed);
    assert!((1..=25).contains(&tries), "{tries} tries");
    let rows: i64 = held.query_row("SELECT count(*) FROM t", (), |row| row.get(0)).unwrap();
    assert_eq!(rows, 0);
}
