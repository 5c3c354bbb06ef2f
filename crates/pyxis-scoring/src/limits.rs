//! Rate limits (Spec 1, Limits): exact, in windows of a quarter of an hour, whoever else counts.
//!
//! Every request is counted in the database before it is answered, alone or in a block that was reserved.

mod lane;
mod limiter;

use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) use limiter::Limiter;

/// Requests in a window of the Stamps endpoints, for a tier and the key's own number in tier 4.
pub fn limit_of_stamps(tier: i64, own: Option<i64>) -> i64 {
    match tier {
        4 => own.unwrap_or(2000),
        3 => 2000,
        2 => 350,
        _ => 125,
    }
}

/// Requests in a window of the models endpoint.
pub fn limit_of_models(tier: i64, own: Option<i64>) -> i64 {
    match tier {
        4 => own.unwrap_or(2000),
        3 => 2000,
        2 => 350,
        _ => 15,
    }
}

/// What is left of a key's window.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: i64,
    remaining: i64,
    /// Seconds until the next window.
    pub(crate) reset_secs: u64,
}

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

impl Budget {
    /// Tells the client.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(self.reset_secs));
    }
}
