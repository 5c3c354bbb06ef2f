//! Time that the server waits for the body of a request.
//!
//! Only waiting counts: a body that the handler or an upstream takes slowly costs its client nothing.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::refusal::MalformedRequest;
use super::{BODY_TIMEOUT, SLOWEST_BODY};

/// Waiting for one body.
pub(super) struct BodyWait {
    /// Total time for a body of no length.
    limit: Duration,
    waited: Duration,
    /// Bytes that arrived.
    received: u64,
    /// Start of the current wait.
    since: Option<Instant>,
    /// Created at the first wait.
    timer: Option<Pin<Box<Sleep>>>,
}

impl BodyWait {
    pub(super) const fn new(limit: Duration) -> Self {
        Self { limit, waited: Duration::ZERO, received: 0, since: None, timer: None }
    }

    /// Starts over with the next body of the same connection.
    pub(super) fn restart(&mut self) {
        (self.waited, self.received, self.since) = (Duration::ZERO, 0, None);
    }

    /// Ends the current wait, if any.
    pub(super) fn end_wait(&mut self, bytes: usize) {
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
        }
        self.received += bytes as u64;
    }

    /// Waits on. Resolves with the reason once the body is too slow.
    pub(super) fn poll_too_slow(&mut self, context: &mut Context<'_>) -> Poll<MalformedRequest> {
        let left = self.time_left();
        let timer = match (self.since, &mut self.timer) {
            (Some(_), Some(timer)) => timer,
            (_, timer) => {
                let now = Instant::now();
                self.since = Some(now);
                let deadline = now + left.min(BODY_TIMEOUT);
                let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
                timer.as_mut().reset(deadline);
                timer
            }
        };
        ready!(timer.as_mut().poll(context));
        let is_stalled = left > BODY_TIMEOUT;
        Poll::Ready(if is_stalled { MalformedRequest::StalledBody } else { MalformedRequest::SlowBody })
    }

    /// Time that is left for waiting, as of the start of the current wait.
    fn time_left(&self) -> Duration {
        let earned = Duration::from_secs(self.received / SLOWEST_BODY);
        self.limit.saturating_add(earned).saturating_sub(self.waited)
    }
}

/// Reason that a body ended too early, seen from outside of it.
#[derive(Debug, Default)]
pub(super) struct SlowBodyFlag(AtomicU8);

impl SlowBodyFlag {
    pub(super) fn set(&self, reason: MalformedRequest) {
        self.0.store(reason as u8 + 1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Option<MalformedRequest> {
        MalformedRequest::from_number(self.0.load(Ordering::Relaxed).checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// True if the wait is over within this time.
    async fn is_over(wait: &mut BodyWait, time: Duration) -> bool {
        tokio::time::timeout(time, poll_fn(|context| wait.poll_too_slow(context))).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn each_body_of_a_connection_has_its_own_time() {
        let mut wait = BodyWait::new(BODY_TIMEOUT);
        for _ in 0..3 {
            for _ in 0..3 {
                assert!(!is_over(&mut wait, BODY_TIMEOUT / 4).await);
                wait.end_wait(1);
            }
            wait.restart();
        }
        for _ in 0..3 {
            assert!(!is_over(&mut wait, BODY_TIMEOUT / 4).await);
            wait.end_wait(1);
        }
        assert!(is_over(&mut wait, BODY_TIMEOUT / 2).await);
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_earn_time() {
        let mut wait = BodyWait::new(Duration::from_secs(1));
        wait.end_wait(usize::try_from(SLOWEST_BODY).unwrap() * 2);
        assert!(!is_over(&mut wait, Duration::from_millis(2_900)).await);
        assert!(is_over(&mut wait, Duration::from_secs(1)).await);
    }
}
