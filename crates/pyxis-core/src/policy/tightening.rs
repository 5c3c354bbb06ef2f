//! Which grants die when a policy changes (Spec 3, Policy evaluation, Defaults; decisions, Grants).

use super::{CompiledPolicy, Method, Policy, Rule, Verdict};
use crate::target::Target;

/// What became stricter from one policy to the next.
#[derive(Debug)]
pub struct PolicyTightening {
    /// Passkey approval was switched on.
    pub passkey: bool,
    /// More approvers are needed than before.
    pub min_approvals: bool,
    new: CompiledPolicy,
}

/// Compares a policy with its successor; `old` is `None` when there was no policy.
pub fn tightened(old: Option<&Policy>, new: &Policy) -> PolicyTightening {
    let needed_before = old.map_or(1, |policy| policy.min_approvals);
    PolicyTightening {
        passkey: new.passkey_required && !old.is_some_and(|policy| policy.passkey_required),
        min_approvals: new.min_approvals > needed_before,
        new: new.compile(),
    }
}

impl PolicyTightening {
    /// True if a grant for this method and route dies for good: the new policy refuses what it covers,
    /// asks for it by URL, or wants a passkey or more approvers than the grant was made with.
    pub fn revokes(&self, method: Method, route_target: &Target) -> bool {
        let decision = self.new.evaluate(method, route_target);
        let forbidden = decision.verdict == Verdict::Deny || decision.rule == Rule::RequireUrl;
        self.passkey || self.min_approvals || forbidden
    }
}
