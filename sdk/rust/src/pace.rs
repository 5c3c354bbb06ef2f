//! Time and randomness of a client, which tests replace.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;

/// Time and randomness.
pub trait Pace: Send + Sync {
    /// Waits.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    /// A random number from 0 to 1. Delays are not secret.
    fn jitter(&self) -> f64;
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// An idempotency key that no other request has.
    fn new_key(&self) -> String;
}

/// The clock and the random numbers of the system, on tokio.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemPace;

impl Pace for SystemPace {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn jitter(&self) -> f64 {
        fastrand::f64()
    }

    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn new_key(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}
