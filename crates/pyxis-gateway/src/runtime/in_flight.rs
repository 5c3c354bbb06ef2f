//! Requests on the wire that passed without asking a person, and the audit record up to which all others have their
//! outcome.
//!
//! Requests are not written down one by one. Each belongs to an epoch, which begins at every heartbeat with the number
//! of the newest audit record by then. A request's own record is later than that of its epoch. Once all requests of the
//! oldest epochs have ended, everything before the next one is settled. What a dead node may have left is therefore
//! among the records after its last settled one.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

/// Requests on the wire.
pub(crate) struct InFlight(RwLock<VecDeque<Epoch>>);

struct Epoch {
    /// Newest audit record when the epoch began.
    begins_after: i64,
    /// Held by every request of the epoch.
    requests: Arc<()>,
}

/// One request on the wire; ends when its outcome was handed to the audit trail.
pub(crate) struct InFlightRequest(#[expect(dead_code, reason = "counted by its pointer")] Arc<()>);

impl Default for InFlight {
    fn default() -> Self {
        Self(RwLock::new(VecDeque::from([Epoch { begins_after: 0, requests: Arc::default() }])))
    }
}

impl InFlight {
    /// Registers a request, before its audit record is stored.
    pub(crate) fn register(&self) -> InFlightRequest {
        let epochs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        InFlightRequest(epochs.back().map(|epoch| Arc::clone(&epoch.requests)).unwrap_or_default())
    }

    /// Begins an epoch; `newest` is the number of the newest audit record. Returns the record up to which every request
    /// has handed over its outcome.
    pub(crate) fn advance(&self, newest: i64) -> i64 {
        let mut epochs = self.0.write().unwrap_or_else(PoisonError::into_inner);
        epochs.push_back(Epoch { begins_after: newest, requests: Arc::default() });
        while epochs.len() > 1 && epochs.front().is_some_and(|epoch| Arc::strong_count(&epoch.requests) == 1)
        {
            epochs.pop_front();
        }
        epochs.front().map_or(newest, |epoch| epoch.begins_after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_before_the_oldest_request_is_settled() {
        let in_flight = InFlight::default();
        assert_eq!(in_flight.advance(10), 10);
        let early = in_flight.register();
        assert_eq!(in_flight.advance(20), 10);
        let late = in_flight.register();
        assert_eq!(in_flight.advance(30), 10);
        drop(early);
        assert_eq!(in_flight.advance(40), 20);
        drop(late);
        assert_eq!(in_flight.advance(50), 50);
    }

    #[test]
    fn epochs_without_requests_are_forgotten() {
        let in_flight = InFlight::default();
        let long = in_flight.register();
        for newest in 1..=100 {
            assert_eq!(in_flight.advance(newest), 0);
        }
        drop(long);
        assert_eq!(in_flight.advance(101), 101);
        assert_eq!(in_flight.0.read().unwrap().len(), 1);
    }
}
