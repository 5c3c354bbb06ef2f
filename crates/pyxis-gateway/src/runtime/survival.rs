//! Panics in background work: caught, logged and counted, so that one fault does not end a loop.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use pyxis_core::metric;

use crate::error::{Error, Result};
use crate::runtime::work::Stop;

/// Pause before a panicked loop restarts.
const PAUSE: Duration = Duration::from_secs(3);

/// Error that replaces the result of panicked work.
#[derive(Debug, thiserror::Error)]
#[error("the background task `{0}` panicked")]
struct Panicked(&'static str);

/// Runs `work` and converts a panic to an error. The panic hook handles the message.
///
/// Everything that the work held is dropped, so transactions are rolled back. State shared with other tasks stays
/// usable, because locks here ignore poisoning.
pub(crate) async fn caught<T>(name: &'static str, work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(
            work = name,
            "a background task panicked and restarts after a pause; please report this bug"
        );
        metrics::counter!(metric::BACKGROUND_PANICS.name, "work" => name).increment(1);
        Err(Error::Internal(Panicked(name).into()))
    })
}

/// Runs a loop until it returns. Restarts it after a panic, unless the process is stopping.
pub(crate) async fn restarted<F: Future<Output = ()>>(
    name: &'static str,
    stop: Stop,
    run: impl FnMut() -> F,
) {
    restarted_after(PAUSE, name, stop, run).await;
}

async fn restarted_after<F: Future<Output = ()>>(
    pause: Duration,
    name: &'static str,
    mut stop: Stop,
    mut run: impl FnMut() -> F,
) {
    loop {
        let ended = caught(name, async {
            run().await;
            Ok(())
        });
        if ended.await.is_ok() || *stop.borrow() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::watch;

    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_error_and_results_pass() {
        assert_eq!(caught("test", async { Ok(1) }).await.unwrap(), 1);
        let passed = caught::<()>("test", async { Err(Error::not_found("thing")) }).await;
        assert!(matches!(passed, Err(Error::NotFound(_))));
        let caught = caught::<()>("test", async {
            tokio::task::yield_now().await;
            panic!("out of cheese")
        });
        let Err(Error::Internal(source)) = caught.await else { panic!("not caught") };
        assert_eq!(source.to_string(), "the background task `test` panicked");
    }

    #[tokio::test]
    async fn a_loop_that_panics_starts_again_and_one_that_returns_does_not() {
        let (_stop, stopping) = watch::channel(false);
        let runs = AtomicUsize::new(0);
        restarted_after(Duration::ZERO, "test", stopping, || async {
            let run = runs.fetch_add(1, Ordering::Relaxed);
            assert!(run == 2, "panics twice");
        })
        .await;
        assert_eq!(runs.into_inner(), 3);
    }

    #[tokio::test]
    async fn a_loop_that_panics_while_the_process_stops_ends() {
        let (stop, stopping) = watch::channel(false);
        let runs = AtomicUsize::new(0);
        restarted_after(Duration::ZERO, "test", stopping, || async {
            runs.fetch_add(1, Ordering::Relaxed);
            stop.send_replace(true);
            panic!("while stopping");
        })
        .await;
        assert_eq!(runs.into_inner(), 1);
    }
}
