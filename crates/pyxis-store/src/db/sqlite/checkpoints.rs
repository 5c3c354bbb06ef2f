//! Moving the write-ahead log into the file, beside the writer.
//!
//! Most of a checkpoint is writing and syncing pages, for which nobody needs to wait: a thread does that while the
//! writer goes on. What was written meanwhile the writer moves by itself, which is quick, and with no reader in the
//! log it begins anew from its start.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::failure;
use super::readers::Readers;
use crate::StoreError;

/// Pages in the log with which a checkpoint begins: 16 MiB, less in tests.
const PAGES: i32 = if cfg!(test) { 64 } else { 4096 };
/// Pages that may come meanwhile: then the writer waits for the thread, or the log would grow without bound.
const MEANWHILE: i32 = 3 * PAGES;

/// A checkpoint that runs, with the connection that it uses.
type Running = JoinHandle<(Connection, Result<(), StoreError>)>;

/// The checkpoints of one writer.
pub(crate) struct Checkpoints {
    /// For the thread, while none runs; without it the writer does everything.
    connection: Option<Connection>,
    /// Pages in the log after the last commit.
    pages: Arc<AtomicI32>,
    /// Pages with which the next one begins.
    due: i32,
    running: Option<Running>,
}

impl Checkpoints {
    /// Takes the checkpoints of the writer's connection over from SQLite.
    pub(crate) fn of(writer: &mut Connection, connection: Connection) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&pages);
        let hook = move |_: &mut rusqlite::hooks::Wal, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(hook)).map_err(failure)?;
        Ok(Self { connection: Some(connection), pages, due: PAGES, running: None })
    }

    /// Begins or ends a checkpoint, if it is time to.
    pub(crate) fn after_commit(&mut self, writer: &Connection, readers: &Readers) {
        let over = self.pages.load(Ordering::Relaxed).saturating_sub(self.due);
        if let Some(thread) = self.running.take_if(|thread| thread.is_finished() || over >= MEANWHILE) {
            self.join(thread);
            self.finish(writer, readers);
        } else if self.running.is_none() && over >= 0 {
            readers.let_go();
            self.running = self.begin();
            if self.running.is_none() {
                self.finish(writer, readers);
            }
        }
    }

    fn begin(&mut self) -> Option<Running> {
        let connection = self.connection.take()?;
        let run = move || {
            let outcome = checkpoint(&connection).map(drop);
            (connection, outcome)
        };
        std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(run)
            .inspect_err(|error| tracing::warn!(%error, "no thread for checkpoints"))
            .ok()
    }

    fn join(&mut self, thread: Running) {
        let Ok((connection, outcome)) = thread.join() else {
            tracing::error!("the thread of a checkpoint had panicked");
            return;
        };
        self.connection = Some(connection);
        told(outcome);
    }

    /// Moves the rest, so that the log begins anew from its start.
    fn finish(&mut self, writer: &Connection, readers: &Readers) {
        match finish(writer, readers) {
            Ok(0) => {
                self.pages.store(0, Ordering::Relaxed);
                self.due = PAGES;
            }
            Ok(left) => self.due = left.saturating_add(PAGES),
            Err(error) => {
                self.due = self.pages.load(Ordering::Relaxed).saturating_add(PAGES);
                told(Err(error));
            }
        }
    }

    /// Waits for the one that runs.
    pub(crate) fn close(mut self) {
        if let Some(thread) = self.running.take() {
            self.join(thread);
        }
    }
}

/// Moves the rest; how many pages stay in the log because somebody still reads them there.
fn finish(writer: &Connection, readers: &Readers) -> Result<i32, StoreError> {
    readers.let_go();
    let left = checkpoint(writer)?;
    // Who came to read during this may read the log; who comes now reads the file.
    readers.let_go();
    Ok(left)
}

/// Moves what no reader keeps in the log, without waiting for anybody; how many pages are in the log if some stay.
fn checkpoint(connection: &Connection) -> Result<i32, StoreError> {
    let (pages, moved): (i32, i32) = connection
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |row| Ok((row.get(1)?, row.get(2)?)))
        .map_err(failure)?;
    Ok(if moved < pages { pages } else { 0 })
}

fn told(outcome: Result<(), StoreError>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "the write-ahead log was not moved into the file");
    }
}

#[cfg(test)]
mod tests {
    use super::super::readers::thread_has_nothing_to_do;
    use super::{MEANWHILE, PAGES};
    use crate::db::{Executor, sql};
    use crate::{DatabaseUrl, OpenOptions, Store};

    /// A log that nobody moves would be ten times as long in the end.
    #[tokio::test]
    async fn the_log_stays_short_although_somebody_always_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("px.db");
        let store = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap();
        store.execute(sql("CREATE TABLE t (n INTEGER PRIMARY KEY, body BLOB)")).await.unwrap();
        let bound = 4200 * u64::try_from(PAGES + MEANWHILE + 2 * PAGES).unwrap();
        thread_has_nothing_to_do();
        for turn in 0..200_i64 {
            store.execute(sql("INSERT INTO t VALUES ($1, randomblob(60000))").bind(turn)).await.unwrap();
            let seen: Option<(i64,)> = store.optional(sql("SELECT max(n) FROM t")).await.unwrap();
            assert_eq!(seen, Some((turn,)));
            let log = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
            assert!(log < bound, "{log} bytes after {turn}");
        }
        store.close().await.unwrap();
        assert!(!path.with_extension("db-wal").exists());
    }
}
