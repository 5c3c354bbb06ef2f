//! Interrupts a read whose caller is gone (a request that takes too long is aborted;
//! `docs/reference/behavior/scoring.md#time-limit`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::failure;
use crate::StoreError;
use crate::error::ReceiverDropped;

/// Virtual machine steps between two checks: about ten microseconds.
const STEPS: i32 = 4096;

/// The caller's side. Dropped when the caller stops waiting, for any reason.
pub(super) struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The reader's side.
pub(super) struct Abandoned(Arc<AtomicBool>);

pub(super) fn pair() -> (Waiting, Abandoned) {
    let flag = Arc::new(AtomicBool::new(false));
    (Waiting(Arc::clone(&flag)), Abandoned(flag))
}

/// Runs `read` until its caller is gone. Then removes the handler, so that the next read on this connection is not
/// interrupted.
pub(super) fn interruptible<T>(
    connection: &mut Connection,
    abandoned: Abandoned,
    read: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if abandoned.0.load(Ordering::Relaxed) {
        return Err(StoreError::unavailable(ReceiverDropped));
    }
    let gone = move || abandoned.0.load(Ordering::Relaxed);
    connection.progress_handler(STEPS, Some(gone)).map_err(failure)?;
    let outcome = read(connection);
    connection.progress_handler(0, None::<fn() -> bool>).map_err(failure)?;
    outcome
}

#[cfg(test)]
mod tests {
    use crate::db::{Backend, Executor, sql};
    use crate::{DatabaseUrl, OpenOptions, Store, StoreError};

    const ENDLESS: &str =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

    #[tokio::test]
    async fn a_read_that_nobody_waits_for_is_interrupted() {
        let directory = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::sqlite(directory.path().join("px.db"));
        let store = Store::open(&OpenOptions::new(url)).unwrap();
        let Backend::Sqlite(database) = store.backend() else { panic!("a SQLite store") };
        let reader = store.clone();
        let read = tokio::spawn(async move { reader.all::<(i64,)>(sql(ENDLESS)).await });
        while database.long.try_lock().is_ok() {
            tokio::task::yield_now().await;
        }
        read.abort();
        assert!(read.await.unwrap_err().is_cancelled());
        for _ in 0..3 {
            assert_eq!(store.all::<(i64,)>(sql("SELECT 1")).await.unwrap(), [(1,)]);
        }
    }

    #[test]
    fn a_read_is_not_started_for_a_caller_that_has_gone() {
        let (waiting, abandoned) = super::pair();
        drop(waiting);
        let mut connection = rusqlite::Connection::open_in_memory().unwrap();
        let refused = super::interruptible(&mut connection, abandoned, |_| Ok(()));
        assert!(matches!(refused, Err(StoreError::Unavailable(_))));
    }
}
