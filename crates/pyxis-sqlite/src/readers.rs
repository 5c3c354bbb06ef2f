//! Connections for point reads, with read transactions that busy threads keep open.
//!
//! Beginning and ending a read transaction takes locks in the index of the write-ahead log, for which all readers of a
//! process queue. A thread that goes from one request to the next therefore reuses the transaction of a relaxed read.
//! It does so until it becomes idle, until this process commits, or for [`KEPT`], so that commits of other processes
//! are seen, too. All other reads start a new transaction, so none is older than an earlier read.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Duration;

use rusqlite::Connection;
use tokio::time::Instant;

use crate::connection::control;

/// Maximum lag of a read behind commits of other processes.
const KEPT: Duration = Duration::from_millis(1);

static THREADS: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    /// Number of the thread, in order of first read.
    static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed);
    /// True on threads that release idle read transactions before parking. Only they keep transactions.
    static TELLS: Cell<bool> = const { Cell::new(false) };
    /// Connections on which this thread keeps a transaction.
    static KEEPS: RefCell<Vec<Weak<Mutex<Reader>>>> = const { RefCell::new(Vec::new()) };
}

/// Ends the read transactions that this thread keeps. A thread that calls this must do so each time before it waits for
/// work. From the first call on, its relaxed point reads are cheaper.
pub fn release_idle_reads() {
    TELLS.set(true);
    KEEPS.with_borrow_mut(|slots| {
        for slot in slots.drain(..).filter_map(|slot| slot.upgrade()) {
            locked(&slot).release();
        }
    });
}

/// Connections for point reads, each used for microseconds at a time.
#[derive(Default)]
pub(crate) struct Readers {
    slots: Vec<Arc<Mutex<Reader>>>,
    /// Number of commits of this process.
    commits: AtomicU64,
}

struct Reader {
    connection: Connection,
    kept: Option<OpenRead>,
}

/// An open read transaction.
struct OpenRead {
    /// Number of commits that it certainly sees.
    commits: u64,
    since: Instant,
}

impl Readers {
    pub(super) fn new(connections: Vec<Connection>) -> Self {
        let slot = |connection| Arc::new(Mutex::new(Reader { connection, kept: None }));
        Self { slots: connections.into_iter().map(slot).collect(), commits: AtomicU64::new(0) }
    }

    /// Runs a point read on the calling thread.
    pub(crate) fn read<T, E>(&self, read: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        let (_, mut reader) = self.free();
        reader.release();
        read(&reader.connection)
    }

    /// Like [`read`](Self::read), for a read that may lag commits of other processes. It sees everything that this
    /// process committed before.
    pub(crate) fn read_relaxed<T, E>(&self, read: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        let (slot, mut reader) = self.free();
        reader.prepare(self.commits(), slot);
        let outcome = read(&reader.connection);
        if outcome.is_err() {
            reader.release();
        }
        outcome
    }

