//! Content of a receipt.
#![expect(missing_docs, reason = "members are named as in docs/reference/receipts.md")]

use serde::{Deserialize, Serialize};

/// Everything that a receipt says. Times are RFC 3339 in UTC, digests are SHA-256 in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptClaims {
    /// Version of the format.
    pub ver: u32,
    /// Base URL of the installation.
    pub iss: String,
    /// Time of the signature, in seconds since 1970.
    pub iat: i64,
    /// Transaction id.
    pub sub: String,
    pub workspace: ReceiptWorkspace,
    pub agent: ReceiptAgent,
    pub credential: ReceiptCredential,
    pub request: ReceiptRequest,
    /// Last edit; absent if no one edited the request.
    pub edit: Option<ReceiptEdit>,
    pub decision: ReceiptDecision,
    /// Those after the last edit, in the order in which they were given.
    pub votes: Vec<ReceiptVote>,
    /// Grant that was opened with the approval.
    pub grant: Option<ReceiptGrant>,
    /// Absent if nothing was sent.
    pub sent: Option<ReceiptSending>,
    pub outcome: ReceiptOutcome,
    pub audit: AuditProof,
}

/// Workspace of the agent, with its name at the time of the receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptWorkspace {
    pub id: String,
    pub name: String,
}

/// Requesting agent, with its name at the time of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptAgent {
    pub id: String,
    pub name: String,
}

/// Stored credential, with its name and version at the time of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptCredential {
    pub id: String,
    pub name: String,
    pub version: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptRequest {
    /// `forward` or `sign`.
    pub kind: String,
    pub method: String,
    pub host: String,
    /// Host and path without the query, with secrets redacted.
    pub target: Option<String>,
    /// Digest over method, URL, headers, body, credential and agent.
    pub digest: String,
    pub body_bytes: i64,
    /// Rule that required approval.
    pub rule: Option<String>,
    pub at: String,
    /// End of the approval window.
    pub expires_at: String,
    /// Approvals required at the time of the request.
    pub min_approvals: i64,
    pub passkey_required: bool,
}

/// Last edit of the request by an approver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptEdit {
    pub by: Option<ReceiptPerson>,
    pub at: String,
    /// Digest of the request as its agent asked.
    pub asked_digest: Option<String>,
    /// Digest of the edited request.
    pub digest: Option<String>,
    /// Number of edits.
    pub edits: u64,
    /// Number of the audit record.
    pub seq: i64,
}

/// Way in which the request was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptVerdict {
    Approved,
    Denied,
    /// No one decided in time.
    Expired,
    /// The agent withdrew the request.
    Withdrawn,
}

impl std::fmt::Display for ReceiptVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        })
    }
}

/// A person, by the name that the audit trail has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptPerson {
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptDecision {
    pub verdict: ReceiptVerdict,
    pub at: String,
    /// Person whose vote decided. Absent if the request expired or was withdrawn.
    pub by: Option<ReceiptPerson>,
    /// Digest of the request that was decided.
    pub digest: Option<String>,
    /// Approvals that counted.
    pub approvals: Option<i64>,
    /// Approvals that were needed at the time of the decision.
    pub min_approvals: Option<i64>,
    /// Number of the audit record.
    pub seq: i64,
}

/// A person's vote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptVote {
    pub by: ReceiptPerson,
    /// `approve` or `deny`.
    pub verdict: String,
    pub at: String,
    /// `session`, `token`, `passkey` or `chat`.
    pub ceremony: String,
    /// Place where the person voted, such as `dashboard`.
    pub surface: Option<String>,
    /// Name and id of the personal access token.
    pub token: Option<String>,
    pub passkey: Option<ReceiptPasskey>,
    pub chat: Option<ReceiptChat>,
    /// Number of the audit record.
    pub seq: i64,
}

/// Passkey that confirmed a vote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptPasskey {
    pub id: String,
    pub name: String,
}

/// Chat account that voted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptChat {
    pub platform: String,
    pub account: String,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptGrant {
    pub id: String,
    pub expires_at: Option<String>,
    pub agent_only: Option<bool>,
    pub max_uses: Option<i64>,
    /// Number of the audit record.
    pub seq: i64,
}

/// The sending. The stored request was compared with the digest before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptSending {
    pub digest: Option<String>,
    pub at: String,
    /// Number of the audit record.
    pub seq: i64,
}

/// State of the request in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeStatus {
    /// There was a response, or a signature.
    Completed,
    /// It was sent, and failed.
    Failed,
    /// It may have been executed.
    Unknown,
    NotSent,
}

impl std::fmt::Display for OutcomeStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::NotSent => "not sent",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptOutcome {
    pub status: OutcomeStatus,
    pub at: Option<String>,
    /// HTTP status of the target's response.
    pub upstream_status: Option<i64>,
    /// Error code.
    pub error: Option<String>,
    /// Absent once the response is deleted, and without one.
    pub response: Option<ReceiptResponse>,
    /// Number of the audit record.
    pub seq: Option<i64>,
}

/// The stored response, in which secrets are redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptResponse {
    /// SHA-256 of the stored body.
    pub body_sha256: String,
    pub body_bytes: u64,
    /// True if the stored body is only its beginning.
    pub truncated: bool,
}

/// Audit records and their places in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditProof {
    pub records: Vec<ProvenPlace>,
    pub head: AuditHead,
}

/// A record: its members, shown or withheld, and its path to the root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenPlace {
    pub seq: i64,
    /// For each member its text, a JSON array of salt, name and value; or its SHA-256 if it is withheld.
    pub members: Vec<String>,
    /// Siblings from the leaf to the root, in hexadecimal.
    pub path: Vec<String>,
}

/// Signed head of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// Number of records.
    pub size: u64,
    /// Root of the tree over them.
    pub root: String,
    /// MAC of the last record in the chain, which the server can compare.
    pub mac: String,
    /// Time of the signature, in milliseconds since 1970.
    pub signed_at: i64,
    /// `kid` of the key.
    pub kid: String,
    /// Ed25519 signature, in hexadecimal.
    pub signature: String,
}
