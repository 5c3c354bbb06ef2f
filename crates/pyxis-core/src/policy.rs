//! Policies: rules that let requests pass, require approval or refuse them (`docs/reference/policy.md#evaluation`).

mod compiled;
pub mod content;
mod document;
mod escalation;
mod limits;
mod lint;
mod method;
mod operations;
mod pattern_lists;
mod tightening;

pub use compiled::CompiledPolicy;
pub use content::{
    ContentCondition, ContentRule, ContentRuleError, Finding, RequestContent, may_have_parameters,
    query_may_name_method,
};
pub use document::{Policy, PolicyError};
pub use escalation::{EscalationStep, EscalationTarget};
pub use limits::MAX_TIMEOUT_SECS;
pub use lint::{IdleRule, idle_rules};
pub use method::Method;
pub use operations::Operations;
pub use tightening::{PolicyTightening, tightened};

use std::sync::LazyLock;

use crate::approval_mode::ApprovalMode;
use crate::policy::content::CompiledContentRules;
use crate::target::Target;

/// Outcome for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyVerdict {
    /// It is forwarded.
    AutoApprove,
    /// It waits for approval.
    RequireApproval,
    /// It is refused.
    Deny,
}

impl PolicyVerdict {
    /// The name on the wire (`docs/reference/policy.md#explain-and-replay`).
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AutoApprove => "auto_approve",
            Self::RequireApproval => "require_approval",
            Self::Deny => "deny",
        }
    }
}

/// The rule that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Rule 1: a `require_approval_urls` pattern.
    RequireUrl,
    /// Rule 2: an `auto_approve_urls` pattern.
    AutoUrl,
    /// Rule 3: the method is in `auto_approve_methods`.
    AutoMethod,
    /// Rule 4: the method is in `require_approval_methods`.
    RequireMethod,
    /// Rule 5: nothing else matched.
    Default,
    /// There is no policy, and the workspace is gated.
    GatedDefault,
    /// There is no policy, and the workspace is autonomous.
    AutonomousDefault,
    /// `deny_methods` or `deny_urls`, before rule 1.
    Deny,
    /// A rule of `content_rules`, or the default of GraphQL endpoints.
    Content,
    /// A grant replaced the approval.
    Grant,
    /// A task replaced the approval.
    Task,
    /// The permission of a tool of an MCP server.
    Tool,
    /// The definition of a tool of an MCP server changed since a person allowed it.
    ToolChanged,
    /// The target cannot be used at all; decided before any policy.
    Target,
    /// The host is outside `allowed_hosts`; decided before any policy.
    AllowedHosts,
}

impl Rule {
    /// Every rule.
    pub const ALL: &'static [Self] = &[
        Self::RequireUrl,
        Self::AutoUrl,
        Self::AutoMethod,
        Self::RequireMethod,
        Self::Default,
        Self::GatedDefault,
        Self::AutonomousDefault,
        Self::Deny,
        Self::Content,
        Self::Grant,
        Self::Task,
        Self::Tool,
        Self::ToolChanged,
        Self::Target,
        Self::AllowedHosts,
    ];

    /// The name on the wire and in the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequireUrl => "require_url",
            Self::AutoUrl => "auto_url",
            Self::AutoMethod => "auto_method",
            Self::RequireMethod => "require_method",
            Self::Default => "default",
            Self::GatedDefault => "gated_default",
            Self::AutonomousDefault => "autonomous_default",
            Self::Deny => "deny",
            Self::Content => "content",
            Self::Grant => "grant",
            Self::Task => "task",
            Self::Tool => "tool",
            Self::ToolChanged => "tool_changed",
            Self::Target => "target",
            Self::AllowedHosts => "allowed_hosts",
        }
    }

    /// One sentence for people who ask for the reason.
    pub const fn detail(&self) -> &'static str {
        match self {
            Self::RequireUrl => {
                "the URL matches require_approval_urls, which overrides every rule except deny"
            }
            Self::AutoUrl => "the URL matches auto_approve_urls, which allow any method",
            Self::AutoMethod => "the method is in auto_approve_methods",
            Self::RequireMethod => "the method is in require_approval_methods",
            Self::Default => "no rule of the policy matches, so approval is required",
            Self::GatedDefault => {
                "no policy; the workspace default (gated) allows GET and HEAD and requires approval for the rest"
            }
            Self::AutonomousDefault => "no policy; the workspace default (autonomous) allows everything",
            Self::Deny => "deny_methods or deny_urls denies the request",
            Self::Content => "the content of the request needs approval or is denied",
            Self::Grant => "an open grant covers this request",
            Self::Task => "a task that a person approved covers this request",
            Self::Tool => "the permission of the MCP server's tool decides",
            Self::ToolChanged => {
                "the tool's definition changed since a person allowed it, so approval is required"
            }
            Self::Target => "the target is invalid",
            Self::AllowedHosts => "the host is not in the credential's allowed_hosts",
        }
    }
}

/// A verdict and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// Outcome for the request.
    pub verdict: PolicyVerdict,
    /// The rule that decided.
    pub rule: Rule,
    /// The pattern that matched, as written. `None` for rules without patterns, and for a path that is held because it
    /// has too many variants to try, or is not UTF-8.
    pub pattern: Option<&'a str>,
}

