//! Reasons that a receipt is not genuine or not complete.

use super::key_set::ReceiptKeyPurpose;

/// The records do not tell the whole story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// No record of the request itself.
    #[error("no record of the request")]
    NoRequest,
    /// No record of a decision.
    #[error("no record of the decision")]
    NoDecision,
    /// No record of the outcome.
    #[error("no record of the outcome")]
    NoOutcome,
}

/// Reason why a receipt is not genuine.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    /// Not the form of a receipt.
    #[error("this is not a receipt: {0}")]
    Format(&'static str),
    /// The content cannot be read.
    #[error("the receipt has another content than this version of Pyxis reads: {0}")]
    Content(String),
    /// The key set lacks the key.
    #[error(
        "the key set has no key {kid} with the purpose {purpose}; save it again from /.well-known/pyxis-receipt-keys. \
         A key that is no longer published is compromised: ask for the receipt again"
    )]
    UnknownKey {
        /// Name of the key.
        kid: String,
        /// Purpose that it must have.
        purpose: ReceiptKeyPurpose,
    },
    /// The token's signature is wrong.
    #[error("the signature is wrong: the receipt was changed, or another key made it")]
    Signature,
    /// The signature of the log's head is wrong.
    #[error("the signature of the audit head is wrong")]
    HeadSignature,
    /// A record is not as it was.
    #[error("audit record {seq}: {what}")]
    Record {
        /// Record number.
        seq: i64,
        /// The problem.
        what: &'static str,
    },
    /// The records do not tell the whole story.
    #[error("the audit records are incomplete: {0}")]
    Facts(#[from] FactsError),
    /// A claim contradicts the records.
    #[error("{0} differs from what the audit records say")]
    Contradiction(&'static str),
}
