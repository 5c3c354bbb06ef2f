//! The policy document, as written, stored and shown.

use serde::Serialize;
use utoipa::ToSchema;

use super::Method;
use super::escalation::{EscalationStep, EscalationTarget};
use crate::approval_mode::Channel;
use crate::chat::{ChatPlatform, Rooms};

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
    #[schema(
        max_items = 200,
        example = json!(["api.github.com/graphql graphql mutation deleteRepository deny"])
    )]
    pub content_rules: Vec<String>,
    /// Email addresses; empty means any eligible approver. Being listed adds no eligibility.
    #[schema(value_type = Vec<ApproverEmail>, max_items = 2000)]
    pub allowed_approvers: Vec<String>,
    /// Email addresses of the approvers who are asked first, in person; empty means none. Everyone eligible may still
    /// decide.
    #[schema(value_type = Vec<ApproverEmail>, max_items = 2000)]
    pub on_call: Vec<String>,
    /// More rooms and people to ask if no one has decided after some time, in ascending order of time.
    #[schema(value_type = Vec<EscalationStepInput>, max_items = 5)]
    pub escalation: Vec<EscalationStep>,
    /// Channel that announces approvals.
    pub channel: Channel,
    /// Override the default rooms of chat platforms. In the document, each platform has a field of its own.
    #[serde(flatten)]
    #[schema(ignore)]
    pub rooms: Rooms,
    /// Number of approvers needed.
    #[schema(minimum = 1, maximum = 20, example = 1)]
    pub min_approvals: u32,
    /// True if approvals need a passkey.
    pub passkey_required: bool,
    /// True if requests that need approval must have a reason, in `X-PX-Reason`.
    pub require_reason: bool,
    /// The approval window in seconds; null: the workspace's.
    #[schema(required, minimum = 10, maximum = 604_800, example = 3600)]
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
            on_call: Vec::new(),
            escalation: Vec::new(),
            channel: Channel::AgentReflected,
            rooms: Rooms::default(),
            min_approvals: 1,
            passkey_required: false,
            require_reason: false,
            approval_timeout_secs: None,
        }
    }
}

impl Policy {
    /// Rooms that the policy names on a platform.
    pub fn rooms_on(&self, platform: ChatPlatform) -> impl Iterator<Item = &str> {
        let steps = self.escalation.iter().filter_map(move |step| step.room(platform));
        self.rooms.get(platform).into_iter().chain(steps)
    }

    /// Names the room `to` in place of `from`. Returns false if the policy does not name `from`.
    pub fn rename_room(&mut self, platform: ChatPlatform, from: &str, to: &str) -> bool {
        let mut is_renamed = self.rooms.get(platform) == Some(from);
        if is_renamed {
            self.rooms.set(platform, Some(to.to_owned()));
        }
        for step in self.escalation.iter_mut().filter(|step| step.room(platform) == Some(from)) {
            step.target = EscalationTarget::Room(platform, to.to_owned());
            is_renamed = true;
        }
        is_renamed
    }
}

#[derive(ToSchema)]
#[schema(min_length = 1, example = "api.github.com/repos/*/*/hooks")]
#[expect(dead_code, reason = "the schema of a pattern in a policy")]
struct UrlPattern(String);

#[derive(ToSchema)]
#[schema(max_length = 254, example = "ada@example.org")]
#[expect(dead_code, reason = "the schema of an email address in a policy")]
struct ApproverEmail(String);

/// A step of an escalation: `after_minutes`, and either `people` or one room field, such as `slack_channel`.
#[derive(ToSchema)]
#[schema(as = EscalationStep)]
#[expect(dead_code, reason = "the schema of a step in a policy")]
struct EscalationStepInput {
    /// Minutes after the request.
    #[schema(minimum = 1, maximum = 1440, example = 15)]
    after_minutes: u32,
    /// `eligible` for everyone who may decide, or a list of email addresses.
    #[schema(value_type = Option<Value>, nullable = false)]
    people: Option<Vec<String>>,
}

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
