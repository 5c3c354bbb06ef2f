//! One key's requests in one window, as this process knows them.
//!
//! Near the limit, every request waits for its count. Far from it, a window reserves requests in the database before
//! it spends them, so that few requests wait. If the process is killed, or the outcome of a statement remains
//! unknown, the unspent ones stay counted until the window ends. That is at most a tenth of what was left.

use std::sync::Arc;
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_store::StoreError;
use pyxis_store::usage::Counted;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// A reservation leaves at least this many times its size in the window. Another process refuses too early, because of
/// unspent reservations here, only if all of this is used up within the block's [`LIFE`].
const AMPLE: i64 = 10;
/// Maximum number of reserved, unspent requests.
const BLOCK: i64 = 20_000;
/// Lower bound of that maximum as the window fills: less would not be worthwhile.
const LEAST: i64 = 2000;
/// Time for which the database's last answer is used, a block is kept, and failing work is paused.
const LIFE: Duration = Duration::from_secs(1);

/// Number of requests in the window including this one, or `None` if it did not fit.
pub(super) type AdmissionCount = Result<Option<i64>, StoreError>;

/// Outcome for a request.
pub(super) enum WindowAdmission {
    /// Admitted. The count includes this request.
    Admitted(i64),
    /// Waits for the count.
    Pending(oneshot::Receiver<AdmissionCount>),
}

/// The window's next step. Its outcome is reported with the method of the same name.
#[derive(Debug)]
pub(super) enum WindowStep {
    /// Count these waiting requests.
    Count(PendingAdmissions),
    /// Reserve this many if the window then holds at most `within`. Zero requests only read how many it holds.
    Reserve { requests: i64, within: i64 },
    /// Release this many reserved requests.
    GiveBack { requests: i64 },
    /// Wait until then, or until the window wakes its worker.
    Rest(Instant),
    /// End the worker.
    End,
}

/// Requests that wait to be admitted, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct PendingAdmissions(Vec<oneshot::Sender<AdmissionCount>>);

/// The database's last answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Headroom {
    Far,
    /// Near the limit, or not known yet.
    Near,
    Failed,
}

/// The state of an active window.
pub(super) struct KeyWindow {
    limit: i64,
    standing: Headroom,
    /// Requests in the window, from all processes, without this window's unspent reservations.
    used: i64,
    unspent: i64,
    /// Requests that this window admitted.
    admitted: i64,
    waiting: PendingAdmissions,
    /// Time of the newest request, as stored.
    latest: UnixMillis,
    /// The same on the monotonic clock.
    entered: Instant,
    /// Time of the last database query.
    asked: Instant,
    /// True if all reservations are to be released.
    closing: bool,
    wake: Arc<Notify>,
}

impl KeyWindow {
    pub(super) fn new(limit: i64, at: Instant) -> Self {
        Self {
            limit,
            standing: Headroom::Near,
            used: 0,
            unspent: 0,
            admitted: 0,
            waiting: PendingAdmissions::default(),
            latest: UnixMillis::default(),
            entered: at,
            asked: at,
            closing: false,
            wake: Arc::default(),
        }
    }

