//! The database, behind the program's back.

use crate::postgres::Database;

/// Runs statements and returns the first column of every row, as text.
pub(super) fn postgres(database: &Database, statements: &str) -> Vec<String> {
    apart(database.run(statements))
}

/// Drops a database, even while the test's runtime shuts down.
pub(super) fn remove(database: Database) {
    apart(database.remove());
}

/// Runs on a thread with its own runtime, so that it can be called from anywhere.
fn apart<T: Send>(work: impl Future<Output = T> + Send) -> T {
    let on_its_own = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(work)
    };
    std::thread::scope(|scope| scope.spawn(on_its_own).join().expect("work that succeeds"))
}
