//! Where one person stands towards one request: what a page may offer them.
//!
//! Only for showing. [`super::decide`] asks the same functions again, in its own transaction.

use pyxis_core::clock::UnixMillis;
use pyxis_core::policy::{Policy, Rule};
use pyxis_store::approvals::{ApprovalKind, ApprovalRow};
use pyxis_store::votes::VoteRow;

use super::approver::Approver;
use crate::error::Error;
use crate::identity::voters::eligible;

pub use crate::identity::voters::{NOT_YOURS, counts, passkey_required};

/// What a person may do about a request that is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewerStatus {
    /// Approvals needed.
    pub needed: u32,
    /// Why this person may not decide now.
    pub bar: Option<Blocker>,
}

/// What keeps a person from deciding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// They are not among those who may.
    NotEligible(&'static str),
    /// They have approved already.
    Voted(UnixMillis),
    /// Only a passkey ceremony can decide.
    Passkey,
}

/// Where `approver` stands. `assigned` is whether they have the Approve grant on the credential.
pub fn standing(
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
    ViewerStatus { needed: needed(row, policy), bar }
}

/// The approvals needed: the stricter of what was asked when the request paused and what the policy asks now.
pub fn needed(row: &ApprovalRow, policy: Option<&Policy>) -> u32 {
    let then = u32::try_from(row.min_approvals).unwrap_or(u32::MAX);
    policy.map_or(1, |policy| policy.min_approvals).max(then)
}

/// True if an approval can open a grant that would be of use: not for a signature, not where several people
/// must approve, not where the address asks whatever was granted.
pub fn grantable(row: &ApprovalRow, needed: u32) -> bool {
    row.kind == ApprovalKind::Forward && needed <= 1 && row.rule != Rule::RequireUrl.as_str()
}
