//! Counts and latencies of requests, by route.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use http::StatusCode;
use metrics::{Counter, Histogram, counter, histogram};
use pyxis_core::metric;

/// Label of requests without a route.
pub const UNMATCHED: &str = "unmatched";

/// Metrics of one route, kept for good: there are as many as the program has routes.
pub struct RouteMetrics {
    pattern: &'static str,
    seconds: Histogram,
    /// By position of the status label, registered at first use.
    answered: [OnceLock<Counter>; metric::STATUS_LABELS],
}

static ROUTES: LazyLock<RwLock<HashMap<&'static str, &'static RouteMetrics>>> =
    LazyLock::new(RwLock::default);

impl RouteMetrics {
    /// Metrics of the route with this pattern, which must be one of the program's.
    pub fn for_route(pattern: &str) -> &'static Self {
        if let Some(known) = ROUTES.read().unwrap_or_else(PoisonError::into_inner).get(pattern) {
            return known;
        }
        let mut routes = ROUTES.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = routes.get(pattern) {
            return known;
        }
        let pattern: &'static str = Box::leak(pattern.into());
        let made: &'static Self = Box::leak(Box::new(Self {
            pattern,
            seconds: histogram!(metric::HTTP_REQUEST_SECONDS.name, "route" => pattern),
            answered: [const { OnceLock::new() }; metric::STATUS_LABELS],
        }));
        routes.insert(pattern, made);
        made
    }

    /// The pattern of the route.
    pub const fn pattern(&self) -> &'static str {
        self.pattern
    }

    /// Counts a request that was answered after `took`.
    pub(crate) fn record_response(&self, status: StatusCode, took: Duration) {
        self.seconds.record(took.as_secs_f64());
        let (position, label) = metric::status_label(status.as_u16());
        let register = || counter!(metric::HTTP_REQUESTS.name, "route" => self.pattern, "status" => label);
        self.answered[position].get_or_init(register).increment(1);
    }
}
