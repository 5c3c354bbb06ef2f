//! Tasks: lists of actions that an agent proposes and a person approves once
//! (`docs/reference/behavior/proxy.md#tasks`).

mod content;
mod url;

use std::time::Duration;

use crate::approval_mode::Role;
use crate::clock::UnixMillis;
use crate::grant;
use crate::policy::{ContentCondition, Decision, Method, Policy, PolicyVerdict};

pub use content::{MAX_CONDITION, MAX_CONDITIONS, TaskContentError, conditions};
pub use url::{TaskUrl, TaskUrlError};

/// Maximum number of actions of a task.
pub const MAX_ACTIONS: usize = 20;
/// Maximum number of uses of an action.
pub const MAX_USES: u32 = 1_000;
/// Maximum length of a purpose, in characters.
pub const MAX_PURPOSE: usize = 500;
/// Longest task, in minutes.
pub const MAX_MINUTES: u32 = 1_440;
/// Longest task that a member approves, in minutes.
pub const MEMBER_MINUTES: u32 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Waits for a person.
    Proposed,
    /// A person approved it, and it can be used.
    Approved,
    /// A person denied it.
    Denied,
    /// The agent withdrew it before a decision.
    Withdrawn,
    /// No one decided in time.
    Expired,
    /// Ended early: by a person, or by a change of policy, secret or agent.
    Stopped,
    /// Out of time, or used up.
    Ended,
}

impl TaskState {
    /// Every state.
    pub const ALL: &'static [Self] = &[
        Self::Proposed,
        Self::Approved,
        Self::Denied,
        Self::Withdrawn,
        Self::Expired,
        Self::Stopped,
        Self::Ended,
    ];

    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
            Self::Stopped => "stopped",
            Self::Ended => "ended",
        }
    }

    /// The state with exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.as_str() == name)
    }

    /// The state at a time. A stored one changes with time and use, without a write.
    #[must_use]
    pub fn at(self, now: UnixMillis, expires_at: UnixMillis, is_used_up: bool) -> Self {
        match self {
            Self::Proposed if expires_at <= now => Self::Expired,
            Self::Approved if expires_at <= now || is_used_up => Self::Ended,
            other => other,
        }
    }
}

/// One kind of request that a task allows.
#[derive(Clone, Debug)]
pub struct TaskAction {
    /// Name of the stored credential.
    pub credential: String,
    /// Method of the requests.
    pub method: Method,
    /// URLs of the requests.
    pub url: TaskUrl,
    /// Conditions that the content of each request meets.
    pub content: Vec<ContentCondition>,
    /// Maximum number of requests.
    pub max_uses: u32,
}

/// Reasons for refusing a proposed task, each with its remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// No purpose, or too long a one.
    #[error("must have 1 to {MAX_PURPOSE} characters; say what the task is for")]
    Purpose,
    /// No action, or too many.
    #[error("must have 1 to {MAX_ACTIONS} actions; propose several tasks if you need more")]
    Actions,
    /// A number of uses outside its range.
    #[error("must be a number from 1 to {MAX_USES}")]
    Uses,
    /// Too short or too long.
    #[error("must be a number from 1 to {MAX_MINUTES}")]
    Minutes,
}

/// Rule of a policy because of which none of its credential's requests can be part of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskBlocker {
    /// `min_approvals` above 1.
    #[error(
        "the policy of this credential needs more than one approver, so each request needs its own approvals"
    )]
    SeveralApprovers,
}

/// The rule of a policy that keeps its credential out of tasks, if there is one.
pub fn task_blocker(policy: Option<&Policy>) -> Option<TaskBlocker> {
    (policy?.min_approvals > 1).then_some(TaskBlocker::SeveralApprovers)
}

/// True if a task with an action of the credential is only approved with a passkey, as a grant is.
pub fn passkey_required(policy: Option<&Policy>) -> bool {
    policy.is_some_and(|policy| policy.passkey_required)
}

/// True if a task can replace the approval of a request with this decision by its URL. It can wherever a grant can be
/// opened, and where only the content needs approval. The caller checks how the task was approved.
pub fn task_may_apply(decision: &Decision<'_>, policy: Option<&Policy>) -> bool {
    let only_content_asks = decision.verdict == PolicyVerdict::AutoApprove;
    task_blocker(policy).is_none() && (only_content_asks || grant::grant_may_apply(decision, policy))
}

