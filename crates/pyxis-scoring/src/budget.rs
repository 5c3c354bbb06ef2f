//! Rate-limit headers of every response.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Requests left in a key's current window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    pub(crate) limit: i64,
    pub(crate) remaining: i64,
    /// Seconds until the next window.
    pub(crate) reset_secs: u64,
}

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

impl Budget {
    /// Writes the rate-limit headers.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(self.reset_secs));
    }
}
