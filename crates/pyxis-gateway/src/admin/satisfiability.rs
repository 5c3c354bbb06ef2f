//! Policies under which nothing could ever be approved, or that ask people who may not decide. They are refused when they
//! are saved.

use pyxis_core::id::{CredentialId, WorkspaceId};
use pyxis_core::policy::{EscalationStep, Policy};
use pyxis_store::Store;

use super::approver_count::{self, ApproverCount};
use super::people;
use crate::error::{Error, Result};

/// A reason that a policy's requests can never be approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Field of the policy document.
    pub field: &'static str,
    /// Reason and remedy.
    pub detail: String,
}

/// Refuses a policy whose requests can never be approved (422).
pub async fn check(
    store: &Store,
    workspace: WorkspaceId,
    credential: CredentialId,
    policy: &Policy,
) -> Result<()> {
    match obstacles(store, workspace, credential, policy).await?.into_iter().next() {
        Some(Obstacle { field, detail }) => Err(Error::field(field, detail)),
        None => Ok(()),
    }
}

/// Everything that keeps the policy's requests from being approved.
pub async fn obstacles(
    store: &Store,
    workspace: WorkspaceId,
    credential: CredentialId,
    policy: &Policy,
) -> Result<Vec<Obstacle>> {
    let mut found = unable(store, workspace, credential, policy).await?;
    // One approval of anyone is what a workspace without a policy needs, too: a first person may still come.
    if policy.min_approvals <= 1 && policy.allowed_approvers.is_empty() {
        return Ok(found);
    }
    let people = people::list(store, workspace).await?;
    let is_known = |email: &String| people.iter().any(|user| user.email.eq_ignore_ascii_case(email));
    let unknown = policy.allowed_approvers.iter().filter(|email| !is_known(email));
    found.extend(unknown.map(|email| Obstacle {
        field: "allowed_approvers",
        detail: format!("no one here has the address {email}; add the person first, or correct the address"),
    }));
    let able = ApproverCount::load(store, workspace, credential, policy).await?.all;
    if able < policy.min_approvals {
        found.push(too_few(policy, able));
    }
    Ok(found)
}

/// People whom the policy would ask although they may not decide.
async fn unable(
    store: &Store,
    workspace: WorkspaceId,
    credential: CredentialId,
    policy: &Policy,
) -> Result<Vec<Obstacle>> {
    let steps = policy.escalation.iter().flat_map(EscalationStep::emails);
    let mut asked = policy.on_call.iter().map(|email| ("on_call", email)).collect::<Vec<_>>();
    asked.extend(steps.map(|email| ("escalation", email)));
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let able = approver_count::able(store, workspace, credential, policy).await?;
    asked.retain(|(_, email)| !able.iter().any(|user| user.email.eq_ignore_ascii_case(email)));
    let obstacle = |(field, email): (&'static str, &String)| Obstacle {
        field,
        detail: format!(
            "{email} may not decide here; name an owner, an admin, or a member with the Approve right on the credential"
        ),
    };
    Ok(asked.into_iter().map(obstacle).collect())
}

fn too_few(policy: &Policy, able: u32) -> Obstacle {
    let needed = policy.min_approvals;
    if !policy.allowed_approvers.is_empty() && able == 0 {
        return Obstacle {
            field: "allowed_approvers",
            detail: "none of these people may approve: list an owner, an admin, or a member with the Approve right \
                     on the credential"
                .to_owned(),
        };
    }
    let among = if policy.allowed_approvers.is_empty() { "" } else { " of allowed_approvers" };
    let people = match able {
        0 => "no one".to_owned(),
        1 => "only 1 person".to_owned(),
        able => format!("only {able} people"),
    };
    let lower = match able {
        0 | 1 => "set 1".to_owned(),
        able => format!("set at most {able}"),
    };
    Obstacle {
        field: "min_approvals",
        detail: format!(
            "{needed} people must approve, but {people}{among} may; {lower}, or add people who may approve"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_how_many_may_approve_and_what_to_change() {
        let policy = Policy { min_approvals: 3, ..Policy::default() };
        let told = |able| too_few(&policy, able).detail;
        assert_eq!(
            told(1),
            "3 people must approve, but only 1 person may; set 1, or add people who may approve"
        );
        assert!(told(2).contains("but only 2 people may; set at most 2, or add"), "{}", told(2));
        let listed = Policy { allowed_approvers: vec!["a@example.com".to_owned()], ..policy };
        assert!(too_few(&listed, 1).detail.contains("only 1 person of allowed_approvers may"));
        assert_eq!(too_few(&listed, 0).field, "allowed_approvers");
    }
}
