//! Rate limits (`docs/reference/behavior/scoring.md#rate-limits`): exact across all nodes, in windows of 15 minutes.
//!
//! Every request is counted in the database before it is answered, alone or as part of a reserved block. A process
//! that is killed leaves the unspent rest of its block counted. So the window is too strict by at most that, never
//! too lenient.

mod key_window;
mod limiter;

pub(crate) use limiter::Limiter;

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
