//! Health of the parts that requests need.

use std::time::Duration;

use tokio::time::timeout;

use super::audit;
use crate::runtime::state::State;

/// Health of each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartsHealth {
    pub database: bool,
    pub audit: bool,
    pub resolver: bool,
}

impl PartsHealth {
    /// True if requests can be served.
    pub const fn ready(self) -> bool {
        self.database && self.audit && self.resolver
    }
}

/// Checks all parts at once, each for `limit` at most.
pub async fn check(state: &State, limit: Duration) -> PartsHealth {
    let database = timeout(limit, state.store.ping());
    let audit = timeout(limit, audit::answers(&state.store, &state.audit));
    let resolver = timeout(limit, state.net.resolver_answers());
    let (database, audit, resolver) = tokio::join!(database, audit, resolver);
    PartsHealth {
        database: matches!(database, Ok(Ok(()))),
        audit: matches!(audit, Ok(true)),
        resolver: matches!(resolver, Ok(true)),
    }
}