/// Checks the purpose, the number of actions and uses, and the length of a task. An error names the field.
pub fn check(purpose: &str, uses: &[u32], minutes: u32) -> Result<(), (String, TaskError)> {
    if purpose.trim().is_empty() || purpose.chars().count() > MAX_PURPOSE {
        return Err(("purpose".to_owned(), TaskError::Purpose));
    }
    if uses.is_empty() || uses.len() > MAX_ACTIONS {
        return Err(("actions".to_owned(), TaskError::Actions));
    }
    if let Some(index) = uses.iter().position(|uses| !(1..=MAX_USES).contains(uses)) {
        return Err((format!("actions[{index}].max_uses"), TaskError::Uses));
    }
    if !(1..=MAX_MINUTES).contains(&minutes) {
        return Err(("minutes".to_owned(), TaskError::Minutes));
    }
    Ok(())
}

/// An action as a person approves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovedAction {
    /// Position in the proposal, from 1.
    pub position: u32,
    /// Number of uses, at most as proposed.
    pub max_uses: u32,
}

/// Reasons for refusing an approval that is not the proposal or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrimError {
    /// Every action was removed.
    #[error("at least one action must remain; deny the task to refuse all of it")]
    Nothing,
    /// No such action was proposed.
    #[error("action {position} was not proposed; an approval can only remove or lower what was proposed")]
    Unknown {
        /// Position that was sent.
        position: u32,
    },
    /// An action is listed twice.
    #[error("action {position} is listed twice; list it once")]
    Twice {
        /// Position that was sent.
        position: u32,
    },
    /// More uses than proposed, or none.
    #[error("action {position} can have 1 to {proposed} uses; leave it out to remove it")]
    Uses {
        /// Position that was sent.
        position: u32,
        /// Number of uses in the proposal.
        proposed: u32,
    },
    /// A later end than proposed, or none.
    #[error("the task can last 1 to {proposed} minutes, as proposed")]
    Minutes {
        /// Length in the proposal.
        proposed: u32,
    },
    /// Longer than this person may approve.
    #[error(
        "members approve tasks of up to {MEMBER_MINUTES} minutes; shorten it, or ask an owner or admin to approve it"
    )]
    Member,
}

/// Number of uses of each proposed action after an approval; 0 for a removed one. `proposed` is in order of position.
/// `wanted` lists the actions that remain; `None` for all, as proposed.
pub fn trim(proposed: &[u32], wanted: Option<&[ApprovedAction]>) -> Result<Vec<u32>, TrimError> {
    let Some(wanted) = wanted else { return Ok(proposed.to_vec()) };
    let mut kept = vec![0; proposed.len()];
    for &ApprovedAction { position, max_uses } in wanted {
        let index = usize::try_from(position).ok().and_then(|position| position.checked_sub(1));
        let index = index.filter(|index| *index < proposed.len());
        let index = index.ok_or(TrimError::Unknown { position })?;
        if kept[index] != 0 {
            return Err(TrimError::Twice { position });
        }
        if !(1..=proposed[index]).contains(&max_uses) {
            return Err(TrimError::Uses { position, proposed: proposed[index] });
        }
        kept[index] = max_uses;
    }
    if kept.iter().all(|uses| *uses == 0) { Err(TrimError::Nothing) } else { Ok(kept) }
}

/// Length of an approved task. `role` is the role of the eligible approver.
pub fn approved_length(role: Role, proposed: u32, wanted: Option<u32>) -> Result<Duration, TrimError> {
    let minutes = wanted.unwrap_or(proposed);
    if !(1..=proposed).contains(&minutes) {
        return Err(TrimError::Minutes { proposed });
    }
    if minutes > MEMBER_MINUTES && !role.is_manager() {
        return Err(TrimError::Member);
    }
    Ok(Duration::from_mins(minutes.into()))
}

#[cfg(test)]
mod tests {
    //! Tasks: `docs/reference/behavior/proxy.md#tasks`.

    use super::*;
    use crate::policy::Rule;

    fn approved(actions: &[(u32, u32)]) -> Vec<ApprovedAction> {
        actions.iter().map(|&(position, max_uses)| ApprovedAction { position, max_uses }).collect()
    }

    #[test]
    fn a_proposal_stays_within_its_limits() {
        let long = "é".repeat(MAX_PURPOSE);
        assert_eq!(check("Send invoices", &[1], 1), Ok(()));
        assert_eq!(check(&long, &[MAX_USES; MAX_ACTIONS], MAX_MINUTES), Ok(()));
        let purpose = Err(("purpose".to_owned(), TaskError::Purpose));
        assert_eq!(check(" \t", &[1], 1), purpose);
        assert_eq!(check(&format!("{long}e"), &[1], 1), purpose);
        for uses in [&[][..], &[1; MAX_ACTIONS + 1]] {
            assert_eq!(check("x", uses, 1), Err(("actions".to_owned(), TaskError::Actions)));
        }
        for uses in [0, MAX_USES + 1] {
            assert_eq!(check("x", &[1, uses], 1), Err(("actions[1].max_uses".to_owned(), TaskError::Uses)));
        }
        for minutes in [0, MAX_MINUTES + 1] {
            assert_eq!(check("x", &[1], minutes), Err(("minutes".to_owned(), TaskError::Minutes)));
        }
    }