impl Decision<'_> {
    /// One sentence for people who ask for the reason.
    pub const fn detail(&self) -> &'static str {
        match (self.rule, self.pattern) {
            (Rule::RequireUrl, None) => {
                "the path is not valid UTF-8, contains NUL or has too many readings, so it may match a protected path"
            }
            (Rule::Deny, Some(_)) => "the URL matches deny_urls, which override every other rule",
            (Rule::Deny, None) => "the method is in deny_methods, which override every other rule",
            (rule, _) => rule.detail(),
        }
    }

    pub(crate) const fn new(verdict: PolicyVerdict, rule: Rule) -> Self {
        Self { verdict, rule, pattern: None }
    }
}

/// Decides about a request. The first matching rule decides; a policy always wins over the mode.
pub fn evaluate<'a>(
    policy: Option<&'a CompiledPolicy>,
    mode: ApprovalMode,
    method: Method,
    target: &Target,
) -> Decision<'a> {
    match policy {
        Some(policy) => policy.evaluate(method, target),
        None => without_policy(mode, method),
    }
}

/// True if `pattern`, as an entry of `auto_approve_urls`, would allow requests to this target.
pub fn permits(pattern: &str, target: &Target) -> bool {
    let path = pattern_lists::Path::new(target.path().as_bytes());
    pattern_lists::PermitList::compile(&[pattern.to_owned()]).permits(target, &path).is_some()
}

/// True if the content of a request must be read before it is sent, given the decision by its URL.
pub fn content_concerns(
    policy: Option<&CompiledPolicy>,
    decision: &Decision<'_>,
    method: Method,
    target: &Target,
) -> bool {
    rules(policy).concern(decision, method, target)
}

/// True if two policies judge the content of a request by the same rules, so that it has the same effect on both
/// decisions. The messages of a WebSocket are not read, and have none.
pub fn same_content_rules(
    policies: [Option<&CompiledPolicy>; 2],
    mode: ApprovalMode,
    method: Method,
    target: &Target,
) -> bool {
    let [one, other] = policies.map(|policy| {
        let decision = evaluate(policy, mode, method, target);
        rules(policy).concerning(&decision, method, target)
    });
    method == Method::WebSocket || one == other
}

/// Finds what the content of a request calls for beyond the decision by its URL. `None` if that decision stands. A finding
/// is never weaker, and no grant covers it.
pub fn evaluate_content<'p>(
    policy: Option<&'p CompiledPolicy>,
    decision: &Decision<'_>,
    method: Method,
    target: &Target,
    content: &RequestContent<'_>,
) -> Option<Finding<'p>> {
    let by_rules = rules(policy).evaluate(decision, method, target, content);
    let verdict = |method| verdict_of(policy, decision, target, method);
    let by_method = content::method_finding(verdict, method, content);
    [by_rules, by_method].into_iter().flatten().min_by_key(|finding| content::leniency(finding.verdict))
}

/// True if the content of a request is what a person approved in a task: each condition holds. Apart from
/// the fields that they bound, nothing in it needs approval or is denied. Content that names another method always
/// needs approval.
pub fn content_is_approved(
    policy: Option<&CompiledPolicy>,
    decision: &Decision<'_>,
    method: Method,
    target: &Target,
    (content, approved): (&RequestContent<'_>, &[ContentCondition]),
) -> bool {
    let verdict = |method| verdict_of(policy, decision, target, method);
    content::all_hold(approved, content)
        && rules(policy).pass_apart_from(decision, method, target, (content, approved))
        && content::method_finding(verdict, method, content).is_none()
}

/// True if the body of a request may name another method, and not every method passes to this URL
/// (`docs/reference/policy.md#named-methods`). Then a body of a type that [`may_have_parameters`] must be read.
pub fn body_may_name_method(
    policy: Option<&CompiledPolicy>,
    decision: &Decision<'_>,
    method: Method,
    target: &Target,
) -> bool {
    let passes = |method| verdict_of(policy, decision, target, method) == PolicyVerdict::AutoApprove;
    method == Method::Post
        && decision.verdict != PolicyVerdict::Deny
        && !content::REPLACING.into_iter().all(passes)
}

/// The verdict for a URL under another method than that of the decision.
fn verdict_of(
    policy: Option<&CompiledPolicy>,
    decision: &Decision<'_>,
    target: &Target,
    method: Method,
) -> PolicyVerdict {
    let mode = match decision.rule {
        Rule::AutonomousDefault => ApprovalMode::Autonomous,
        _ => ApprovalMode::Gated,
    };
    evaluate(policy, mode, method, target).verdict
}

/// The content rules of a policy; none without a policy.
fn rules(policy: Option<&CompiledPolicy>) -> &CompiledContentRules {
    static NONE: LazyLock<CompiledContentRules> = LazyLock::new(CompiledContentRules::default);
    policy.map_or(&NONE, CompiledPolicy::content)
}

const fn without_policy(mode: ApprovalMode, method: Method) -> Decision<'static> {
    match (mode, method) {
        (ApprovalMode::Autonomous, _) => Decision::new(PolicyVerdict::AutoApprove, Rule::AutonomousDefault),
        (ApprovalMode::Gated, Method::Get | Method::Head) => {
            Decision::new(PolicyVerdict::AutoApprove, Rule::GatedDefault)
        }
        (ApprovalMode::Gated, _) => Decision::new(PolicyVerdict::RequireApproval, Rule::GatedDefault),
    }
}

#[cfg(test)]
mod tests;
