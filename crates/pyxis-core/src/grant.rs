//! Grants: time-limited permissions created with an approval (`docs/reference/behavior/proxy.md#grants`).

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::approval_mode::Role;
use crate::policy::{Decision, Policy, PolicyVerdict, Rule};

/// Place where an approval with a grant is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecisionSurface {
    /// The dashboard's inbox: managers only.
    Dashboard,
    /// The page behind an approval link.
    Standalone,
    /// The approvals API, used by custom approval pages.
    Api,
    /// A button or reaction on a chat platform.
    Chat,
}

impl DecisionSurface {
    /// Every surface.
    pub const ALL: &'static [Self] = &[Self::Dashboard, Self::Standalone, Self::Api, Self::Chat];

    /// The name in the store and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dashboard => "dashboard",
            Self::Standalone => "standalone",
            Self::Api => "api",
            Self::Chat => "chat",
        }
    }
}

/// Reasons why a grant of this length cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// A grant never replaces several approvers.
    #[error("the policy needs more than one approver, so no grant can be opened; approve without one")]
    SeveralApprovers,
    /// Only managers open grants here; members use other surfaces.
    #[error("only owners and admins can open grants in the dashboard; approve without a grant")]
    ManagersOnly,
    /// Not the only permitted length.
    #[error("a grant lasts exactly {seconds} seconds here; request that duration")]
    Exactly {
        /// The permitted length.
        seconds: u64,
    },
    /// Outside the permitted range.
    #[error("a grant lasts {min} to {max} seconds here; request a duration in that range")]
    OutOfRange {
        /// The shortest, in seconds.
        min: u64,
        /// The longest, in seconds.
        max: u64,
    },
}

/// Thirty minutes: chat buttons, the standalone page, and members everywhere.
const FIXED_SECS: u64 = 1_800;
/// Fifteen minutes.
const MIN_SECS: u64 = 900;
/// Four hours.
const MAX_DASHBOARD_SECS: u64 = 14_400;
/// The hard limit of twenty-four hours.
const MAX_SECS: u64 = 86_400;

/// True if a grant may replace the approval that `decision` requires.
///
/// Only if the method or a default requires it: never for `require_approval_urls` or deny, and never if more than one
/// approver is needed. The caller checks that the grant covers the request.
pub fn grant_may_apply(decision: &Decision<'_>, policy: Option<&Policy>) -> bool {
    let asks = decision.verdict == PolicyVerdict::RequireApproval
        && matches!(decision.rule, Rule::RequireMethod | Rule::Default | Rule::GatedDefault);
    asks && policy.is_none_or(|policy| policy.min_approvals <= 1)
}

/// Checks a grant's requested length. `role` is that of a person who is eligible to approve.
pub fn check_duration(
    surface: DecisionSurface,
    role: Role,
    asked: Duration,
    min_approvals: u32,
) -> Result<(), DurationError> {
    if min_approvals > 1 {
        return Err(DurationError::SeveralApprovers);
    }
    let allowed = allowed_seconds(surface, role).ok_or(DurationError::ManagersOnly)?;
    let (min, max) = (*allowed.start(), *allowed.end());
    if (Duration::from_secs(min)..=Duration::from_secs(max)).contains(&asked) {
        Ok(())
    } else if min == max {
        Err(DurationError::Exactly { seconds: min })
    } else {
        Err(DurationError::OutOfRange { min, max })
    }
}

/// `None` if this role cannot open a grant.
fn allowed_seconds(surface: DecisionSurface, role: Role) -> Option<RangeInclusive<u64>> {
    match (surface, role.is_manager()) {
        (DecisionSurface::Dashboard, true) => Some(MIN_SECS..=MAX_DASHBOARD_SECS),
        (DecisionSurface::Dashboard, false) => None,
        (DecisionSurface::Api, true) => Some(MIN_SECS..=MAX_SECS),
        (DecisionSurface::Api, false) | (DecisionSurface::Standalone | DecisionSurface::Chat, _) => {
            Some(FIXED_SECS..=FIXED_SECS)
        }
    }
}

