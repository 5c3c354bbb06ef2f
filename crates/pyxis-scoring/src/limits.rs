//! Rate limits (`docs/reference/behavior/scoring.md#rate-limits`): exact across all nodes, in windows of 15 minutes.
//!
//! Every request is counted in the database before it is answered, alone or as part of a reserved block.

mod crash_recovery;
mod key_window;
mod limiter;
mod spent_log;

pub use crash_recovery::release_unspent;
pub(crate) use limiter::Limiter;
pub use spent_log::SpentLog;

/// Requests per window of the Stamps endpoints: the tier's limit, or the key's own in tier 4.
pub fn limit_of_stamps(tier: i64, own: Option<i64>) -> i64 {
    match tier {
        4 => own.unwrap_or(2000),
        3 => 2000,
        2 => 350,
        _ => 125,
    }
}

/// Requests per window of the models endpoint: the tier's limit, or the key's own in tier 4.
pub fn limit_of_models(tier: i64, own: Option<i64>) -> i64 {
    match tier {
        4 => own.unwrap_or(2000),
        3 => 2000,
        2 => 350,
        _ => 15,
    }
}
