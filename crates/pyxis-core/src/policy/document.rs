//! The policy document, as written, stored and shown.

use serde::Serialize;
use utoipa::ToSchema;

use super::Method;
use crate::approval_mode::Channel;
use crate::chat::Rooms;

mod parsing;

/// The policy of one credential (`docs/reference/policy.md#fields`).
///
/// Values that come from [`Policy::from_json`] are valid; serializing gives the same document again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(description = "A policy: the rules of one credential.")]
pub struct Policy {
    /// Methods that pass, in any case. HEAD follows GET and is refused here. Rule 3.
    #[schema(value_type = Vec<PolicyMethod>, max_items = 2000)]
    pub auto_approve_methods: Vec<Method>,
    /// Methods that need approval. Rule 4.
    #[schema(value_type = Vec<PolicyMethod>, max_items = 2000)]
    pub require_approval_methods: Vec<Method>,
    /// Methods that are refused, before rule 1.
    #[schema(value_type = Vec<PolicyMethod>, max_items = 2000)]
    pub deny_methods: Vec<Method>,
    /// URL patterns that pass. Rule 2. `/path` matches a path prefix on every host; `host/path` an exact host and a
    /// path prefix. `*` is one whole, non-empty segment. Queries are ignored. A pattern with scheme, query, fragment,
    /// user name, dot segments or a partial `*` is refused.
    #[schema(value_type = Vec<UrlPattern>, max_items = 2000)]
    pub auto_approve_urls: Vec<String>,
    /// URL patterns that need approval, tried on every plausible variant of the path. Rule 1.
    #[schema(value_type = Vec<UrlPattern>, max_items = 2000)]
    pub require_approval_urls: Vec<String>,
    /// URL patterns that are refused, before rule 1, tried on every plausible variant of the path.
    #[schema(value_type = Vec<UrlPattern>, max_items = 2000)]
    pub deny_urls: Vec<String>,
    /// Rules about request bodies, one per entry. They apply after the rules above and only make a decision stricter.
    #[schema(max_items = 200)]
    pub content_rules: Vec<String>,
    /// Email addresses; empty means any eligible approver. Being listed adds no eligibility.
    #[schema(value_type = Vec<ApproverEmail>, max_items = 2000)]
    pub allowed_approvers: Vec<String>,
    /// Channel that announces approvals.
    pub channel: Channel,
    /// Override the default rooms of chat platforms. In the document, each platform has a field of its own.
    #[serde(flatten)]
    #[schema(ignore)]
    pub rooms: Rooms,
    /// Number of approvers needed.
    #[schema(minimum = 1, maximum = 20)]
    pub min_approvals: u32,
    /// True if approvals need a passkey.
    pub passkey_required: bool,
    /// True if requests that need approval must have a reason, in `X-PX-Reason`.
    pub require_reason: bool,
    /// The approval window in seconds; null: the workspace's.
    #[schema(required, minimum = 10, maximum = 604_800)]
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
            content_rules: Vec::new(),
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

#[derive(ToSchema)]
#[schema(min_length = 1)]
#[expect(dead_code, reason = "the schema of a pattern in a policy")]
struct UrlPattern(String);

#[derive(ToSchema)]
#[schema(max_length = 254)]
#[expect(dead_code, reason = "the schema of an email address in a policy")]
struct ApproverEmail(String);

/// A method in a policy: HEAD follows GET.
#[derive(ToSchema)]
#[schema(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "the schema of a method in a policy")]
enum PolicyMethod {
    Get,
    Post,
    Put,
    Patch,
    Delete,
    Options,
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
