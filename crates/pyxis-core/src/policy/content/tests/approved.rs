//! Content that a person approved in a task, under a policy with content rules.

use super::*;
use crate::policy::{ContentCondition, content_is_approved};

/// True if content is approved under these rules and conditions, where the URL asks.
fn approved(rules: &[&str], conditions: &[&str], url: &str, body: &str) -> bool {
    let document = serde_json::json!({ "content_rules": rules });
    let policy = Policy::from_json(document.to_string().as_bytes()).unwrap().compile();
    let target = Target::parse(url).unwrap();
    let decision = evaluate(Some(&policy), ApprovalMode::Gated, Method::Post, &target);
    let conditions: Vec<_> = conditions.iter().map(|text| ContentCondition::parse(text).unwrap()).collect();
    let content = request(&target, JSON, body);
    content_is_approved(Some(&policy), &decision, Method::Post, &target, (&content, &conditions))
}

#[test]
fn a_condition_answers_what_a_rule_asks_about_the_same_field() {
    let rules = ["/v1/pay json /amount <= 500", "/v1/pay json /to = \"me\""];
    let of = |conditions: &[&str], body: &str| approved(&rules, conditions, PAY, body);
    let large = r#"{"amount":900,"to":"me"}"#;
    assert!(!of(&[], large));
    assert!(of(&["json /amount <= 1000"], large));
    assert!(of(&["json /amount = 900"], large));
    for other in ["json /amount >= 1", "json /to = \"me\"", "json /amount <= 800", "form amount <= 1000"] {
        assert!(!of(&[other], large), "{other}");
    }
    let elsewhere = r#"{"amount":900,"to":"you"}"#;
    assert!(!of(&["json /amount <= 1000"], elsewhere), "another rule asks");
    assert!(of(&["json /amount <= 1000", "json /to in \"me\", \"you\""], elsewhere));
    assert!(of(&["json /amount <= 1000"], r#"{"amount":5,"to":"me"}"#));
}

#[test]
fn no_condition_answers_what_a_rule_denies() {
    let rules = ["/v1/pay json /amount <= 500 else deny", "/graphql graphql mutation drop deny"];
    assert!(!approved(&rules, &["json /amount <= 1000"], PAY, r#"{"amount":900}"#));
    assert!(approved(&rules, &["json /amount <= 1000"], PAY, r#"{"amount":400}"#));
    assert!(!approved(&rules, &["graphql mutation drop"], GRAPH, &graphql("mutation { drop }")));
}

#[test]
fn a_named_operation_answers_what_is_asked_about_it_and_a_kind_alone_does_not() {
    let rules = ["/graphql graphql mutation close, add ask"];
    let of = |conditions: &[&str], document: &str| approved(&rules, conditions, GRAPH, &graphql(document));
    assert!(of(&["graphql mutation close"], "mutation { close }"));
    assert!(!of(&["graphql mutation close"], "mutation { close add }"));
    assert!(!of(&["graphql mutation"], "mutation { close }"));
    assert!(!of(&["graphql mutation close"], "mutation {"));
}

#[test]
fn a_body_that_names_another_method_is_never_approved() {
    let both = r#"{"amount":5,"_method":"DELETE"}"#;
    assert!(!approved(&[], &["json /amount <= 5"], PAY, both));
    assert!(approved(&[], &["json /amount <= 5"], PAY, r#"{"amount":5}"#));
}

#[test]
fn no_condition_answers_a_stored_rule_that_cannot_be_read() {
    let mut policy = Policy::from_json(b"{}").unwrap();
    policy.content_rules = vec!["nonsense".to_owned()];
    let target = Target::parse(GRAPH).unwrap();
    let compiled = policy.compile();
    let decision = evaluate(Some(&compiled), ApprovalMode::Gated, Method::Post, &target);
    let conditions = [ContentCondition::parse("graphql mutation close").unwrap()];
    let body = graphql("mutation { close }");
    let content = request(&target, JSON, &body);
    let seen = (&content, &conditions[..]);
    assert!(!content_is_approved(Some(&compiled), &decision, Method::Post, &target, seen));
}
