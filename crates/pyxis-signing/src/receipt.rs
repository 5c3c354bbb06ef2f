//! Receipts: signed statements about decided requests, which are verified without asking the server
//! (`docs/reference/receipts.md`).
//!
//! A receipt is a compact JSON Web Signature. It contains what was asked, decided, sent and answered, the audit records
//! that say so, and their place in the log up to a signed head.

mod claims;
mod facts;
mod jws;
mod key_set;
mod record;
mod verify;

pub use claims::{
    AuditHead, AuditProof, OutcomeStatus, ProvenPlace, ReceiptAgent, ReceiptChat, ReceiptClaims,
    ReceiptCredential, ReceiptDecision, ReceiptGrant, ReceiptOutcome, ReceiptPasskey, ReceiptPerson,
    ReceiptRequest, ReceiptResponse, ReceiptSending, ReceiptVerdict, ReceiptVote, ReceiptWorkspace,
};
pub use facts::{FactsError, RecordedFacts};
pub use jws::{TOKEN_TYPE, sign};
pub use key_set::{ReceiptKeyPurpose, ReceiptKeySet, ReceiptKeySetError, ReceiptPublicKey};
pub use record::{DisclosedRecord, is_shown};
pub use verify::{ReceiptError, VerifiedReceipt, verify};

/// Version of the format.
pub const VERSION: u32 = 1;