#[cfg(test)]
mod tests {
    //! Grants and their end: `docs/reference/behavior/proxy.md#grants`.

    use super::*;

    const MANAGERS: [Role; 2] = [Role::Owner, Role::Admin];

    fn check(surface: DecisionSurface, role: Role, seconds: u64) -> Result<(), DurationError> {
        check_duration(surface, role, Duration::from_secs(seconds), 1)
    }

    #[test]
    fn managers_grant_15_minutes_to_4_hours_from_the_dashboard() {
        let refused = Err(DurationError::OutOfRange { min: 900, max: 14_400 });
        for role in MANAGERS {
            assert_eq!(check(DecisionSurface::Dashboard, role, 900), Ok(()));
            assert_eq!(check(DecisionSurface::Dashboard, role, 14_400), Ok(()));
            assert_eq!(check(DecisionSurface::Dashboard, role, 899), refused);
            assert_eq!(check(DecisionSurface::Dashboard, role, 14_401), refused);
        }
    }

    #[test]
    fn managers_grant_up_to_24_hours_by_api() {
        let refused = Err(DurationError::OutOfRange { min: 900, max: 86_400 });
        for role in MANAGERS {
            assert_eq!(check(DecisionSurface::Api, role, 86_400), Ok(()));
            assert_eq!(check(DecisionSurface::Api, role, 86_401), refused);
            assert_eq!(check(DecisionSurface::Api, role, 0), refused);
        }
    }

    #[test]
    fn chat_and_the_standalone_page_grant_exactly_30_minutes() {
        for surface in [DecisionSurface::Chat, DecisionSurface::Standalone] {
            for role in Role::ALL {
                assert_eq!(check(surface, *role, 1_800), Ok(()));
                for seconds in [900, 1_799, 1_801, 14_400] {
                    assert_eq!(
                        check(surface, *role, seconds),
                        Err(DurationError::Exactly { seconds: 1_800 })
                    );
                }
            }
        }
    }

    #[test]
    fn a_member_grants_30_minutes_by_api_and_nothing_from_the_dashboard() {
        assert_eq!(check(DecisionSurface::Api, Role::Member, 1_800), Ok(()));
        assert_eq!(
            check(DecisionSurface::Api, Role::Member, 900),
            Err(DurationError::Exactly { seconds: 1_800 })
        );
        assert_eq!(check(DecisionSurface::Dashboard, Role::Member, 1_800), Err(DurationError::ManagersOnly));
    }

    #[test]
    fn no_grant_where_more_than_one_approver_is_needed() {
        for surface in DecisionSurface::ALL {
            for role in Role::ALL {
                let result = check_duration(*surface, *role, Duration::from_mins(30), 2);
                assert_eq!(result, Err(DurationError::SeveralApprovers));
            }
        }
    }

    #[test]
    fn a_grant_replaces_the_prompt_of_a_method_or_a_default_and_of_nothing_else() {
        for rule in Rule::ALL {
            for verdict in [PolicyVerdict::AutoApprove, PolicyVerdict::RequireApproval, PolicyVerdict::Deny] {
                let prompt = verdict == PolicyVerdict::RequireApproval;
                let by_method = ["require_method", "default", "gated_default"].contains(&rule.as_str());
                let decision = Decision::new(verdict, *rule);
                assert_eq!(grant_may_apply(&decision, None), prompt && by_method, "{rule:?} {verdict:?}");
            }
        }
    }

    #[test]
    fn a_grant_never_replaces_a_prompt_for_several_approvers() {
        let decision = Decision::new(PolicyVerdict::RequireApproval, Rule::Default);
        let needing = |min_approvals| Policy { min_approvals, ..Policy::default() };
        assert!(grant_may_apply(&decision, Some(&needing(1))));
        assert!(!grant_may_apply(&decision, Some(&needing(2))));
    }
}