    /// Number of commits of this process.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// Makes later reads see the latest commit.
    pub(crate) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Release);
    }

    /// Ends all kept transactions, so that the write-ahead log can be moved into the file and restarted.
    pub(crate) fn release_all(&self) {
        for slot in &self.slots {
            locked(slot).release();
        }
    }

    /// The reader of this thread, whose page cache fits the thread's reads, or another one if it is in use.
    fn free(&self) -> (&Arc<Mutex<Reader>>, MutexGuard<'_, Reader>) {
        let start = THREAD.with(|number| *number);
        for offset in 0..self.slots.len() {
            let slot = &self.slots[(start + offset) % self.slots.len()];
            match slot.try_lock() {
                Ok(guard) => return (slot, guard),
                Err(TryLockError::Poisoned(poisoned)) => return (slot, poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        let slot = &self.slots[start % self.slots.len()];
        (slot, locked(slot))
    }
}

impl Reader {
    /// Ends a transaction that is too old, and begins one if this thread announces when it becomes idle.
    fn prepare(&mut self, commits: u64, slot: &Arc<Mutex<Self>>) {
        let seen = |kept: &OpenRead| kept.commits == commits && kept.since.elapsed() < KEPT;
        if self.kept.as_ref().is_some_and(|kept| !seen(kept)) {
            self.release();
        }
        if self.kept.is_none() && TELLS.get() && control(&self.connection, "BEGIN").is_ok() {
            self.kept = Some(OpenRead { commits, since: Instant::now() });
            remember(slot);
        }
    }

    fn release(&mut self) {
        if self.kept.take().is_some()
            && let Err(error) = control(&self.connection, "ROLLBACK")
            && !self.connection.is_autocommit()
        {
            tracing::error!(%error, "cannot end a read transaction");
        }
    }
}

fn remember(slot: &Arc<Mutex<Reader>>) {
    KEEPS.with_borrow_mut(|slots| {
        if !slots.iter().any(|kept| kept.as_ptr() == Arc::as_ptr(slot)) {
            slots.push(Arc::downgrade(slot));
        }
    });
}

fn locked(slot: &Mutex<Reader>) -> MutexGuard<'_, Reader> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, connect, create_private};

    /// Runs a test with readers, another process's connection to the same file, and a thread that announces when it
    /// becomes idle.
    fn on_a_telling_thread(test: impl FnOnce(&Readers, &Connection) + Send + 'static) {
        let run = move || {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("px.db");
            create_private(&path).unwrap();
            let other = connect(&path).unwrap();
            other.execute_batch("CREATE TABLE t (n INTEGER)").unwrap();
            let readers = Readers::new(vec![connect(&path).unwrap()]);
            release_idle_reads();
            test(&readers, &other);
        };
        std::thread::spawn(run).join().unwrap();
    }

    fn count(connection: &Connection) -> Result<i64, Error> {
        Ok(connection.query_row("SELECT count(*) FROM t", (), |row| row.get(0))?)
    }

    fn rows(readers: &Readers) -> i64 {
        readers.read_relaxed(count).unwrap()
    }

    /// True if a reader holds the write-ahead log.
    fn is_read(other: &Connection) -> bool {
        other.busy_timeout(Duration::ZERO).unwrap();
        other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get::<_, i64>(0)).unwrap() == 1
    }

    #[test]
    fn a_read_sees_what_this_process_committed_before() {
        on_a_telling_thread(|readers, other| {
            for written in 0..100 {
                assert_eq!(rows(readers), written);
                other.execute_batch("INSERT INTO t VALUES (1)").unwrap();
                readers.committed();
            }
        });
    }

    #[test]
    fn what_another_process_committed_is_seen_within_a_millisecond() {
        on_a_telling_thread(|readers, other| {
            assert_eq!(rows(readers), 0);
            other.execute_batch("INSERT INTO t VALUES (1)").unwrap();
            let committed = Instant::now();
            while rows(readers) == 0 {
                assert!(committed.elapsed() < Duration::from_secs(10));
            }
            assert_eq!(rows(readers), 1);
        });
    }

    #[test]
    fn a_read_that_is_not_relaxed_sees_at_once_what_another_process_committed() {
        on_a_telling_thread(|readers, other| {
            for written in 0..100 {
                let before = rows(readers);
                other.execute_batch("INSERT INTO t VALUES (1)").unwrap();
                assert_eq!(readers.read(count).unwrap(), written + 1);
                assert!(before <= written);
            }
        });
    }

    #[test]
    fn a_thread_with_nothing_to_do_holds_nothing() {
        on_a_telling_thread(|readers, other| {
            assert_eq!(rows(readers), 0);
            release_idle_reads();
            assert!(!is_read(other));
            assert_eq!(rows(readers), 0);
        });
    }

    #[test]
    fn a_thread_that_never_told_keeps_nothing() {
        on_a_telling_thread(|readers, other| {
            std::thread::scope(|threads| {
                threads.spawn(|| assert_eq!(rows(readers), 0));
            });
            assert!(!is_read(other));
        });
    }

    #[test]
    fn a_read_that_fails_ends_the_transaction() {
        on_a_telling_thread(|readers, other| {
            assert_eq!(rows(readers), 0);
            let failing = |connection: &Connection| connection.execute_batch("SELECT missing FROM t");
            assert!(readers.read_relaxed(failing).is_err());
            assert!(!is_read(other));
        });
    }
}
