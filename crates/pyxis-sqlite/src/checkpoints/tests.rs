use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use std::time::Duration;

use rusqlite::Connection;

use super::{CheckpointWorker, Checkpoints, KEPT, MANY, PAGES, WalLimits};
use crate::readers::Readers;
use crate::{Database, Error, connect, create_private, release_idle_reads};

fn open(path: &Path) -> Database {
    Database::open(path, 1, Duration::from_secs(5)).unwrap()
}

async fn run(database: &Database, statement: String) {
    let run = move |connection: &Connection| connection.execute_batch(&statement).map_err(Error::from);
    database.write(run).await.unwrap();
}

/// Writes a row of many pages.
async fn insert(database: &Database, number: i64) {
    run(database, format!("INSERT INTO t VALUES ({number}, randomblob(60000))")).await;
}

async fn create(database: &Database) {
    run(database, "CREATE TABLE t (n INTEGER PRIMARY KEY, body BLOB)".to_owned()).await;
}

fn number(connection: &Connection, query: &str) -> Result<i64, Error> {
    Ok(connection.query_row(query, (), |row| row.get(0))?)
}

#[test]
fn nothing_may_be_written_after_the_file_could_not_be_synced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    create_private(&path).unwrap();
    let mut writer = connect(&path).unwrap();
    let broken = Box::new(|| Err(std::io::Error::other("the disk is broken")));
    let mover = CheckpointWorker::with_sync(connect(&path).unwrap(), broken);
    let works = Arc::new(AtomicBool::new(true));
    let mut checkpoints =
        Checkpoints::install(&mut writer, mover, Arc::clone(&works), WalLimits::default()).unwrap();
    let write = "CREATE TABLE t (body BLOB); INSERT INTO t VALUES (randomblob(1000000))";
    writer.execute_batch(write).unwrap();
    checkpoints.after_commit(&writer, &Readers::default());
    checkpoints.cut_log(&writer, &Readers::default());
    checkpoints.close();
    assert!(!works.load(Ordering::Acquire));
    assert!(log_pages(&path) > 0);
}

/// Without checkpoints the log would end up ten times as long.
#[tokio::test]
async fn the_log_stays_short_although_somebody_always_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    let database = open(&path);
    create(&database).await;
    let bound = 4200 * u64::try_from(6 * PAGES).unwrap();
    release_idle_reads();
    for turn in 0..200_i64 {
        insert(&database, turn).await;
        let seen = database.read(|reader| number(reader, "SELECT max(n) FROM t")).unwrap();
        assert_eq!(seen, turn);
        let log = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        assert!(log < bound, "{log} bytes after {turn}");
    }
    database.close();
    assert!(!path.with_extension("db-wal").exists());
}

#[tokio::test]
async fn whoever_writes_much_lets_the_log_become_long_and_leaves_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    let database = open(&path);
    database.begin_bulk_load().await.unwrap();
    create(&database).await;
    let mut longest = 0;
    for turn in 0..200_i64 {
        insert(&database, turn).await;
        longest = longest.max(log_pages(&path));
    }
    assert!((MANY..6 * MANY).contains(&longest), "{longest} pages");
    database.close();
    assert!(!path.with_extension("db-wal").exists());
}

#[tokio::test]
async fn once_much_was_written_the_log_is_cut_unless_somebody_reads_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    let [import, server] = [(); 2].map(|()| open(&path));
    run(&import, "CREATE TABLE t (body BLOB)".to_owned()).await;
    let write = async || run(&import, "INSERT INTO t VALUES (randomblob(60000))".to_owned()).await;
    let rows = "SELECT count(*) FROM t";
    let reader = connect(&path).unwrap();
    let seen = || number(&reader, rows).unwrap();
    write().await;
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(seen(), 1);
    for _ in 0..2 {
        import.end_bulk_load().await;
        assert!(log_pages(&path) > 0);
        write().await;
    }
    assert_eq!(seen(), 1);
    reader.execute_batch("COMMIT").unwrap();
    import.end_bulk_load().await;
    assert_eq!(log_pages(&path), 0);
    write().await;
    assert_eq!(server.read(|reader| number(reader, rows)).unwrap(), 4);
    assert_eq!(seen(), 4);
}

#[tokio::test]
async fn a_log_that_became_long_is_cut_once_another_process_begins_it_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    let [import, server] = [(); 2].map(|()| open(&path));
    import.begin_bulk_load().await.unwrap();
    create(&import).await;
    for turn in 0..200_i64 {
        insert(&import, turn).await;
    }
    import.close();
    let mut kept = log_pages(&path);
    assert!(kept >= MANY);
    // It restarts once a thread is done, possibly not immediately.
    for turn in 200..230_i64 {
        if kept <= KEPT / 4096 {
            break;
        }
        insert(&server, turn).await;
        kept = log_pages(&path);
    }
    assert!(kept <= KEPT / 4096, "{kept} pages");
    server.close();
}

/// Number of pages that the log file has room for.
fn log_pages(path: &Path) -> i32 {
    let bytes = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
    i32::try_from(bytes / 4096).unwrap()
}
