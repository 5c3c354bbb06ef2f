//! The requests of one key in one window, as this process knows them.
//!
//! Near the limit every request waits for its count. Far from it a lane reserves requests in the database
//! before it spends them, so that hardly anybody waits. It notes each that it spends, so that what it did not
//! spend can be given back when it is gone, too.

use std::sync::Arc;
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_store::StoreError;
use pyxis_store::usage::Counted;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::spent_log::{Slot, SpentLog};

/// How many times itself a reservation leaves in the window. Another process refuses too early, for what is reserved
/// here and not spent, only if all of this is used up within the [`LIFE`] of the block.
const AMPLE: i64 = 10;
/// Most requests that are reserved and not spent.
const BLOCK: i64 = 20_000;
/// The same where so little is left that less would not be worth it.
const LEAST: i64 = 2000;
/// How long the database's last word is gone by, a block is kept, and failing work is left alone.
const LIFE: Duration = Duration::from_secs(1);

/// How many were in the window with this one, or `None` where it did not fit.
pub(super) type AdmissionCount = Result<Option<i64>, StoreError>;

/// What becomes of a request.
pub(super) enum WindowAdmission {
    /// It is let in; with it, so many are in the window.
    Admitted(i64),
    /// It has to wait for the count.
    Pending(oneshot::Receiver<AdmissionCount>),
}

/// What is to be done for a lane now. The outcome is told by the method of the same name.
#[derive(Debug)]
pub(super) enum WindowStep {
    /// These wait to be counted.
    Count(Waiting),
    /// So many are to be reserved in a slot, if the window then holds this at most. None, and no slot, to hear only
    /// how many it holds.
    Reserve { slot: Option<i64>, requests: i64, within: i64 },
    /// What is reserved in a slot is not needed, but for so many.
    GiveBack { slot: i64, spent: i64 },
    /// Nothing until then, or until the lane wakes its worker.
    Rest(Instant),
    /// Nothing ever again.
    End,
}

/// Requests that wait to be let in, first come first.
#[derive(Debug, Default)]
pub(super) struct Waiting(Vec<oneshot::Sender<AdmissionCount>>);

/// What the database said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Headroom {
    Far,
    /// Or not known yet.
    Near,
    Failed,
}

/// The state of a lane, while it has any.
pub(super) struct KeyWindow {
    limit: i64,
    /// Where what is spent is noted; without it nothing is reserved.
    ledger: Option<Arc<SpentLog>>,
    /// Where it is noted now.
    slot: Option<Slot>,
    standing: Headroom,
    /// How many are in the window, whoever counted them, without those that are reserved here and not spent.
    used: i64,
    unspent: i64,
    /// How many this lane let in.
    admitted: i64,
    waiting: Waiting,
    /// When the newest request came, as it is stored.
    latest: UnixMillis,
    /// The same for those who measure time.
    entered: Instant,
    /// When the database was asked last.
    asked: Instant,
    /// True if all that is reserved is to go back.
    closing: bool,
    wake: Arc<Notify>,
}

impl KeyWindow {
    pub(super) fn new(limit: i64, ledger: Option<Arc<SpentLog>>, at: Instant) -> Self {
        Self {
            limit,
            ledger,
            slot: None,
            standing: Headroom::Near,
            used: 0,
            unspent: 0,
            admitted: 0,
            waiting: Waiting::default(),
            latest: UnixMillis::default(),
            entered: at,
            asked: at,
            closing: false,
            wake: Arc::default(),
        }
    }

