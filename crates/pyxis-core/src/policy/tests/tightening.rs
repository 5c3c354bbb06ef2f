//! A grant stops working once the policy is tightened (`docs/reference/behavior/proxy.md#grants`).

use super::super::tightened;
use super::*;

const ROUTE: &str = "https://api.example.com/v1/users/7";

fn revokes_grant(old: Option<&str>, new: &str) -> bool {
    let old = old.map(policy);
    tightened(old.as_ref(), &policy(new)).revokes(Method::Post, &target(ROUTE))
}

#[test]
fn switching_passkey_approval_on_kills_every_grant() {
    let change = tightened(Some(&Policy::default()), &policy(r#"{"passkey_required":true}"#));
    assert!(change.passkey && !change.min_approvals);
    assert!(revokes_grant(None, r#"{"passkey_required":true}"#));
    assert!(!revokes_grant(Some(r#"{"passkey_required":true}"#), r#"{"passkey_required":true}"#));
    assert!(!revokes_grant(Some(r#"{"passkey_required":true}"#), "{}"));
}

#[test]
fn raising_min_approvals_kills_every_grant() {
    let change = tightened(Some(&Policy::default()), &policy(r#"{"min_approvals":2}"#));
    assert!(change.min_approvals && !change.passkey);
    assert!(revokes_grant(None, r#"{"min_approvals":2}"#));
    assert!(!revokes_grant(Some(r#"{"min_approvals":3}"#), r#"{"min_approvals":2}"#));
    assert!(!revokes_grant(None, r#"{"min_approvals":1}"#));
}

#[test]
fn a_require_or_deny_pattern_kills_the_grants_whose_route_it_matches() {
    for list in ["require_approval_urls", "deny_urls"] {
        assert!(revokes_grant(Some("{}"), &format!(r#"{{"{list}":["/v1/users/*"]}}"#)));
        assert!(!revokes_grant(Some("{}"), &format!(r#"{{"{list}":["/v1/users/8"]}}"#)));
    }
}

#[test]
fn a_denied_method_kills_the_grants_for_it() {
    assert!(revokes_grant(None, r#"{"deny_methods":["POST"]}"#));
    assert!(!revokes_grant(None, r#"{"deny_methods":["PUT"]}"#));
}

#[test]
fn asking_by_method_kills_nothing_because_that_is_what_grants_are_for() {
    assert!(!revokes_grant(
        Some(r#"{"auto_approve_methods":["POST"]}"#),
        r#"{"require_approval_methods":["POST"]}"#
    ));
}
