//! Limits of score jobs.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use pyxis_scoring::JobConfig;

use super::SettingSources;
use super::env::Env;

/// Most rows that a job may be allowed to have.
const MOST_ROWS: u64 = 100_000_000;
/// Most jobs that a node may run at once.
const MOST_AT_ONCE: usize = 16;

/// Reads the limits. Uploads are kept in the data directory while they are read.
pub(super) fn read(source: &SettingSources<'_, impl Env>, data_dir: &Path) -> Result<JobConfig> {
    let days: u64 = source.parsed("score_job_days")?;
    let config = JobConfig {
        spool: Some(data_dir.to_owned()),
        upload_max: source.parsed("score_job_upload_max_bytes")?,
        rows_max: source.parsed("score_job_rows_max")?,
        kept_max: source.parsed("score_jobs_max")?,
        retention: Duration::from_hours(24 * days.min(3650)),
        at_once: source.parsed("score_jobs_at_once")?,
    };
    if config.upload_max == 0 || config.kept_max == 0 {
        bail!("PX_SCORE_JOB_UPLOAD_MAX_BYTES and PX_SCORE_JOBS_MAX must be at least 1");
    }
    if !(1..=MOST_ROWS).contains(&config.rows_max) {
        bail!("PX_SCORE_JOB_ROWS_MAX must be 1 to {MOST_ROWS}");
    }
    if !(1..=3650).contains(&days) {
        bail!("PX_SCORE_JOB_DAYS must be 1 to 3650");
    }
    if config.at_once > MOST_AT_ONCE {
        bail!("PX_SCORE_JOBS_AT_ONCE must be 0 to {MOST_AT_ONCE}");
    }
    Ok(config)
}
