//! Errors of RPC nodes.

use pyxis_core::address::EvmAddress;

/// Reason that a node gave no answer. A revert counts as an answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The node is unreachable or too slow.
    #[error("the node cannot be reached")]
    Net(#[source] pyxis_net::Error),
    /// Time ran out.
    #[error("the node took too long")]
    Timeout,
    /// The node refused the whole request.
    #[error("the node responded with {0}")]
    Status(u16),
    /// The node refused one call.
    #[error("the node refused a call: {code}, {message}")]
    Refused {
        /// JSON-RPC error code.
        code: i64,
        /// The node's message, truncated.
        message: String,
    },
    /// The node refuses every request at the moment.
    #[error("the node is at a limit: {code}, {message}")]
    Busy {
        /// JSON-RPC error code.
        code: i64,
        /// The node's message, truncated.
        message: String,
    },
    /// The node lacks the block or its state, although the block exists.
    #[error("the node is behind: {0}")]
    Behind(String),
    /// Every node reports that the address has no code at the block.
    #[error("no contract at {address} at block {block}")]
    NoContract {
        /// Address that was called.
        address: EvmAddress,
        /// Block number.
        block: u64,
    },
    /// Some calls need more gas or time than the node allows. The others were answered.
    #[error("the call needs more gas or time than the node allows")]
    Unfinished,
    /// The configured Multicall3 address belongs to another contract.
    #[error("the contract at the address of Multicall3 is another one")]
    OtherContract,
    /// The response does not match the request.
    #[error("the node's response cannot be read: {0}")]
    Malformed(&'static str),
    /// The URL of a node cannot be used.
    #[error("the URL of a node cannot be used")]
    Url,
}

impl Error {
    /// True where the same question may succeed shortly, or at the previous block.
    pub const fn is_behind(&self) -> bool {
        matches!(self, Self::Behind(_) | Self::NoContract { .. })
    }

    /// True where the node may answer if a request has fewer calls. A smaller request does not help with a node that is
    /// unreachable, slow or behind.
    pub(crate) const fn eases_with_fewer(&self) -> bool {
        match self {
            Self::Net(error) => {
                matches!(error, pyxis_net::Error::Closed { .. } | pyxis_net::Error::TooLarge { .. })
            }
            Self::Status(_)
            | Self::Refused { .. }
            | Self::Busy { .. }
            | Self::Malformed(_)
            | Self::Unfinished => true,
            Self::Timeout | Self::Behind(_) | Self::NoContract { .. } | Self::OtherContract | Self::Url => {
                false
            }
        }
    }

    /// The batch limit that the node names in its refusal, if below `asked`.
    pub(crate) fn named_limit(&self, asked: usize) -> Option<usize> {
        let (Self::Refused { message, .. } | Self::Busy { message, .. }) = self else { return None };
        if !message.to_ascii_lowercase().contains("batch") {
            return None;
        }
        let numbers = message.split(|character: char| !character.is_ascii_digit());
        numbers.filter_map(|digits| digits.parse().ok()).filter(|number| (1..asked).contains(number)).min()
    }
}

impl From<pyxis_net::Error> for Error {
    fn from(error: pyxis_net::Error) -> Self {
        Self::Net(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_batch_may_name_the_size_that_is_accepted() {
        let named =
            |message: &str| Error::Refused { code: -32600, message: message.to_owned() }.named_limit(100);
        assert_eq!(named("batch limit 20 exceeded: 100 requests given"), Some(20));
        assert_eq!(named("Batch size too large: the maximum is 10"), Some(10));
        assert_eq!(named("batch too large"), None);
        assert_eq!(named("batch of 1000 at most"), None);
        assert_eq!(named("rate limit: 5 requests"), None);
        assert_eq!(Error::Status(413).named_limit(100), None);
    }
}
