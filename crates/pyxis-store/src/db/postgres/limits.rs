//! Time limits for every use of the server.

use std::time::Duration;

/// Longest statement of [`long_work`].
const LONG: Duration = Duration::from_hours(1);

/// Time limits of one process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Wait for a connection of the pool, and for locks.
    pub(crate) patience: Duration,
    /// Opening a connection, and data that the server's machine does not acknowledge.
    pub(crate) connect: Duration,
    /// One statement, and a transaction's pause between two.
    pub(crate) statement: Duration,
}

impl Limits {
    /// Limit of one statement, which the server enforces.
    pub(super) fn on_server(self) -> Duration {
        if is_long() { LONG.max(self.statement) } else { self.statement }
    }

    /// Wait for one answer. It is longer than the server's limit, because an answer to that says more than silence.
    pub(super) fn answer(self) -> Duration {
        self.on_server().saturating_mul(5) / 4
    }

    /// Longest wait for a usable connection.
    pub(super) fn acquire(self) -> Duration {
        self.patience.max(self.connect)
    }
}

tokio::task_local! {
    static IS_LONG: ();
}

/// Gives the statements in `work` an hour each instead of the usual seconds: for imports, migrations, backups and
/// deletions of many rows. A server that no longer answers still ends them within seconds. Spawned tasks are not
/// included. Changes nothing on SQLite.
pub async fn long_work<T>(work: impl Future<Output = T>) -> T {
    IS_LONG.scope((), work).await
}

/// True inside [`long_work`].
pub(super) fn is_long() -> bool {
    IS_LONG.try_with(|()| ()).is_ok()
}

/// Milliseconds for a server setting in which 0 means no limit.
pub(super) fn millis(time: Duration) -> u128 {
    time.as_millis().clamp(1, 2_147_483_647)
}
