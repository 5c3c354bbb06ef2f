//! Scoring operations for managers. The admin API, the dashboard and the command line all call these functions. Every
//! change is on the audit trail.

pub mod allow_lists;
pub mod amount;
pub mod api_keys;
pub mod catalogue;
pub mod clusters;
pub mod erasures;
mod error;
pub mod history_requests;
pub mod issuers;
mod lease;
pub mod models;
pub mod onchain_stamps;
pub mod own_stamps;
pub mod population;
pub mod preview;
pub mod sandbox;
mod sandbox_stamps;
pub mod score_attestations;
pub mod score_jobs;
pub mod score_keys;
pub mod score_lists;
pub mod score_reviews;
pub mod scorer_changes;
pub mod scorers;
pub mod self_check;
pub mod stamp_keys;
pub mod stamp_signing;
pub mod stamps;

pub use pyxis_core::admin_error::{AdminError as Error, Result};

/// Longest name, in bytes.
const MAX_NAME: usize = 100;

/// Checks human-readable text: not empty, one line, at most `most` bytes.
fn check_text(field: impl Into<String>, text: &str, most: usize) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::field(field, "must not be empty"));
    }
    if text.len() > most {
        return Err(Error::field(field, format!("must have at most {most} bytes")));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::field(field, "must not contain control characters"));
    }
    Ok(())
}
