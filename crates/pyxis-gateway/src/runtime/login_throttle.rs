//! Sign-in attempts with unknown email addresses. They are locked like existing accounts, so that a lock does not
//! simply reveal which accounts exist. Each process counts separately in memory. Someone who queries several nodes, or
//! tries more addresses than are stored, can still tell.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyxis_core::clock::UnixMillis;

use crate::runtime::resolve::key_hash;

/// Maximum number of addresses. Beyond it, the one tried longest ago is dropped.
const MOST: usize = 10_000;

/// Addresses that were tried.
#[derive(Default)]
pub(crate) struct UnknownEmailThrottle(Mutex<HashMap<[u8; 32], Tries>>);

#[derive(Default)]
struct Tries {
    failures: u32,
    last: UnixMillis,
    locked_until: UnixMillis,
}

impl UnknownEmailThrottle {
    /// Counts an attempt, unless the address is locked; then returns the end of the lock. The attempt that reaches
    /// `max` locks it for `lock_for` and resets the counter.
    pub(crate) fn attempt(
        &self,
        email: &str,
        now: UnixMillis,
        max: u32,
        lock_for: Duration,
    ) -> Option<UnixMillis> {
        let address = key_hash(&pyxis_store::normalize_name(email));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&address) {
            let oldest = all.iter().min_by_key(|(_, tries)| tries.last).map(|(address, _)| *address);
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        let tries = all.entry(address).or_default();
        if now < tries.locked_until {
            return Some(tries.locked_until);
        }
        (tries.failures, tries.last) = (tries.failures + 1, now);
        if tries.failures >= max {
            (tries.failures, tries.locked_until) = (0, now.plus(lock_for));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Duration = Duration::from_mins(15);

    fn at(millis: i64) -> UnixMillis {
        UnixMillis(1_700_000_000_000 + millis)
    }

    #[test]
    fn the_last_try_of_five_locks_the_address_for_a_quarter_of_an_hour_in_any_spelling() {
        let strangers = UnknownEmailThrottle::default();
        let attempt = |email: &str, now| strangers.attempt(email, now, 5, LOCK);
        for millis in 0..5 {
            assert_eq!(attempt("Nobody@people.example", at(millis)), None);
        }
        let until = at(4).plus(LOCK);
        assert_eq!(attempt(" nobody@PEOPLE.example", at(5)), Some(until));
        assert_eq!(attempt("somebody@people.example", at(5)), None);
        for _ in 0..5 {
            assert_eq!(attempt("nobody@people.example", until), None);
        }
        assert_eq!(attempt("nobody@people.example", until), Some(until.plus(LOCK)));
    }

    #[test]
    fn however_many_addresses_are_tried_only_the_latest_are_kept() {
        let strangers = UnknownEmailThrottle::default();
        let try_number =
            |number: i64| strangers.attempt(&format!("{number}@people.example"), at(number), 1, LOCK);
        let most = i64::try_from(MOST).unwrap();
        for number in 0..most + 10 {
            assert_eq!(try_number(number), None);
        }
        assert_eq!(strangers.0.lock().unwrap().len(), MOST);
        assert!(try_number(most + 9).is_some() && try_number(10).is_some());
        assert_eq!(try_number(9), None, "forgotten");
    }
}
