//! Making commits durable, beside the writer.
//!
//! The writer commits without waiting for the disk. A thread syncs the write-ahead log and answers whoever waits,
//! while the writer goes on with the next commits: what one sync finds in the log it makes durable, in order. So a
//! read may see a commit some hundred microseconds before it is durable; whoever acts on what it read and must not
//! do so in vain writes that down first and waits, and a later commit is never durable without an earlier one.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::StoreError;
use crate::error::Closed;

/// Told once it is known whether a commit is durable.
pub(crate) type SyncCallback = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Makes what was written to a file durable.
pub(crate) type ToDisk = Box<dyn Fn() -> std::io::Result<()> + Send>;

/// The thread that syncs.
pub(crate) struct WalSync {
    committed: Sender<Vec<SyncCallback>>,
    thread: JoinHandle<()>,
    works: Arc<AtomicBool>,
}

impl WalSync {
    /// For the writer of the database at `path`, which has its log open.
    pub(crate) fn open(writer: &Connection, path: &Path) -> Result<Self, StoreError> {
        // As SQLite names it: beside the file itself, not beside a link to it.
        let file = writer.path().map_or_else(|| path.canonicalize(), |file| Ok(PathBuf::from(file)));
        let mut name = file.map_err(StoreError::unavailable)?.into_os_string();
        name.push("-wal");
        let log: File = OpenOptions::new().write(true).open(name).map_err(StoreError::unavailable)?;
        Self::with_sync(Box::new(move || log.sync_data()))
    }

    pub(crate) fn with_sync(sync: ToDisk) -> Result<Self, StoreError> {
        let (committed, queue) = channel();
        let works = Arc::new(AtomicBool::new(true));
        let told = Arc::clone(&works);
        let thread = std::thread::Builder::new()
            .name("store-sync".to_owned())
            .spawn(move || serve(&sync, &queue, &told))
            .map_err(StoreError::unavailable)?;
        Ok(Self { committed, thread, works })
    }

    /// Answers when everything that is committed by now is durable.
    pub(crate) fn on_synced(&self, answers: Vec<SyncCallback>) {
        if let Err(refused) = self.committed.send(answers) {
            refused.0.into_iter().for_each(|answer| answer(Err(StoreError::unavailable(Closed))));
        }
    }

    /// Whether commits can still be made durable.
    pub(crate) fn health_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.works)
    }

    /// Returns when everybody has been answered.
    pub(crate) fn close(self) {
        drop(self.committed);
        if self.thread.join().is_err() {
            tracing::error!("the thread that syncs had panicked");
        }
    }
}

/// What a failed sync left unwritten, a later one would not report: after the first failure there is none.
fn serve(sync: &ToDisk, queue: &Receiver<Vec<SyncCallback>>, works: &AtomicBool) {
    while let Ok(mut answers) = queue.recv() {
        while let Ok(more) = queue.try_recv() {
            answers.extend(more);
        }
        let outcome = if works.load(Ordering::Acquire) {
            sync().map_err(StoreError::unavailable).inspect_err(|error| {
                works.store(false, Ordering::Release);
                tracing::error!(%error, "commits can no longer be made durable: no more writes until a restart");
            })
        } else {
            Err(StoreError::unavailable(Closed))
        };
        for answer in answers {
            answer(outcome.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::db::{Executor, sql};
    use crate::{DatabaseUrl, OpenOptions, Store};

    #[tokio::test]
    async fn a_database_behind_a_link_is_synced_where_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("px.db"), directory.path().join("elsewhere.db"));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::fs::File::create(&file).unwrap();
        let store = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&link))).unwrap();
        store.execute(sql("CREATE TABLE t (n INTEGER)")).await.unwrap();
        assert!(file.with_extension("db-wal").exists());
        assert!(!link.with_extension("db-wal").exists());
        store.close().await.unwrap();
    }
}