    /// Notified whenever a [`WindowStep::Rest`] ends early.
    pub(super) fn wake(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// Time of the newest request.
    pub(super) const fn latest(&self) -> UnixMillis {
        self.latest
    }

    /// Adds a request that arrived at `now`; `at` is the same moment on the monotonic clock.
    pub(super) fn admit(&mut self, now: UnixMillis, at: Instant) -> WindowAdmission {
        (self.latest, self.entered) = (self.latest.max(now), self.entered.max(at));
        // No request overtakes those that wait.
        if self.unspent == 0 || !self.waiting.0.is_empty() {
            let (answer, place) = oneshot::channel();
            self.waiting.0.push(answer);
            self.wake.notify_one();
            return WindowAdmission::Pending(place);
        }
        (self.unspent, self.used, self.admitted) = (self.unspent - 1, self.used + 1, self.admitted + 1);
        if self.is_low() {
            self.wake.notify_one();
        }
        WindowAdmission::Admitted(self.used)
    }

    /// Target reservation: small while the key is little used.
    fn block(&self) -> i64 {
        let left = self.limit.saturating_sub(self.used);
        (self.admitted / 2).min((left / (AMPLE + 1)).clamp(LEAST, BLOCK))
    }

    /// True if it is time to reserve more, early enough that no request waits.
    fn is_low(&self) -> bool {
        2 * self.unspent < self.block()
    }

    pub(super) fn next(&mut self, at: Instant) -> WindowStep {
        if !self.waiting.0.is_empty() {
            self.asked = at;
            return WindowStep::Count(std::mem::take(&mut self.waiting));
        }
        let due = at >= self.asked + LIFE;
        let stays = self.standing == Headroom::Far && !self.closing && at < self.entered + LIFE;
        if stays && (due || self.is_low()) {
            // Zero if less is left than before: the step then only reads the count.
            let requests = (self.block() - self.unspent).max(0);
            self.asked = at;
            let within = self.limit.saturating_sub(AMPLE * requests.max(LEAST));
            return WindowStep::Reserve { requests, within };
        }
        if stays || self.standing == Headroom::Failed && !due && self.unspent > 0 {
            return WindowStep::Rest(self.asked + LIFE);
        }
        if self.unspent == 0 {
            return WindowStep::End;
        }
        self.asked = at;
        // None of it is spent from now on.
        WindowStep::GiveBack { requests: std::mem::take(&mut self.unspent) }
    }

    /// Records the result of a count, and returns it as the counted requests see it: without this window's unused
    /// reservation.
    pub(super) fn record_count(
        &mut self,
        counted: Result<Counted, StoreError>,
    ) -> Result<Counted, StoreError> {
        let counted = counted.inspect_err(|_| self.standing = Headroom::Failed)?;
        let is_far = self.limit.saturating_sub(counted.used) >= (AMPLE + 1) * LEAST;
        self.standing = if is_far { Headroom::Far } else { Headroom::Near };
        self.used = counted.used - self.unspent;
        self.admitted += counted.admitted;
        Ok(Counted { used: self.used, ..counted })
    }

    /// Requests that arrived while a failing statement ran. They waited for the same result and would wait as long
    /// again. With any other outcome they stay queued.
    pub(super) fn also_failed<T>(&mut self, outcome: &Result<T, StoreError>) -> PendingAdmissions {
        match outcome {
            Err(StoreError::Unavailable(_)) => std::mem::take(&mut self.waiting),
            _ => PendingAdmissions::default(),
        }
    }

    /// Records the result of a reservation: the number now in the window, or `None` if it did not fit. If the outcome
    /// is unknown, nothing of it is spent.
    pub(super) fn reserved(&mut self, requests: i64, reserved: &Result<Option<i64>, StoreError>) {
        self.standing = match *reserved {
            Ok(Some(all)) => {
                self.unspent += requests;
                self.used = all - self.unspent;
                Headroom::Far
            }
            Ok(None) => Headroom::Near,
            Err(_) => Headroom::Failed,
        };
    }

    /// Records the result of a release of this many. If the outcome is unknown, they stay counted.
    pub(super) fn gave_back(&mut self, requests: i64, gave_back: &Result<(), StoreError>) {
        let Err(error) = gave_back else { return };
        self.standing = Headroom::Failed;
        if !error.may_have_happened() {
            self.unspent += requests;
        }
    }

    /// Stops reserving.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.wake.notify_one();
    }
}

impl PendingAdmissions {
    /// The number of requests, at least one.
    pub(super) fn len(&self) -> i64 {
        i64::try_from(self.0.len()).unwrap_or(i64::MAX)
    }

    /// Sends each its result: first come, first served.
    pub(super) fn send_results(self, counted: &Result<Counted, StoreError>) {
        let mut number = counted.as_ref().map_or(0, |counted| counted.used - counted.admitted);
        let last = counted.as_ref().map_or(0, |counted| counted.used);
        for answer in self.0 {
            let outcome = match counted {
                Err(error) => Err(error.clone()),
                Ok(_) if number < last => {
                    number += 1;
                    Ok(Some(number))
                }
                Ok(_) => Ok(None),
            };
            // Fine if no one waits any more: the request arrived.
            let _ = answer.send(outcome);
        }
    }
}

#[cfg(test)]
mod tests;
