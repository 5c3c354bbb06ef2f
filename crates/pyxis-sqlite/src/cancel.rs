//! Interrupts a read whose caller is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use crate::Error;

/// Virtual machine steps between two checks: about ten microseconds.
const STEPS: i32 = 4096;

/// The caller's side. Dropped when the caller stops waiting, for any reason.
pub(super) struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The reader's side.
pub(super) struct Abandoned(Arc<AtomicBool>);

pub(super) fn pair() -> (CancelOnDrop, Abandoned) {
    let flag = Arc::new(AtomicBool::new(false));
    (CancelOnDrop(Arc::clone(&flag)), Abandoned(flag))
}

/// Runs `read` until its caller is gone. Then removes the handler, so that the next read on this connection is not
/// interrupted.
pub(super) fn interruptible<T, E: From<Error>>(
    connection: &mut Connection,
    abandoned: Abandoned,
    read: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    if abandoned.0.load(Ordering::Relaxed) {
        return Err(Error::Canceled.into());
    }
    let gone = move || abandoned.0.load(Ordering::Relaxed);
    connection.progress_handler(STEPS, Some(gone)).map_err(Error::from)?;
    let outcome = read(connection);
    connection.progress_handler(0, None::<fn() -> bool>).map_err(Error::from)?;
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use rusqlite::Connection;

    use crate::{Database, Error};

    const ENDLESS: &str =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

    fn number(connection: &Connection, query: &str) -> Result<i64, Error> {
        Ok(connection.query_row(query, (), |row| row.get(0))?)
    }

    #[tokio::test]
    async fn a_read_that_nobody_waits_for_is_interrupted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("px.db");
        let database = Arc::new(Database::open(&path, 1, Duration::from_secs(5)).unwrap());
        let reader = Arc::clone(&database);
        let (began, mut begins) = tokio::sync::mpsc::channel(1);
        let endless = move |connection: &Connection| {
            began.blocking_send(()).unwrap();
            number(connection, ENDLESS)
        };
        let read = tokio::spawn(async move { reader.read_blocking(endless).await });
        begins.recv().await.unwrap();
        read.abort();
        assert!(read.await.unwrap_err().is_cancelled());
        for _ in 0..3 {
            assert_eq!(database.read_blocking(|reader| number(reader, "SELECT 1")).await.unwrap(), 1);
        }
    }

    #[test]
    fn a_read_is_not_started_for_a_caller_that_has_gone() {
        let (waiting, abandoned) = super::pair();
        drop(waiting);
        let mut connection = Connection::open_in_memory().unwrap();
        let refused: Result<(), Error> = super::interruptible(&mut connection, abandoned, |_| Ok(()));
        assert!(matches!(refused, Err(Error::Canceled)));
    }
}
