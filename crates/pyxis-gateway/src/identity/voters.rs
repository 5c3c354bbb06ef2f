//! People behind the votes on a request, in their current state.
//!
//! A vote counts while the voter may still decide and, if a passkey is needed, only if given with one. Two votes count
//! as two only if two different people are behind them. Anyone who opened another person's account with a link that
//! they created controls both.

use pyxis_core::approval_mode::Role;
use pyxis_core::eligibility;
use pyxis_core::id::{CredentialId, UserId, WorkspaceId};
use pyxis_core::policy::Policy;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::users::{self, UserRow};
use pyxis_store::votes::{Verdict, VoteRow};
use pyxis_store::{Executor, Tx, member_rights, policies};

use crate::error::{Error, Result};

/// Maximum length of a chain of accounts that opened each other.
const MAX_CHAIN: usize = 16;

/// Message for a member without rights on a credential.
pub const NOT_YOURS: &str = "you do not have the Approve right for this credential; ask an owner or admin";

/// A person in their current state.
pub(crate) struct Voter {
    pub(crate) user: UserRow,
    /// True if the person has the Approve right on the credential.
    assigned: bool,
}

impl Voter {
    /// Loads an enabled person. `None` if they were removed or disabled.
    pub(crate) async fn load(
        tx: &mut Tx,
        workspace: WorkspaceId,
        user: UserId,
        credential: CredentialId,
    ) -> Result<Option<Self>> {
        let found = users::find(&mut *tx, workspace, user).await?;
        let Some(user) = found.filter(|user| user.disabled_at.is_none()) else { return Ok(None) };
        let rights = member_rights::find(&mut *tx, workspace, user.id, credential).await?;
        Ok(Some(Self { user, assigned: rights.is_some_and(|rights| rights.can_approve) }))
    }

    /// Fails unless the person may decide.
    pub(crate) fn check(&self, policy: Option<&Policy>) -> Result<()> {
        eligible(self.user.role, self.assigned, &self.user.email, policy)
    }
}

/// The policy of a credential, if any. Within a transaction, reads the state that the transaction sees.
pub(crate) async fn policy_of(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
) -> Result<Option<Policy>> {
    let found = policies::find(executor, workspace, credential).await?;
    let Some(found) = found else { return Ok(None) };
    Policy::from_json(found.document.as_bytes()).map(Some).map_err(|error| Error::Internal(Box::new(error)))
}

/// True if a vote is an approval that counts toward the quorum, judged by the vote alone. If a passkey is needed by
/// now, an approval without one does not count.
pub fn counts(vote: &VoteRow, row: &ApprovalRow, policy: Option<&Policy>) -> bool {
    vote.verdict == Verdict::Approve && (vote.passkey || !passkey_required(row, policy))
}

/// True if a passkey is needed, according to the request or the policy.
pub fn passkey_required(row: &ApprovalRow, policy: Option<&Policy>) -> bool {
    row.passkey_required || policy.is_some_and(|policy| policy.passkey_required)
}

/// Fails unless the person may decide. `role` and `assigned` determine eligibility, which the policy's list narrows.
pub(crate) fn eligible(role: Role, assigned: bool, email: &str, policy: Option<&Policy>) -> Result<()> {
    let listed = policy.map_or(&[][..], |policy| &policy.allowed_approvers);
    if eligibility::may_approve(role, assigned, listed, email) {
        return Ok(());
    }
    if role.is_manager() || assigned {
        Err(Error::NotEligible("the policy's allowed_approvers does not list you"))
    } else {
        Err(Error::NotEligible(NOT_YOURS))
    }
}

/// Those of `people` whose decision on a credential's requests would count now, in order and without duplicates. They
/// are notified of such a request.
pub(crate) async fn eligible_among(
    tx: &mut Tx,
    workspace: WorkspaceId,
    credential: CredentialId,
    people: Vec<UserId>,
) -> Result<Vec<UserId>> {
    let policy = policy_of(&mut *tx, workspace, credential).await?;
    let (mut asked, mut eligible) = (Vec::new(), Vec::new());
    for person in people {
        if asked.contains(&person) {
            continue;
        }
        asked.push(person);
        let voter = Voter::load(tx, workspace, person, credential).await?;
        if voter.is_some_and(|voter| voter.check(policy.as_ref()).is_ok()) {
            eligible.push(person);
        }
    }
    Ok(eligible)
}

/// The people with these addresses whose decision on a credential's requests would count now.
pub(crate) async fn eligible_by_email(
    tx: &mut Tx,
    workspace: WorkspaceId,
    credential: CredentialId,
    emails: &[String],
) -> Result<Vec<UserId>> {
    let mut people = Vec::new();
    for email in emails {
        let found = users::find_by_email(&mut *tx, workspace, email).await?;
        // The store folds more letters than addresses in a policy do.
        people.extend(found.filter(|user| user.email.eq_ignore_ascii_case(email)).map(|user| user.id));
    }
    if people.is_empty() {
        return Ok(people);
    }
    eligible_among(tx, workspace, credential, people).await
}

/// People behind the approvals of a request that still count, each once.
pub(crate) async fn counted_voters(
    tx: &mut Tx,
    row: &ApprovalRow,
    policy: Option<&Policy>,
    votes: &[VoteRow],
) -> Result<Vec<UserId>> {
    let mut people = Vec::new();
    for vote in votes.iter().filter(|vote| counts(vote, row, policy)) {
        let Some(giver) = Voter::load(tx, vote.workspace_id, vote.user_id, row.credential_id).await? else {
            continue;
        };
        if giver.check(policy).is_err() {
            continue;
        }
        let person = behind(tx, &giver.user).await?;
        if !people.contains(&person) {
            people.push(person);
        }
    }
    Ok(people)
}

/// Refuses an approval by a person who is already behind a counted one.
pub(crate) async fn check_distinct(tx: &mut Tx, voter: &Voter, people: &[UserId]) -> Result<()> {
    if people.contains(&behind(tx, &voter.user).await?) {
        return Err(Error::NotEligible(
            "another approver made the link that opened your account, so you both count as one person; sign \
             in with an earlier passkey, or get a link from pyxis user link",
        ));
    }
    Ok(())
}

/// The person who controls an account: the creator of the link that last opened it, and so on. Accounts that opened
/// each other in a circle are one person.
async fn behind(tx: &mut Tx, user: &UserRow) -> Result<UserId> {
    let mut seen = vec![user.id];
    let mut next = user.opened_by;
    while let Some(id) = next.filter(|_| seen.len() < MAX_CHAIN) {
        if let Some(start) = seen.iter().position(|known| *known == id) {
            return Ok(seen[start..].iter().copied().min().unwrap_or(id));
        }
        seen.push(id);
        next = users::find(&mut *tx, user.workspace_id, id).await?.and_then(|opener| opener.opened_by);
    }
    Ok(*seen.last().unwrap_or(&user.id))
}
