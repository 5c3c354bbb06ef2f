//! Failures of indexers.

use std::time::Duration;

use http::StatusCode;

/// Reasons for an indexer to return no activity.
#[derive(Debug, thiserror::Error)]
pub enum IndexerError {
    /// It cannot be reached, or broke off in the middle.
    #[error("cannot be reached")]
    Net(#[from] pyxis_net::Error),
    /// It returned a status other than success, perhaps with a time to retry.
    #[error("responded with {0}")]
    Status(StatusCode, Option<Duration>),
    /// It refused with a message: a permanent limit or a wrong key.
    #[error("refused: {0}")]
    Refused(String),
    /// Its response does not match the API.
    #[error("returned a response that does not match the Etherscan-compatible API")]
    Strange,
}
