//! Status of one person toward one request, to decide which actions a page offers.
//!
//! For display only. [`super::decide`] calls the same functions again in its transaction.

use pyxis_core::clock::UnixMillis;
use pyxis_core::policy::{Policy, Rule};
use pyxis_store::approvals::{ApprovalKind, ApprovalRow};
use pyxis_store::votes::VoteRow;

use super::approver::Approver;
use crate::error::Error;
use crate::identity::voters::eligible;

pub use crate::identity::voters::{NOT_YOURS, counts, passkey_required};

/// Actions of a person on a pending request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewerStatus {
    /// Number of approvals needed.
    pub needed: u32,
    /// Reason that this person may not decide now.
    pub bar: Option<Blocker>,
}

/// Reason that a person may not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// The person is not eligible.
    NotEligible(&'static str),
    /// The person has already approved.
    Voted(UnixMillis),
    /// Only a passkey can decide.
    Passkey,
}

/// Status of `approver`. `assigned` means that they have the Approve right on the credential.
pub fn viewer_status(
    approver: &Approver,
    assigned: bool,
    row: &ApprovalRow,
    policy: Option<&Policy>,
    votes: &[VoteRow],
) -> ViewerStatus {
    let given = votes.iter().find(|vote| vote.user_id == approver.user && counts(vote, row, policy));
    let bar = match (eligible(approver.role, assigned, &approver.email, policy), given) {
        (_, Some(vote)) => Some(Blocker::Voted(vote.created_at)),
        (Err(Error::NotEligible(why)), None) => Some(Blocker::NotEligible(why)),
        _ if passkey_required(row, policy) => Some(Blocker::Passkey),
        _ => None,
    };
    ViewerStatus { needed: approvals_needed(row, policy), bar }
}

/// Number of approvals needed: the larger of the number at the pause and the policy's current number.
pub fn approvals_needed(row: &ApprovalRow, policy: Option<&Policy>) -> u32 {
    let then = u32::try_from(row.min_approvals).unwrap_or(u32::MAX);
    policy.map_or(1, |policy| policy.min_approvals).max(then)
}

/// True if an approval can open a useful grant. False for signatures, if several people must approve, and for an edited
/// request. False as well if a URL rule or a content rule requires approval, which no grant covers, and for a method of a
/// newer version.
pub fn grantable(row: &ApprovalRow, needed: u32) -> bool {
    row.kind == ApprovalKind::Forward
        && needed <= 1
        && row.edits == 0
        && row.method.known().is_some()
        && ![Rule::RequireUrl, Rule::Content].iter().any(|rule| row.rule.is(*rule))
}
