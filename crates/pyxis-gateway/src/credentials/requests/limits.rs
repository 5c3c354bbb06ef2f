//! The agent's hourly limit (`docs/reference/behavior/proxy.md#rate-limit`): exact, in fixed windows that start on
//! the hour.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::{metric, window};
use pyxis_store::{Store, limits};

use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedAgent;

/// Counts one request of `agent`, or refuses it.
pub(crate) async fn admit(store: &Store, now: UnixMillis, agent: &ResolvedAgent) -> Result<()> {
    let Some(limit) = agent.row.rate_limit_per_hour else { return Ok(()) };
    let start = window::hour_start(now);
    if limits::admit(store, agent.id(), start, limit).await?.admitted {
        return Ok(());
    }
    metrics::counter!(metric::RATE_LIMITED.name).increment(1);
    let reset = start.plus(Duration::from_hours(1)).since(now);
    let reset = Duration::from_secs(reset.as_millis().div_ceil(1000).try_into().unwrap_or(3600));
    Err(Error::RateLimited { limit: u32::try_from(limit).unwrap_or(u32::MAX), reset })
}