    #[test]
    fn an_approval_removes_actions_and_lowers_counts_and_does_nothing_else() {
        let proposed = [5, 10];
        assert_eq!(trim(&proposed, None), Ok(vec![5, 10]));
        assert_eq!(trim(&proposed, Some(&approved(&[(2, 10), (1, 1)]))), Ok(vec![1, 10]));
        assert_eq!(trim(&proposed, Some(&approved(&[(2, 3)]))), Ok(vec![0, 3]));
        assert_eq!(trim(&proposed, Some(&[])), Err(TrimError::Nothing));
        for position in [0, 3, u32::MAX] {
            assert_eq!(
                trim(&proposed, Some(&approved(&[(position, 1)]))),
                Err(TrimError::Unknown { position })
            );
        }
        let twice = Err(TrimError::Twice { position: 1 });
        assert_eq!(trim(&proposed, Some(&approved(&[(1, 1), (1, 1)]))), twice);
        for uses in [0, 6, u32::MAX] {
            let refused = Err(TrimError::Uses { position: 1, proposed: 5 });
            assert_eq!(trim(&proposed, Some(&approved(&[(1, uses)]))), refused, "{uses}");
        }
    }

    #[test]
    fn an_approval_never_ends_later_than_proposed() {
        let minutes = |minutes| Ok(Duration::from_mins(minutes));
        assert_eq!(approved_length(Role::Owner, 120, None), minutes(120));
        assert_eq!(approved_length(Role::Admin, 120, Some(45)), minutes(45));
        for asked in [0, 121] {
            let refused = Err(TrimError::Minutes { proposed: 120 });
            assert_eq!(approved_length(Role::Owner, 120, Some(asked)), refused);
        }
    }

    #[test]
    fn a_member_approves_at_most_30_minutes() {
        assert_eq!(approved_length(Role::Member, 120, None), Err(TrimError::Member));
        assert_eq!(approved_length(Role::Member, 120, Some(31)), Err(TrimError::Member));
        assert_eq!(approved_length(Role::Member, 120, Some(30)), Ok(Duration::from_mins(30)));
        assert_eq!(approved_length(Role::Member, 5, None), Ok(Duration::from_mins(5)));
    }

    #[test]
    fn several_approvers_keep_a_credential_out_of_tasks_and_a_passkey_does_not() {
        let asks = Decision::new(PolicyVerdict::RequireApproval, Rule::Default);
        let with_passkey = Policy { passkey_required: true, ..Policy::default() };
        let by_two = Policy { min_approvals: 2, ..Policy::default() };
        for (policy, blocker, passkey) in [
            (None, None, false),
            (Some(&Policy::default()), None, false),
            (Some(&with_passkey), None, true),
            (Some(&by_two), Some(TaskBlocker::SeveralApprovers), false),
        ] {
            assert_eq!((task_blocker(policy), passkey_required(policy)), (blocker, passkey), "{policy:?}");
            let may_apply = task_may_apply(&asks, policy);
            assert_eq!(may_apply, blocker.is_none(), "{policy:?}");
            assert_eq!(
                may_apply,
                grant::grant_may_apply(&asks, policy),
                "grants have the same rule: {policy:?}"
            );
        }
        for rule in [Rule::RequireUrl, Rule::Content] {
            let asks = Decision::new(PolicyVerdict::RequireApproval, rule);
            assert!(!task_may_apply(&asks, Some(&with_passkey)), "{rule:?}");
        }
    }

    #[test]
    fn time_and_use_end_a_task_without_a_write() {
        let (before, end) = (UnixMillis(999), UnixMillis(1_000));
        assert_eq!(TaskState::Proposed.at(before, end, true), TaskState::Proposed);
        assert_eq!(TaskState::Proposed.at(end, end, false), TaskState::Expired);
        assert_eq!(TaskState::Approved.at(before, end, false), TaskState::Approved);
        assert_eq!(TaskState::Approved.at(end, end, false), TaskState::Ended);
        assert_eq!(TaskState::Approved.at(before, end, true), TaskState::Ended);
        for settled in [TaskState::Denied, TaskState::Withdrawn, TaskState::Stopped] {
            assert_eq!(settled.at(end, end, true), settled);
        }
    }
}