    /// Told whenever a [`Step::Rest`] is over early.
    pub(super) fn wake(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// When the newest request came.
    pub(super) const fn latest(&self) -> UnixMillis {
        self.latest
    }

    /// Takes in a request that came `now`, which is `at` for those who measure time.
    pub(super) fn enter(&mut self, now: UnixMillis, at: Instant) -> WindowAdmission {
        (self.latest, self.entered) = (self.latest.max(now), self.entered.max(at));
        // Nobody overtakes those who wait.
        if self.unspent == 0 || !self.waiting.0.is_empty() || !self.spend() {
            let (answer, place) = oneshot::channel();
            self.waiting.0.push(answer);
            self.wake.notify_one();
            return WindowAdmission::Pending(place);
        }
        if self.is_low() {
            self.wake.notify_one();
        }
        WindowAdmission::Admitted(self.used)
    }

    /// Lets one in of those that are reserved; whether that could be noted. If not, they are of no use.
    fn spend(&mut self) -> bool {
        if !self.slot.as_mut().is_some_and(Slot::spend) {
            (self.unspent, self.standing) = (0, Headroom::Failed);
            return false;
        }
        (self.unspent, self.used, self.admitted) = (self.unspent - 1, self.used + 1, self.admitted + 1);
        true
    }

    /// What to have in reserve: as long as a key is little used, little.
    fn block(&self) -> i64 {
        let left = self.limit.saturating_sub(self.used);
        (self.admitted / 2).min((left / (AMPLE + 1)).clamp(LEAST, BLOCK))
    }

    /// True if to reserve more, so early that nobody has to wait for it.
    fn is_low(&self) -> bool {
        2 * self.unspent < self.block()
    }

    /// What is to be done now.
    pub(super) fn next(&mut self, at: Instant) -> WindowStep {
        if !self.waiting.0.is_empty() {
            self.asked = at;
            return WindowStep::Count(std::mem::take(&mut self.waiting));
        }
        let due = at >= self.asked + LIFE;
        let stays = self.standing == Headroom::Far && !self.closing && at < self.entered + LIFE;
        if stays && (due || self.is_low()) {
            // None where less is left than there was: that only asks how much.
            let requests = (self.block() - self.unspent).max(0);
            if requests == 0 || self.has_slot() {
                self.asked = at;
                return WindowStep::Reserve {
                    slot: self.slot.as_ref().map(Slot::number).filter(|_| requests > 0),
                    requests,
                    within: self.limit.saturating_sub(AMPLE * requests.max(LEAST)),
                };
            }
            self.standing = Headroom::Near;
            return self.next(at);
        }
        if stays || self.standing == Headroom::Failed && !due && self.slot.is_some() {
            return WindowStep::Rest(self.asked + LIFE);
        }
        let Some(slot) = &self.slot else { return WindowStep::End };
        (self.asked, self.unspent) = (at, 0);
        WindowStep::GiveBack { slot: slot.number(), spent: slot.spent() }
    }

    /// True if there is a place to note what is spent.
    fn has_slot(&mut self) -> bool {
        if self.slot.is_none() {
            self.slot = self.ledger.as_ref().and_then(SpentLog::take);
        }
        self.slot.is_some()
    }

    /// Notes how a count went. The same, as it is for those who were counted: what is reserved here is not
    /// used.
    pub(super) fn counted(&mut self, counted: Result<Counted, StoreError>) -> Result<Counted, StoreError> {
        let counted = counted.inspect_err(|_| self.standing = Headroom::Failed)?;
        let is_far = self.limit.saturating_sub(counted.used) >= (AMPLE + 1) * LEAST;
        self.standing = if is_far { Headroom::Far } else { Headroom::Near };
        self.used = counted.used - self.unspent;
        self.admitted += counted.admitted;
        Ok(Counted { used: self.used, ..counted })
    }

    /// Requests that came while the database was busy with a statement that failed. They waited for the same, and would
    /// wait as long once more; with another outcome they stay where they are.
    pub(super) fn also_failed<T>(&mut self, outcome: &Result<T, StoreError>) -> Waiting {
        match outcome {
            Err(StoreError::Unavailable(_)) => std::mem::take(&mut self.waiting),
            _ => Waiting::default(),
        }
    }

    /// Notes how a reservation went: how many are now in the window, or `None` where it did not fit. Where
    /// nobody knows, nothing of it is spent.
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
        self.note_unclear(reserved);
    }

    /// Notes how giving back went. Where nobody knows, it can be done again.
    pub(super) fn gave_back(&mut self, gave_back: &Result<(), StoreError>) {
        self.note_unclear(gave_back);
        match gave_back {
            Ok(()) => self.slot = None,
            Err(_) => self.standing = Headroom::Failed,
        }
    }

    fn note_unclear<T>(&mut self, outcome: &Result<T, StoreError>) {
        if outcome.as_ref().is_err_and(StoreError::may_have_happened)
            && let Some(slot) = &mut self.slot
        {
            slot.is_unclear();
        }
    }

    /// Keeps nothing in reserve from here on.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.wake.notify_one();
    }
}

impl Waiting {
    /// How many requests, at least one.
    pub(super) fn len(&self) -> i64 {
        i64::try_from(self.0.len()).unwrap_or(i64::MAX)
    }

    /// Tells them: first come, first served.
    pub(super) fn tell(self, counted: &Result<Counted, StoreError>) {
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
            // Nobody waiting any more is fine: the request came.
            let _ = answer.send(outcome);
        }
    }
}

#[cfg(test)]
mod tests;
