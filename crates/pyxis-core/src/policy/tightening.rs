//! Revocation of grants when a policy changes (`docs/reference/behavior/proxy.md#grants`).

use super::{CompiledPolicy, Method, Policy, PolicyVerdict, Rule};
use crate::target::Target;

/// Differences that make a policy stricter than the one before.
#[derive(Debug)]
pub struct PolicyTightening {
    /// Passkey approval was switched on.
    pub passkey: bool,
    /// More approvers are needed than before.
    pub min_approvals: bool,
    new: CompiledPolicy,
}

/// Compares a policy with its successor; `old` is `None` if there was no policy.
pub fn tightened(old: Option<&Policy>, new: &Policy) -> PolicyTightening {
    let needed_before = old.map_or(1, |policy| policy.min_approvals);
    PolicyTightening {
        passkey: new.passkey_required && !old.is_some_and(|policy| policy.passkey_required),
        min_approvals: new.min_approvals > needed_before,
        new: new.compile(),
    }
}

impl PolicyTightening {
    /// True if a grant for this method and route is permanently revoked. The new policy refuses what it covers,
    /// requires approval for it by URL, or wants a passkey or more approvers than before.
    pub fn revokes(&self, method: Method, route_target: &Target) -> bool {
        let decision = self.new.evaluate(method, route_target);
        let forbidden = decision.verdict == PolicyVerdict::Deny || decision.rule == Rule::RequireUrl;
        self.passkey || self.min_approvals || forbidden
    }
}
