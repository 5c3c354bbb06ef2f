//! Views of agents: services, pending approvals, transactions and responses of upstreams.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Outcome of a forwarded request.
#[derive(Debug, Clone)]
pub enum Forwarded {
    /// The upstream's response.
    Response(UpstreamResponse),
    /// A person must decide.
    Pending(PendingApproval),
}

/// The upstream's response, whatever its status. Secrets in it are replaced by `[REDACTED:…]`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamResponse {
    pub status: u16,
    /// Header lines in their order; names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// True if the body is only its beginning.
    pub truncated: bool,
}

impl UpstreamResponse {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as UTF-8, with a replacement character for what is not.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A request that a person must approve. Show `agent_hint` to your person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingApproval {
    /// `pending`, or `approved` while the request is being sent.
    pub status: String,
    pub txn_id: String,
    pub poll_url: String,
    /// The page on which the person decides.
    pub approval_url: String,
    pub expires_at: Timestamp,
    pub expires_in: u64,
    pub notification_channel: String,
    /// One sentence for the person.
    pub agent_hint: String,
}

/// Every service of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Services {
    /// Name of the agent.
    pub agent: String,
    pub services: Vec<Service>,
}

/// A credential that the agent may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Service {
    pub credential: String,
    pub description: String,
    pub allowed_hosts: Vec<String>,
    pub target_example: Option<String>,
    pub methods: Vec<MethodOutcome>,
    pub url_rules: UrlRules,
    /// True if every request needs a reason.
    pub reason_required: bool,
}

/// The outcome of a method: `proceeds`, `pauses` or `denied`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MethodOutcome {
    pub method: String,
    pub outcome: String,
}

/// URL rules, applied before method rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UrlRules {
    pub denied: Vec<String>,
    pub pauses: Vec<String>,
    pub proceeds: Vec<String>,
    /// Rules about the bodies of requests that would proceed.
    pub content: Vec<String>,
}

/// A request that needed approval, as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Transaction {
    pub txn_id: String,
    /// `pending`, `approved`, `denied` or `expired`.
    pub status: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub decided_at: Option<Timestamp>,
    /// The approver's reason for a denial.
    pub reason: Option<String>,
    pub upstream_status: Option<i64>,
    pub response: Option<KeptResponse>,
    /// `upstream_error`, `upstream_timeout`, `no_longer_allowed` or `outcome_unknown`.
    pub error: Option<String>,
    /// With `error`: the same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// With `error`, if a person can fix it: the page for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Transaction {
    /// The response, if there is one. `None` while the transaction is open; fails if there will be none.
    pub fn into_response(self) -> Result<Option<UpstreamResponse>> {
        let txn_id = self.txn_id;
        if self.status == "denied" {
            return Err(Error::ApprovalDenied { txn_id, reason: self.reason });
        }
        if self.status == "expired" {
            return Err(Error::ApprovalExpired { txn_id });
        }
        if let Some(code) = self.error {
            let detail = self.detail.unwrap_or_else(|| "the request was not completed".to_owned());
            return Err(Error::NotCompleted { txn_id, code, detail });
        }
        match (self.response, self.upstream_status) {
            (Some(kept), _) => kept.into_response().map(Some),
            (None, Some(status)) => {
                let detail = format!("the upstream answered {status}, but its response is no longer stored");
                Err(Error::NotCompleted { txn_id, code: "response_deleted".to_owned(), detail })
            }
            (None, None) => Ok(None),
        }
    }
}

/// A stored response, as the server writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KeptResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// `utf-8` or `base64`.
    pub body_encoding: String,
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers_base64: Vec<HeaderBytes>,
}

impl KeptResponse {
    fn into_response(self) -> Result<UpstreamResponse> {
        let Self { status, headers, body, truncated, .. } = self;
        let body = if self.body_encoding == "base64" {
            STANDARD
                .decode(body)
                .map_err(|_| Error::InvalidResponse("response.body is not base64".to_owned()))?
        } else {
            body.into_bytes()
        };
        Ok(UpstreamResponse { status, headers, body: body.into(), truncated })
    }
}

/// A header value that is not UTF-8, in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeaderBytes {
    pub index: u64,
    pub name: String,
    pub value: String,
}
