//! One test for each numbered rule and each default (`docs/reference/policy.md#evaluation`).

use super::*;

const URL: &str = "https://api.example.com/v1/users";

fn default_of(mode: ApprovalMode, method: Method) -> (PolicyVerdict, Rule) {
    let decision = evaluate(None, mode, method, &target(URL));
    assert_eq!(decision.pattern, None);
    (decision.verdict, decision.rule)
}

#[test]
fn rule_1_a_require_url_needs_approval_whatever_else_matches() {
    let policy = policy(
        r#"{"require_approval_urls":["/v1"],"auto_approve_urls":["/v1","api.example.com"],
            "auto_approve_methods":["GET","POST"]}"#,
    );
    for method in Method::ALL {
        assert_eq!(
            decide(&policy, *method, URL),
            (PolicyVerdict::RequireApproval, Rule::RequireUrl, Some("/v1".to_owned()))
        );
    }
}

#[test]
fn rule_2_an_auto_url_passes_whatever_the_method() {
    let policy = policy(r#"{"auto_approve_urls":["/v1"],"require_approval_methods":["GET","DELETE"]}"#);
    for method in Method::ALL {
        assert_eq!(
            decide(&policy, *method, URL),
            (PolicyVerdict::AutoApprove, Rule::AutoUrl, Some("/v1".to_owned()))
        );
    }
}

#[test]
fn rule_3_a_method_in_auto_approve_methods_passes() {
    let policy = policy(r#"{"auto_approve_methods":["POST"],"auto_approve_urls":["/other"]}"#);
    assert_eq!(decide(&policy, Method::Post, URL), (PolicyVerdict::AutoApprove, Rule::AutoMethod, None));
}

#[test]
fn rule_3_wins_over_rule_4_for_a_method_in_both_lists() {
    let policy = policy(r#"{"auto_approve_methods":["PUT"],"require_approval_methods":["PUT"]}"#);
    assert_eq!(rule(&policy, Method::Put, URL), Rule::AutoMethod);
}

#[test]
fn rule_4_a_method_in_require_approval_methods_needs_approval() {
    let policy = policy(r#"{"require_approval_methods":["DELETE"]}"#);
    assert_eq!(
        decide(&policy, Method::Delete, URL),
        (PolicyVerdict::RequireApproval, Rule::RequireMethod, None)
    );
}

#[test]
fn rule_5_everything_else_needs_approval() {
    let policy = policy(r#"{"auto_approve_methods":["GET"],"require_approval_methods":["DELETE"]}"#);
    for method in [Method::Post, Method::Put, Method::Patch, Method::Options] {
        assert_eq!(decide(&policy, method, URL), (PolicyVerdict::RequireApproval, Rule::Default, None));
    }
}

#[test]
fn head_follows_get_in_every_list() {
    for (list, expected) in [
        ("auto_approve_methods", Rule::AutoMethod),
        ("require_approval_methods", Rule::RequireMethod),
        ("deny_methods", Rule::Deny),
    ] {
        let policy = policy(&format!(r#"{{"{list}":["GET"]}}"#));
        assert_eq!(rule(&policy, Method::Head, URL), expected);
        assert_eq!(rule(&policy, Method::Options, URL), Rule::Default);
    }
}

#[test]
fn without_a_policy_a_gated_workspace_passes_get_and_head_only() {
    for method in Method::ALL {
        let verdict = match method {
            Method::Get | Method::Head => PolicyVerdict::AutoApprove,
            _ => PolicyVerdict::RequireApproval,
        };
        assert_eq!(default_of(ApprovalMode::Gated, *method), (verdict, Rule::GatedDefault));
    }
}

#[test]
fn without_a_policy_an_autonomous_workspace_passes_everything() {
    for method in Method::ALL {
        let expected = (PolicyVerdict::AutoApprove, Rule::AutonomousDefault);
        assert_eq!(default_of(ApprovalMode::Autonomous, *method), expected);
    }
}

#[test]
fn once_a_policy_exists_the_defaults_stop_applying_in_both_modes() {
    let compiled = policy(r#"{"channel":"dashboard"}"#).compile();
    for mode in ApprovalMode::ALL {
        for method in Method::ALL {
            let decision = evaluate(Some(&compiled), *mode, *method, &target(URL));
            assert_eq!(decision, Decision::new(PolicyVerdict::RequireApproval, Rule::Default));
        }
    }
}

#[test]
fn deny_is_tested_before_rule_1() {
    let by_method =
        policy(r#"{"deny_methods":["DELETE"],"require_approval_urls":["/"],"auto_approve_urls":["/"]}"#);
    assert_eq!(decide(&by_method, Method::Delete, URL), (PolicyVerdict::Deny, Rule::Deny, None));
    let by_url =
        policy(r#"{"deny_urls":["/v1/users"],"require_approval_urls":["/"],"auto_approve_urls":["/"]}"#);
    assert_eq!(
        decide(&by_url, Method::Get, URL),
        (PolicyVerdict::Deny, Rule::Deny, Some("/v1/users".to_owned()))
    );
}

#[test]
fn the_first_pattern_of_the_list_that_matches_is_named() {
    let policy = policy(r#"{"auto_approve_urls":["/x","/v1/*","api.example.com/v1","/v1/users"]}"#);
    assert_eq!(decide(&policy, Method::Get, URL).2.as_deref(), Some("/v1/*"));
}

#[test]
fn every_rule_has_its_own_name_and_explanation() {
    let distinct = |texts: Vec<&str>| texts.iter().collect::<std::collections::HashSet<_>>().len();
    assert_eq!(distinct(Rule::ALL.iter().map(|rule| rule.as_str()).collect()), Rule::ALL.len());
    assert_eq!(distinct(Rule::ALL.iter().map(Rule::detail).collect()), Rule::ALL.len());
}
