//! Failures of indexers.

use std::time::Duration;

use http::StatusCode;

/// Failure of an indexer to give activity.
#[derive(Debug, thiserror::Error)]
pub enum IndexerError {
    /// It cannot be reached, or stopped in the middle.
    #[error("cannot be asked")]
    Net(#[from] pyxis_net::Error),
    /// It answered with a status that is no success, and perhaps when to ask again.
    #[error("answered {0}")]
    Status(StatusCode, Option<Duration>),
    /// It refused in words: a limit that stays, a wrong key.
    #[error("refused: {0}")]
    Refused(String),
    /// It answered something else than the API says.
    #[error("answered something that is not of this API")]
    Strange,
}
