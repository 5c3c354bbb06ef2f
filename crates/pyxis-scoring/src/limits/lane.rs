//! The requests of one key in one window, as this process knows them.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use pyxis_core::clock::UnixMillis;
use pyxis_store::StoreError;
use pyxis_store::usage::Counted;

use super::limiter::PAUSE;

/// A window with more than this left is far from its limit: a request is let in first and counted just
/// after. Other nodes would have to let in as many while a count is [`FRESH`] to make that wrong.
const AMPLE: i64 = 20_000;
/// How long a count is gone by. Where the next one takes longer, requests wait for it: meanwhile nodes that
/// the database answers may use up the window.
const FRESH: Duration = PAUSE.saturating_mul(5);
/// Most requests that are let in and not counted yet: more than one node answers within a pause.
const AHEAD: i64 = 4_000;

/// How many were in the window with this one, or `None` where it did not fit.
pub(super) type Answer = Result<Option<i64>, StoreError>;

/// Requests that are counted together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// When the newest of them came.
    pub(super) latest: UnixMillis,
    /// Let in already.
    ahead: i64,
    /// Who waits to be let in.
    waiting: Vec<oneshot::Sender<Answer>>,
}

/// What becomes of a request.
pub(super) enum Place {
    /// It is let in; with it, so many are in the window.
    In(i64),
    /// It has to wait for the count.
    Waits(oneshot::Receiver<Answer>),
}

/// What the last count told.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// How many were in the window, whoever counted them.
    used: i64,
    /// When the database was asked.
    at: Instant,
}

/// The state of a lane while anything in it is not counted.
#[derive(Debug, Default)]
pub(super) struct Lane {
    known: Option<Known>,
    /// Let in, and in the batch that is being counted.
    counting: i64,
    next: Batch,
}

impl Lane {
    /// Takes in a request that came `now`, which is `at` for those who measure time.
    pub(super) fn enter(&mut self, limit: i64, now: UnixMillis, at: Instant) -> Place {
        self.next.latest = self.next.latest.max(now);
        if let Some(used) = self.ahead_of_count(limit, at) {
            self.next.ahead += 1;
            return Place::In(used);
        }
        let (answer, place) = oneshot::channel();
        self.next.waiting.push(answer);
        Place::Waits(place)
    }

    /// The number of a request that need not wait. Nobody overtakes those who do.
    fn ahead_of_count(&self, limit: i64, at: Instant) -> Option<i64> {
        let known = self.known.filter(|known| at.saturating_duration_since(known.at) <= FRESH)?;
        let uncounted = self.counting + self.next.ahead;
        let used = known.used.saturating_add(uncounted).saturating_add(1);
        let fits = limit.saturating_sub(used) >= AMPLE && uncounted < AHEAD && self.next.waiting.is_empty();
        fits.then_some(used)
    }

    /// What is to be counted now.
    pub(super) fn begin(&mut self) -> Batch {
        // Time goes on from there, also where what failed to be counted is all that is left.
        let next = Batch { latest: self.next.latest, ..Batch::default() };
        let batch = std::mem::replace(&mut self.next, next);
        self.counting = batch.ahead;
        batch
    }

    /// Notes how the count of the last batch went, which was asked for `at` that moment. What was let in and
    /// could not be counted is counted with the next.
    pub(super) fn end(&mut self, counted: &Result<Counted, StoreError>, at: Instant) {
        let counting = std::mem::take(&mut self.counting);
        self.known = counted.as_ref().ok().map(|counted| Known { used: counted.used, at });
        if counted.is_err() {
            self.next.ahead += counting;
        }
    }

    /// Whether nothing is left to count.
    pub(super) fn is_idle(&self) -> bool {
        self.next.is_empty()
    }

