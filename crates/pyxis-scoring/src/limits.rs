//! Rate limits (Spec 1, Limits): exact, in windows of a quarter of an hour, whoever else counts.
//!
//! Every request is counted in the database before it is answered, alone or in a block that was reserved.

mod crash_recovery;
mod key_window;
mod limiter;
mod spent_log;

pub use crash_recovery::release_unspent;
pub(crate) use limiter::Limiter;
pub use spent_log::SpentLog;

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
