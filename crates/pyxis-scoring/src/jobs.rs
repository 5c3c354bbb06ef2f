//! Jobs that score many addresses (`docs/reference/behavior/score-jobs.md`).
//!
//! [`upload`] turns a file into chunks of addresses, [`worker`] claims jobs and scores chunk by chunk, and
//! [`rows`] is the form in which both are stored. A chunk with its result is the checkpoint: a node that takes
//! over a job goes on with the first chunk that has none.

mod batch;
mod erase;
mod membership;
pub(crate) mod rows;
pub(crate) mod upload;
mod worker;

use crate::error::{Error, Result};

pub(crate) use erase::without;
pub use worker::{JobEnd, run, run_one};

/// Rows of a chunk, from their stored form.
fn decoded<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::Internal(error.into()))
}

/// Rows of a chunk: SQLite compares at most this many addresses as a list of parameters.
pub(crate) const CHUNK: usize = 1000;
