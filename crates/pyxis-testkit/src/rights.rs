//! Rights on a credential: one table that both the API and the pages must match.
//! `docs/reference/behavior/proxy.md#approvers`.

use std::fmt;

use serde_json::{Value, json};

/// A person in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Owner,
    Admin,
    /// A member without any right on the credential.
    Member,
    /// A member with only Approve on the credential.
    Approver,
    /// A member with only Policy on the credential.
    Editor,
}

impl Who {
    /// Everyone whom a test adds to the existing owner, with email addresses.
    pub const ADDED: [(Self, &'static str); 4] = [
        (Self::Admin, "admin@people.example"),
        (Self::Member, "member@people.example"),
        (Self::Approver, "approver@people.example"),
        (Self::Editor, "editor@people.example"),
    ];

    /// Admins who do nothing in a test, but whom a policy can list.
    pub const OTHERS: [&'static str; 2] = ["nobody@people.example", "no-one-else@people.example"];

    /// True for owners and admins.
    pub const fn is_manager(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }
}

/// An action on a pending approval request, or on the policy behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// View the request.
    Show,
    Approve,
    /// Approve it and open a 30-minute grant, through the API or on the standalone page.
    Grant,
    /// Approve it and open a 30-minute grant in the dashboard.
    DashboardGrant,
    Deny,
    /// Edit the policy.
    Edit,
}

impl Action {
    pub const ALL: [Self; 6] =
        [Self::Show, Self::Approve, Self::Grant, Self::DashboardGrant, Self::Deny, Self::Edit];
}

/// Result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    /// The request is shown.
    Shown,
    /// The request is approved.
    Approved,
    /// The request is approved, and the grant is open.
    Granted,
    /// The approval counts, but another one is needed.
    Counted,
    /// The request is denied.
    Denied,
    /// The policy applies immediately.
    Applied,
    /// The policy is staged until its author's passkey confirms it.
    Staged,
    /// Refused: not an eligible approver.
    NotEligible,
    /// Refused: no passkey was used.
    PasskeyRequired,
    /// Refused: no grant possible, or not by this person.
    NoGrant,
    /// Refused: not allowed to edit this policy.
    Forbidden,
}

use self::{Action as A, ActionOutcome as O, Who as W};

const MANAGERS: &[Who] = &[W::Owner, W::Admin];
const APPROVERS: &[Who] = &[W::Owner, W::Admin, W::Approver];

/// Outcomes for everyone in four states: one approval suffices, two are needed, a passkey is needed, and
/// `allowed_approvers` lists only someone else. No one here uses a passkey.
const TABLE: &[(&[Who], &[Action], [ActionOutcome; 4])] = &[
    (APPROVERS, &[A::Show], [O::Shown; 4]),
    (APPROVERS, &[A::Approve], [O::Approved, O::Counted, O::PasskeyRequired, O::NotEligible]),
    (APPROVERS, &[A::Grant], [O::Granted, O::NoGrant, O::PasskeyRequired, O::NotEligible]),
    (MANAGERS, &[A::DashboardGrant], [O::Granted, O::NoGrant, O::PasskeyRequired, O::NotEligible]),
    (&[W::Approver], &[A::DashboardGrant], [O::NoGrant, O::NoGrant, O::PasskeyRequired, O::NotEligible]),
    (APPROVERS, &[A::Deny], [O::Denied, O::Denied, O::Denied, O::NotEligible]),
    (
        &[W::Member, W::Editor],
        &[A::Show, A::Approve, A::Grant, A::DashboardGrant, A::Deny],
        [O::NotEligible; 4],
    ),
    (MANAGERS, &[A::Edit], [O::Applied; 4]),
    (&[W::Editor], &[A::Edit], [O::Staged; 4]),
    (&[W::Member, W::Approver], &[A::Edit], [O::Forbidden; 4]),
];

/// The required outcome.
pub fn outcome(who: Who, action: Action, terms: Terms) -> ActionOutcome {
    let mut rows = TABLE.iter().filter(|(whose, what, _)| whose.contains(&who) && what.contains(&action));
    let (.., outcomes) = rows.next().expect("a row for everybody and every action");
    assert!(rows.next().is_none(), "two rows for {who:?} and {action:?}");
    outcomes[terms.column()]
}

/// Content of `allowed_approvers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedApprovers {
    /// Empty, which restricts nothing.
    Nobody,
    /// Everyone in the test, which gives no one additional rights.
    Everybody,
    /// Only others.
    SomebodyElse,
}

/// One state of the credential's policy.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Content of `allowed_approvers`.
    pub listed: ListedApprovers,
    /// True if approval needs a passkey.
    pub passkey: bool,
    /// Number of people who must approve.
    pub min_approvals: u32,
}

impl Terms {
    /// All states.
    pub fn all() -> impl Iterator<Item = Self> {
        let listed = [ListedApprovers::Nobody, ListedApprovers::Everybody, ListedApprovers::SomebodyElse];
        listed.into_iter().flat_map(|listed| {
            let terms = |(passkey, min_approvals)| Self { listed, passkey, min_approvals };
            [(false, 1), (false, 2), (true, 1), (true, 2)].map(terms)
        })
    }

    const fn column(self) -> usize {
        match self {
            Self { listed: ListedApprovers::SomebodyElse, .. } => 3,
            Self { passkey: true, .. } => 2,
            Self { min_approvals: 2.., .. } => 1,
            _ => 0,
        }
    }

    /// Addresses in `allowed_approvers`.
    pub fn approvers(self, owner: &str) -> Vec<&str> {
        match self.listed {
            ListedApprovers::Nobody => Vec::new(),
            ListedApprovers::Everybody => {
                [owner].into_iter().chain(Who::ADDED.map(|(_, email)| email)).collect()
            }
            ListedApprovers::SomebodyElse => Who::OTHERS.to_vec(),
        }
    }

    /// The policy as JSON.
    pub fn policy(self, owner: &str) -> Value {
        json!({
            "allowed_approvers": self.approvers(owner),
            "passkey_required": self.passkey,
            "min_approvals": self.min_approvals,
        })
    }
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/{}/{}", self.listed, self.passkey, self.min_approvals)
    }
}
