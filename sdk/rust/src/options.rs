//! Settings of a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::pace::{Pace, SystemPace};
use crate::retry::RetryPolicy;

/// Settings of a client. The default is right for most.
#[derive(Clone)]
pub struct Options {
    pub(crate) timeout: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) tls: Option<rustls::ClientConfig>,
    pub(crate) pace: Arc<dyn Pace>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
            retry: RetryPolicy::default(),
            tls: None,
            pace: Arc::new(SystemPace),
        }
    }
}

impl Options {
    /// Time limit of each attempt, for the complete response [default: 60 seconds].
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Number and delays of repetitions.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// TLS of your own, for example with your certificate authority [default: rustls on ring, with the certificates
    /// of the system].
    #[must_use]
    pub fn tls(mut self, tls: rustls::ClientConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Time and randomness, for tests.
    #[must_use]
    pub fn pace(mut self, pace: Arc<dyn Pace>) -> Self {
        self.pace = pace;
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("timeout", &self.timeout)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}
