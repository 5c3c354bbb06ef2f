//! The policy document, as written, stored and shown.

use serde::Serialize;

use super::Method;
use crate::approval_mode::Channel;
use crate::chat::Rooms;

mod reading;

/// The policy of one credential (`docs/reference/policy.md#fields`).
///
/// Values that come from [`Policy::from_json`] are valid; serializing gives the same document again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Rule 3. Never HEAD, which follows GET.
    pub auto_approve_methods: Vec<Method>,
    /// Rule 4. Never HEAD.
    pub require_approval_methods: Vec<Method>,
    /// Refused before rule 1. Never HEAD.
    pub deny_methods: Vec<Method>,
    /// Rule 2: patterns tried on the canonical path.
    pub auto_approve_urls: Vec<String>,
    /// Rule 1: patterns tried on every plausible variant of the path.
    pub require_approval_urls: Vec<String>,
    /// Refused before rule 1: patterns tried on every plausible variant of the path.
    pub deny_urls: Vec<String>,
    /// E-mail addresses; empty means any eligible approver.
    pub allowed_approvers: Vec<String>,
    /// Channel where approvals are announced.
    pub channel: Channel,
    /// Override the default rooms of chat platforms. In the document, each platform has a field of its own.
    #[serde(flatten)]
    pub rooms: Rooms,
    /// Approvers needed, 1 to 20.
    pub min_approvals: u32,
    /// True if an approval needs a passkey ceremony.
    pub passkey_required: bool,
    /// True if a request that needs approval must give a reason (`X-PX-Reason`).
    pub require_reason: bool,
    /// The approval window in seconds, 1 to 604,800; `None` is the installation's default.
    pub approval_timeout_secs: Option<u32>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            auto_approve_methods: Vec::new(),
            require_approval_methods: Vec::new(),
            deny_methods: Vec::new(),
            auto_approve_urls: Vec::new(),
            require_approval_urls: Vec::new(),
            deny_urls: Vec::new(),
            allowed_approvers: Vec::new(),
            channel: Channel::AgentReflected,
            rooms: Rooms::default(),
            min_approvals: 1,
            passkey_required: false,
            require_reason: false,
            approval_timeout_secs: None,
        }
    }
}

/// Reasons for refusing a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not JSON at all (400).
    #[error("the policy is not JSON: {0}")]
    Json(String),
    /// An unknown field, or one with an invalid value (422).
    #[error("{field}: {detail}")]
    Field {
        /// The name of the field; `policy` if the document is not an object.
        field: String,
        /// The fault and its remedy.
        detail: String,
    },
}
