//! Making commits durable, beside the writer.
//!
//! The writer commits without waiting for the disk. A thread syncs the write-ahead log and answers whoever waits,
//! while the writer goes on with the next commits: what one sync finds in the log it makes durable, in order. So a
//! read may see a commit some hundred microseconds before it is durable; whoever acts on what it read and must not
//! do so in vain writes that down first and waits, and a later commit is never durable without an earlier one.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::StoreError;
use crate::error::Closed;

/// Told once it is known whether a commit is durable.
pub(crate) type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Syncs the log.
type Sync = Box<dyn Fn() -> std::io::Result<()> + Send>;

/// The thread that syncs.
pub(crate) struct Durable {
    committed: Sender<Vec<Answer>>,
    thread: JoinHandle<()>,
}

impl Durable {
    /// For the database at `path`, whose log exists because a connection is open.
    pub(crate) fn of(path: &Path) -> Result<Self, StoreError> {
        let mut name = path.as_os_str().to_owned();
        name.push("-wal");
        let log: File = OpenOptions::new().write(true).open(name).map_err(StoreError::unavailable)?;
        Self::by(Box::new(move || log.sync_data()))
    }

    pub(crate) fn by(sync: Sync) -> Result<Self, StoreError> {
        let (committed, queue) = channel();
        let thread = std::thread::Builder::new()
            .name("store-sync".to_owned())
            .spawn(move || serve(&sync, &queue))
            .map_err(StoreError::unavailable)?;
        Ok(Self { committed, thread })
    }

    /// Answers when everything that is committed by now is durable.
    pub(crate) fn then(&self, answers: Vec<Answer>) {
        if let Err(refused) = self.committed.send(answers) {
            refused.0.into_iter().for_each(|answer| answer(Err(StoreError::unavailable(Closed))));
        }
    }

    /// Whether commits can still be made durable.
    pub(crate) fn works(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Returns when everybody has been answered.
    pub(crate) fn close(self) {
        drop(self.committed);
        if self.thread.join().is_err() {
            tracing::error!("the thread that syncs had panicked");
        }
    }
}

/// Ends with the first failure: what a failed sync left unwritten, a later one would not report.
fn serve(sync: &Sync, queue: &Receiver<Vec<Answer>>) {
    while let Ok(mut answers) = queue.recv() {
        while let Ok(more) = queue.try_recv() {
            answers.extend(more);
        }
        let outcome = sync().map_err(StoreError::unavailable);
        for answer in answers {
            answer(outcome.clone());
        }
        if let Err(error) = outcome {
            tracing::error!(%error, "commits can no longer be made durable: no more writes");
            return;
        }
    }
}
