//! Makes commits durable in the background.
//!
//! The writer commits without waiting for the disk. A thread syncs the write-ahead log and answers waiting callers
//! while the writer continues. Each sync makes everything in the log durable, in order. A read may therefore see a
//! commit a few hundred microseconds before it is durable. If acting on such a read would matter after a crash,
//! write it down first and await that write. A commit is never durable without the earlier ones.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::time::Instant;

use crate::{DiskObserver, Error};

/// Called once it is known whether a commit is durable.
pub(crate) type SyncCallback = Box<dyn FnOnce(Result<(), Error>) + Send>;
/// Makes data written to a file durable.
pub(crate) type ToDisk = Box<dyn Fn() -> std::io::Result<()> + Send>;

/// The syncing thread.
pub(crate) struct WalSync {
    committed: Sender<Vec<SyncCallback>>,
    thread: JoinHandle<()>,
    works: Arc<AtomicBool>,
}

impl WalSync {
    /// Starts the thread for the writer of the database at `path`, whose log must be open.
    pub(crate) fn open(
        writer: &Connection,
        path: &Path,
        observer: Arc<dyn DiskObserver>,
    ) -> Result<Self, Error> {
        // As SQLite names it: next to the file itself, not next to a link to it.
        let file = writer.path().map_or_else(|| path.canonicalize(), |file| Ok(PathBuf::from(file)));
        let mut name = file?.into_os_string();
        name.push("-wal");
        let log: File = OpenOptions::new().write(true).open(name)?;
        Self::with_sync(Box::new(move || {
            let began = Instant::now();
            log.sync_data().inspect(|()| observer.synced(began.elapsed()))
        }))
    }

    pub(crate) fn with_sync(sync: ToDisk) -> Result<Self, Error> {
        let (committed, queue) = channel();
        let works = Arc::new(AtomicBool::new(true));
        let told = Arc::clone(&works);
        let thread = std::thread::Builder::new()
            .name("sqlite-sync".to_owned())
            .spawn(move || serve(&sync, &queue, &told))?;
        Ok(Self { committed, thread, works })
    }

    /// Calls `answers` when everything committed so far is durable.
    pub(crate) fn on_synced(&self, answers: Vec<SyncCallback>) {
        if let Err(refused) = self.committed.send(answers) {
            refused.0.into_iter().for_each(|answer| answer(Err(Error::Closed)));
        }
    }

    /// Flag that is true while commits can still be made durable.
    pub(crate) fn health_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.works)
    }

    /// Stops the thread once all callers have been answered.
    pub(crate) fn close(self) {
        drop(self.committed);
        if self.thread.join().is_err() {
            tracing::error!("the sync thread panicked");
        }
    }
}

/// Syncs until the first failure. A later sync would not report the data that the failed one left unwritten.
fn serve(sync: &ToDisk, queue: &Receiver<Vec<SyncCallback>>, works: &AtomicBool) {
    while let Ok(mut answers) = queue.recv() {
        while let Ok(more) = queue.try_recv() {
            answers.extend(more);
        }
        let outcome = if works.load(Ordering::Acquire) {
            sync().map_err(Error::from).inspect_err(|error| {
                works.store(false, Ordering::Release);
                tracing::error!(%error, "commits can no longer be made durable: no writes until a restart");
            })
        } else {
            Err(Error::Closed)
        };
        for answer in answers {
            answer(outcome.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Database, Error};

    #[tokio::test]
    async fn a_database_behind_a_link_is_synced_where_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("px.db"), directory.path().join("elsewhere.db"));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::fs::File::create(&file).unwrap();
        let database = Database::open(&link, 1, Duration::from_secs(5)).unwrap();
        let create = |connection: &rusqlite::Connection| {
            connection.execute_batch("CREATE TABLE t (n INTEGER)").map_err(Error::from)
        };
        database.write(create).await.unwrap();
        assert!(file.with_extension("db-wal").exists());
        assert!(!link.with_extension("db-wal").exists());
        database.close();
    }
}
