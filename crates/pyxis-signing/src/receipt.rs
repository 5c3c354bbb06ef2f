//! Receipts: signed statements about decided requests, which are verified without asking the server
//! (`docs/reference/receipts.md`).
//!
//! A receipt is a compact JSON Web Signature. It contains what was asked, decided, sent and answered. It also has the
//! audit records that say so, and their place in the log up to a signed head.

mod claims;
mod error;
mod jws;
mod key_set;
mod record;
mod recorded_facts;
mod verify;

pub use claims::{
    AuditHead, AuditProof, OutcomeStatus, ProvenPlace, ReceiptAgent, ReceiptChat, ReceiptClaims,
    ReceiptCredential, ReceiptDecision, ReceiptEdit, ReceiptGrant, ReceiptOutcome, ReceiptPasskey,
    ReceiptPerson, ReceiptRequest, ReceiptResponse, ReceiptSending, ReceiptVerdict, ReceiptVote,
    ReceiptWorkspace,
};
pub use error::{FactsError, ReceiptError};
pub use jws::{TOKEN_TYPE, sign};
pub use key_set::{ReceiptKeyPurpose, ReceiptKeySet, ReceiptKeySetError, ReceiptPublicKey};
pub use record::{DisclosedRecord, is_shown};
pub use recorded_facts::RecordedFacts;
pub use verify::{VerifiedReceipt, verify};

/// Version of the format.
pub const VERSION: u32 = 1;