    /// Whether everything that is left to count was let in already.
    pub(super) fn is_patient(&self) -> bool {
        self.next.waiting.is_empty()
    }
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.ahead == 0 && self.waiting.is_empty()
    }

    /// How many requests, at least one.
    pub(super) fn len(&self) -> i64 {
        i64::try_from(self.waiting.len()).unwrap_or(i64::MAX).saturating_add(self.ahead)
    }

    /// Tells those who wait: first come, first served.
    pub(super) fn tell(self, counted: &Result<Counted, StoreError>) {
        let mut number = counted.as_ref().map_or(0, |counted| counted.used - counted.admitted + self.ahead);
        let last = counted.as_ref().map_or(0, |counted| counted.used);
        for answer in self.waiting {
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
mod tests {
    use std::sync::LazyLock;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_700_000_000_000);
    /// The clock of these tests stands here until one of them moves it.
    static AT: LazyLock<Instant> = LazyLock::new(Instant::now);

    const fn counted(admitted: i64, used: i64) -> Counted {
        Counted { admitted, used }
    }

    fn waits(lane: &mut Lane, limit: i64) -> bool {
        matches!(lane.enter(limit, NOW, *AT), Place::Waits(_))
    }

    /// A lane that has just learned how many are in the window.
    fn told(used: i64) -> Lane {
        let mut lane = Lane::default();
        lane.end(&Ok(counted(0, used)), *AT);
        lane
    }

    #[test]
    fn the_first_request_waits_and_those_after_a_count_do_not_while_the_limit_is_far() {
        let mut lane = Lane::default();
        let Place::Waits(mut first) = lane.enter(100_000, NOW, *AT) else { panic!("nothing is known yet") };
        let batch = lane.begin();
        assert_eq!(batch.len(), 1);
        let outcome = Ok(counted(1, 5_000));
        lane.end(&outcome, *AT);
        batch.tell(&outcome);
        assert_eq!(first.try_recv().unwrap().unwrap(), Some(5_000));
        assert!(lane.is_idle());
        assert!(matches!(lane.enter(100_000, NOW, *AT), Place::In(5_001)));
        assert!(matches!(lane.enter(100_000, NOW, *AT), Place::In(5_002)));
        assert!(lane.is_patient() && !lane.is_idle());
        assert_eq!(lane.begin().len(), 2);
        assert!(
            matches!(lane.enter(100_000, NOW, *AT), Place::In(5_003)),
            "what is being counted is in the number"
        );
    }

    #[test]
    fn near_the_limit_every_request_waits_for_the_count() {
        let mut lane = told(2_000);
        let limit = 2_001 + AMPLE;
        assert!(matches!(lane.enter(limit, NOW, *AT), Place::In(2_001)));
        assert!(waits(&mut lane, limit));
        assert!(waits(&mut lane, 1_000_000), "nobody overtakes those who wait");
    }

    #[test]
    fn no_more_than_a_bounded_number_is_let_in_uncounted() {
        let mut lane = told(0);
        let let_in = (0..2 * AHEAD).filter(|_| !waits(&mut lane, i64::MAX)).count();
        assert_eq!(i64::try_from(let_in).unwrap(), AHEAD);
    }

    #[test]
    fn what_is_known_lets_nobody_in_once_it_is_older_than_a_few_pauses_and_a_new_count_does_again() {
        let waits_after = |age: Duration| {
            let mut lane = told(0);
            assert!(!waits(&mut lane, i64::MAX));
            // The database takes its time over this one.
            drop(lane.begin());
            let place = lane.enter(i64::MAX, NOW, *AT + age);
            (matches!(place, Place::Waits(_)), lane)
        };
        assert!(!waits_after(2 * PAUSE).0, "as old as it gets while the database answers");
        assert!(!waits_after(FRESH).0);
        let (waited, mut lane) = waits_after(FRESH + Duration::from_millis(1));
        assert!(waited);
        drop(lane.begin());
        lane.end(&Ok(counted(2, 2)), *AT + FRESH);
        assert!(matches!(lane.enter(i64::MAX, NOW, *AT + 2 * FRESH), Place::In(3)));
    }

    #[test]
    fn what_was_let_in_and_not_counted_is_counted_with_the_next_and_no_one_is_let_in_meanwhile() {
        let mut lane = told(0);
        assert!(!waits(&mut lane, i64::MAX));
        drop(lane.begin());
        lane.end(&Err(StoreError::Aborted), *AT);
        assert!(waits(&mut lane, i64::MAX));
        let batch = lane.begin();
        assert_eq!(batch.len(), 2);
    }

    #[test]
    fn a_batch_is_of_the_time_of_its_newest_request_whatever_the_order_they_come_in() {
        let mut lane = Lane::default();
        let later = NOW.plus(Duration::from_secs(5));
        drop((lane.enter(10, later, *AT), lane.enter(10, NOW, *AT)));
        assert_eq!(lane.begin().latest, later);
        lane.end(&Err(StoreError::Aborted), *AT);
        drop(lane.enter(10, NOW, *AT));
        assert_eq!(lane.begin().latest, later);
    }

    #[test]
    fn those_who_wait_come_after_those_who_were_let_in() {
        let mut lane = told(0);
        assert!(!waits(&mut lane, 2 * AMPLE));
        let Place::Waits(mut one) = lane.enter(5, NOW, *AT) else { panic!("a limit of five is near") };
        let Place::Waits(mut two) = lane.enter(5, NOW, *AT) else { panic!("a limit of five is near") };
        let batch = lane.begin();
        batch.tell(&Ok(counted(2, 5)));
        assert_eq!(one.try_recv().unwrap().unwrap(), Some(5));
        assert_eq!(two.try_recv().unwrap().unwrap(), None);
    }
}
