//! Who may do what with a credential: one table, to which the API and the pages are both held.
//! Spec 3, Approval channels (Approver eligibility, Policy editing), Grant; decisions, Admin API.

use std::fmt;

use serde_json::{Value, json};

/// Somebody of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// An owner.
    Owner,
    /// An admin.
    Admin,
    /// A member without any grant.
    Member,
    /// A member with Approve on the credential, and nothing else.
    Approver,
    /// A member with Policy on the credential, and nothing else.
    Editor,
}

impl Who {
    /// Everybody whom a test adds to the owner who is there, and their addresses.
    pub const ADDED: [(Self, &'static str); 4] = [
        (Self::Admin, "admin@people.example"),
        (Self::Member, "member@people.example"),
        (Self::Approver, "approver@people.example"),
        (Self::Editor, "editor@people.example"),
    ];

    /// Owners and admins.
    pub const fn is_manager(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }
}

/// Something to do about a request that waits, or about the policy behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To look at the request.
    Show,
    /// To approve it.
    Approve,
    /// To approve it and open a grant of 30 minutes, over the API or on the standalone page.
    Grant,
    /// The same in the dashboard.
    DashboardGrant,
    /// To deny it.
    Deny,
    /// To write the policy.
    Edit,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 6] =
        [Self::Show, Self::Approve, Self::Grant, Self::DashboardGrant, Self::Deny, Self::Edit];
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request is shown.
    Shown,
    /// The request is approved.
    Approved,
    /// The request is approved, and the grant is open.
    Granted,
    /// The approval counts, and another one is needed.
    Counted,
    /// The request is denied.
    Denied,
    /// The policy holds at once.
    Applied,
    /// The policy is staged until its maker's passkey confirms it.
    Staged,
    /// Refused: not somebody who decides here.
    NotEligible,
    /// Refused: no passkey was used.
    PasskeyRequired,
    /// Refused: no grant here, or not by them.
    NoGrant,
    /// Refused: not somebody who writes this policy.
    Forbidden,
}

use self::{Action as A, Outcome as O, Who as W};

const MANAGERS: &[Who] = &[W::Owner, W::Admin];
const APPROVERS: &[Who] = &[W::Owner, W::Admin, W::Approver];

/// What comes of everybody's actions: where one person is enough, where two must approve, where a passkey is
/// needed, and where `allowed_approvers` names only somebody else. Nobody here uses a passkey.
const TABLE: &[(&[Who], &[Action], [Outcome; 4])] = &[
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

/// What must come of it.
pub fn outcome(who: Who, action: Action, terms: Terms) -> Outcome {
    let mut rows = TABLE.iter().filter(|(whose, what, _)| whose.contains(&who) && what.contains(&action));
    let (.., outcomes) = rows.next().expect("a row for everybody and every action");
    assert!(rows.next().is_none(), "two rows for {who:?} and {action:?}");
    outcomes[terms.column()]
}

/// Whom `allowed_approvers` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Nobody: it narrows nothing.
    Nobody,
    /// Everybody of the test, which adds no right to anybody.
    Everybody,
    /// Only somebody else.
    SomebodyElse,
}

/// One state of the credential, as its policy has it.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Whom `allowed_approvers` names.
    pub listed: Listed,
    /// True if approving takes a passkey.
    pub passkey: bool,
    /// People who must approve.
    pub min_approvals: u32,
}

impl Terms {
    /// Every state there is.
    pub fn all() -> impl Iterator<Item = Self> {
        let listed = [Listed::Nobody, Listed::Everybody, Listed::SomebodyElse];
        listed.into_iter().flat_map(|listed| {
            let terms = |(passkey, min_approvals)| Self { listed, passkey, min_approvals };
            [(false, 1), (false, 2), (true, 1), (true, 2)].map(terms)
        })
    }

    const fn column(self) -> usize {
        match self {
            Self { listed: Listed::SomebodyElse, .. } => 3,
            Self { passkey: true, .. } => 2,
            Self { min_approvals: 2.., .. } => 1,
            _ => 0,
        }
    }

    /// The addresses in `allowed_approvers`.
    pub fn approvers(self, owner: &str) -> Vec<&str> {
        match self.listed {
            Listed::Nobody => Vec::new(),
            Listed::Everybody => [owner].into_iter().chain(Who::ADDED.map(|(_, email)| email)).collect(),
            Listed::SomebodyElse => vec!["nobody@people.example"],
        }
    }

    /// The policy.
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
