//! Result of authorizing a request.

use pyxis_core::policy::{Decision, Rule};
use pyxis_store::grants::GrantRow;
use pyxis_store::tasks::ClaimedUse;

/// Decision about a request, before grants and tasks.
#[derive(Debug)]
pub(crate) enum Authorization {
    /// It may be sent.
    Allow(Matched),
    /// Approval is required, unless a grant or a task covers the request.
    RequireApproval(Matched),
    /// A deny rule matched.
    Deny {
        /// Pattern of the rule, if it has one.
        pattern: Option<String>,
    },
}

/// Reason that a request may be sent.
#[derive(Debug)]
pub(crate) struct AllowedBy {
    pub(crate) matched: Matched,
    /// Grant that replaced the approval.
    pub(crate) grant: Option<GrantRow>,
    /// Use of a task that replaced the approval.
    pub(crate) task: Option<ClaimedUse>,
}

impl AllowedBy {
    /// Allowed by a rule, without a grant or a task.
    pub(crate) const fn rule(matched: Matched) -> Self {
        Self { matched, grant: None, task: None }
    }
}

/// The rule that decided.
#[derive(Clone, Debug)]
pub(crate) struct Matched {
    pub(crate) rule: Rule,
    pub(crate) pattern: Option<String>,
}

impl From<&Decision<'_>> for Matched {
    fn from(decision: &Decision<'_>) -> Self {
        Self { rule: decision.rule, pattern: decision.pattern.map(str::to_owned) }
    }
}
