//! Eligibility to decide about a credential's requests (`docs/reference/behavior/proxy.md#approvers`).

use crate::approval_mode::Role;

/// True if this person may approve or deny a credential's requests.
///
/// Managers are eligible for every credential, a member only with the Approve grant on it. `allowed_approvers` (e-mail
/// addresses; empty means anyone eligible) only narrows this.
pub fn may_approve(role: Role, has_approve_grant: bool, allowed_approvers: &[String], email: &str) -> bool {
    let eligible = role.is_manager() || has_approve_grant;
    // Only ASCII letters fold: Unicode folding would make different addresses equal (K and the Kelvin sign).
    let listed =
        allowed_approvers.is_empty() || allowed_approvers.iter().any(|one| one.eq_ignore_ascii_case(email));
    eligible && listed
}

#[cfg(test)]
mod tests {
    //! Eligible approvers: `docs/reference/behavior/proxy.md#approvers`.

    use super::*;

    fn listed(emails: &[&str]) -> Vec<String> {
        emails.iter().map(|&email| email.to_owned()).collect()
    }

    #[test]
    fn managers_are_eligible_for_every_credential() {
        for role in [Role::Owner, Role::Admin] {
            assert!(may_approve(role, false, &[], "a@example.com"));
        }
    }

    #[test]
    fn a_member_is_eligible_only_with_the_approve_grant() {
        assert!(!may_approve(Role::Member, false, &[], "m@example.com"));
        assert!(may_approve(Role::Member, true, &[], "m@example.com"));
    }

    #[test]
    fn allowed_approvers_narrows_whatever_the_role() {
        let only = listed(&["Ann@Example.com"]);
        for role in Role::ALL {
            assert!(may_approve(*role, true, &only, "ann@example.COM"));
            assert!(!may_approve(*role, true, &only, "bob@example.com"));
        }
    }

    #[test]
    fn being_listed_adds_no_eligibility() {
        assert!(!may_approve(Role::Member, false, &listed(&["m@example.com"]), "m@example.com"));
    }

    #[test]
    fn lookalike_letters_are_other_people() {
        assert!(!may_approve(Role::Owner, false, &listed(&["k@example.com"]), "\u{212a}@example.com"));
    }
}
