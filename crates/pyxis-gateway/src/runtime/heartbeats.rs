//! This node's own heartbeats, which tell whether the database could be written all the time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyxis_core::clock::UnixMillis;

/// Times of this node's heartbeats.
#[derive(Default)]
pub(crate) struct Heartbeats(Mutex<Times>);

#[derive(Default)]
struct Times {
    last: Option<UnixMillis>,
    /// First heartbeat after the latest gap; `None` without one.
    resumed: Option<UnixMillis>,
}

impl Heartbeats {
    /// Notes a heartbeat. Returns true if there was no gap within `window`.
    ///
    /// After a gap the silence of others says nothing: the database was away for them too.
    pub(crate) fn record(&self, now: UnixMillis, window: Duration) -> bool {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.last.is_some_and(|last| now.since(last) > window / 2) {
            times.resumed = Some(now);
        }
        times.last = Some(now);
        times.resumed.is_none_or(|resumed| now.since(resumed) > window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_judged_again_only_when_they_had_time_for_a_heartbeat_after_a_gap() {
        let (beats, window) = (Heartbeats::default(), Duration::from_secs(20));
        let judges = |second: i64| beats.record(UnixMillis(second * 1000), window);
        assert!(judges(0) && judges(5) && judges(15));
        assert!(!judges(30) && !judges(35) && !judges(45) && !judges(50));
        assert!(judges(51) && judges(56));
        assert!(!judges(67));
    }
}
