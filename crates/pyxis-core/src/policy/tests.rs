//! Policy evaluation: `docs/reference/policy.md#evaluation`.

mod agreement;
mod documents;
mod readings;
mod rules;
mod table;
mod tightening;
mod websocket;

use super::{Decision, Method, Policy, PolicyVerdict, RequestContent, Rule, evaluate, evaluate_content};
use crate::approval_mode::ApprovalMode;
use crate::target::Target;

fn policy(json: &str) -> Policy {
    Policy::from_json(json.as_bytes()).expect("a valid policy")
}

fn target(url: &str) -> Target {
    Target::parse(url).expect("a valid target")
}

/// Verdict, rule and pattern for a request under a policy.
fn decide(policy: &Policy, method: Method, url: &str) -> (PolicyVerdict, Rule, Option<String>) {
    let compiled = policy.compile();
    let Decision { verdict, rule, pattern } =
        evaluate(Some(&compiled), ApprovalMode::Gated, method, &target(url));
    (verdict, rule, pattern.map(str::to_owned))
}

/// The rule that decides about a request under a policy.
fn rule(policy: &Policy, method: Method, url: &str) -> Rule {
    decide(policy, method, url).1
}
