//! Number of people who may approve under a policy, with warnings if they are too few.

use pyxis_core::eligibility;
use pyxis_core::id::{CredentialId, WorkspaceId};
use pyxis_core::policy::Policy;
use pyxis_store::Store;
use pyxis_store::passkeys;
use pyxis_store::users::UserRow;

use super::{people, rights};
use crate::error::Result;

/// Number of people who may approve a credential's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApproverCount {
    /// All of them.
    pub all: u32,
    /// Those who have a passkey.
    pub with_passkey: u32,
}

impl ApproverCount {
    /// Counts the enabled people of the workspace who may approve the credential's requests with this policy.
    pub async fn load(
        store: &Store,
        workspace: WorkspaceId,
        credential: CredentialId,
        policy: &Policy,
    ) -> Result<Self> {
        let owners = passkeys::owners(store, workspace).await?;
        let mut count = Self::default();
        for user in able(store, workspace, credential, policy).await? {
            count.all += 1;
            count.with_passkey += u32::from(owners.contains(&user.id));
        }
        Ok(count)
    }

    /// Warnings about a policy that needs more approvers than there are.
    pub fn warnings(self, policy: &Policy) -> Vec<String> {
        let needed = match policy.min_approvals {
            1 => "1 approver".to_owned(),
            several => format!("{several} approvers"),
        };
        let mut warnings = Vec::new();
        if self.all < policy.min_approvals {
            warnings.push(format!(
                "This policy needs {needed}, but {}. Requests that need approval can never be sent. Add people or lower the number.",
                qualifying(self.all, "qualifies", "qualify")
            ));
        }
        if policy.passkey_required && self.with_passkey < policy.min_approvals {
            warnings.push(format!(
                "This policy needs {needed} with a passkey, but {} one. Requests that need approval cannot be sent until enough approvers register a passkey under Account.",
                qualifying(self.with_passkey, "has", "have")
            ));
        }
        warnings
    }
}

/// The enabled people of the workspace who may approve the credential's requests with this policy.
pub(super) async fn able(
    store: &Store,
    workspace: WorkspaceId,
    credential: CredentialId,
    policy: &Policy,
) -> Result<Vec<UserRow>> {
    let granted = rights::list(store, workspace).await?;
    let is_assigned = |user: &UserRow| {
        granted.iter().any(|(whose, on, right)| *whose == user.id && *on == credential && right.approve)
    };
    let mut people = people::list(store, workspace).await?;
    people.retain(|user| {
        let listed = &policy.allowed_approvers;
        let may = eligibility::may_approve(user.role, is_assigned(user), listed, &user.email);
        may && user.disabled_at.is_none()
    });
    Ok(people)
}

/// `no one has`, `only 1 has`, `only 2 have`.
fn qualifying(people: u32, one: &str, several: &str) -> String {
    match people {
        0 => format!("no one {one}"),
        1 => format!("only 1 {one}"),
        people => format!("only {people} {several}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_needs_more_approvers_than_there_are_is_warned_of() {
        let policy = Policy { min_approvals: 2, passkey_required: true, ..Policy::default() };
        assert!(ApproverCount { all: 2, with_passkey: 2 }.warnings(&policy).is_empty());
        let few = ApproverCount { all: 1, with_passkey: 0 }.warnings(&policy);
        assert!(few[0].starts_with("This policy needs 2 approvers, but only 1 qualifies."), "{few:?}");
        assert!(
            few[1].starts_with("This policy needs 2 approvers with a passkey, but no one has one."),
            "{few:?}"
        );
        let without = Policy { passkey_required: false, ..policy };
        assert_eq!(ApproverCount { all: 2, with_passkey: 0 }.warnings(&without), Vec::<String>::new());
    }
}
