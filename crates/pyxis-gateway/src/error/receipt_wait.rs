//! Reasons why a receipt cannot be issued yet.

/// Seconds after which to ask again.
const AGAIN: u64 = 2;

/// Reason why there is no receipt yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptWait {
    /// No one has decided.
    Pending,
    /// The request is being sent.
    Sending,
    /// The approved WebSocket is open.
    SocketOpen,
    /// Earlier audit records are being hashed.
    Preparing {
        /// Records hashed so far.
        hashed: i64,
        /// Records to hash.
        needed: i64,
    },
}

impl ReceiptWait {
    /// Seconds after which to ask again; `None` if that depends on people.
    pub(crate) const fn retry_after(self) -> Option<u64> {
        match self {
            Self::Pending | Self::SocketOpen => None,
            Self::Sending | Self::Preparing { .. } => Some(AGAIN),
        }
    }
}

impl std::fmt::Display for ReceiptWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pending => {
                f.write_str("the request is not decided yet; ask for its receipt after the decision")
            }
            Self::Sending => f.write_str("the request is being sent; ask for its receipt again in a moment"),
            Self::SocketOpen => {
                f.write_str("the WebSocket is still open; ask for its receipt once it is closed")
            }
            Self::Preparing { hashed, needed } => write!(
                f,
                "audit records are being hashed for the first receipt: {hashed} of {needed}; ask again in a moment"
            ),
        }
    }
}
