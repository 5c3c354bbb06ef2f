//! What can go wrong with a node.

/// Why a node gave no answer. A contract that reverts is an answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The node cannot be reached, or not in time.
    #[error("the node cannot be reached")]
    Net(#[source] pyxis_net::Error),
    /// Time ran out.
    #[error("the node took too long")]
    Timeout,
    /// The node refused the whole request.
    #[error("the node answered {0}")]
    Status(u16),
    /// The node refused one call.
    #[error("the node refused a call: {code}, {message}")]
    Refused {
        /// Its JSON-RPC code.
        code: i64,
        /// Its own words, cut.
        message: String,
    },
    /// What came back is not what was asked for.
    #[error("the node's answer cannot be read: {0}")]
    Malformed(&'static str),
    /// The URL of a node cannot be used.
    #[error("the url of a node cannot be used")]
    Url,
}

impl From<pyxis_net::Error> for Error {
    fn from(error: pyxis_net::Error) -> Self {
        Self::Net(error)
    }
}
