//! Limits on open event streams, in total and per person, so that no one person uses them all up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyxis_core::id::UserId;

/// Open event streams in one process. More are refused, and those inboxes are reloaded by hand.
const MAX: usize = 1024;
/// Open event streams of one person.
const MAX_OF_ONE: usize = 16;

/// The open streams of each person who has any. A cheap clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct SseLimiter(Arc<Mutex<HashMap<UserId, usize>>>);

/// One open stream; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct SseGuard {
    streams: SseLimiter,
    person: UserId,
}

impl SseLimiter {
    /// Opens one more stream for a person; `None` at the limit.
    pub(crate) fn open(&self, person: UserId) -> Option<SseGuard> {
        self.with_counts(|of| {
            let (all, theirs) = (of.values().sum::<usize>(), of.get(&person).copied().unwrap_or(0));
            (all < MAX && theirs < MAX_OF_ONE).then(|| of.insert(person, theirs + 1))
        })?;
        Some(SseGuard { streams: self.clone(), person })
    }

    fn with_counts<T>(&self, change: impl FnOnce(&mut HashMap<UserId, usize>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for SseGuard {
    fn drop(&mut self) {
        self.streams.with_counts(|of| {
            if let Some(theirs) = of.get_mut(&self.person) {
                *theirs -= 1;
            }
            of.retain(|_, theirs| *theirs > 0);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> impl Iterator<Item = UserId> {
        (0..).map(|n| format!("00000000-0000-7000-8000-{n:012}").parse().unwrap())
    }

    #[test]
    fn one_person_has_so_many_streams_and_another_has_theirs() {
        let streams = SseLimiter::default();
        let [ada, bo] = [0, 1].map(|n| people().nth(n).unwrap());
        let mut open: Vec<SseGuard> = (0..MAX_OF_ONE).map(|_| streams.open(ada).unwrap()).collect();
        assert!(streams.open(ada).is_none());
        assert!(streams.open(bo).is_some());
        open.pop();
        assert!(streams.open(ada).is_some(), "one that ended makes room");
        drop(open);
        assert!(streams.0.lock().unwrap().is_empty(), "who has none is not remembered");
    }

    #[test]
    fn all_people_together_have_so_many() {
        let streams = SseLimiter::default();
        let open: Vec<SseGuard> = people().take(MAX).map(|person| streams.open(person).unwrap()).collect();
        let next = people().nth(MAX).unwrap();
        assert!(streams.open(next).is_none());
        drop(open);
        assert!(streams.open(next).is_some());
    }
}
