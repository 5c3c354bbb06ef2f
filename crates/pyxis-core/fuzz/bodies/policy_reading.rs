//! Whatever pattern and target: what a pattern would let pass as an auto pattern it also protects as a
//! require or deny pattern, however the path is spelled.

use pyxis_core::mode::ApprovalMode;
use pyxis_core::pattern;
use pyxis_core::policy::{Method, Policy, Rule, evaluate};
use pyxis_core::target::Target;

fn rule(policy: &Policy, target: &Target) -> Rule {
    evaluate(Some(&policy.compile()), ApprovalMode::Gated, Method::Get, target).rule
}

/// Every byte of the path but the first slash escaped twice.
fn respelled(target: &Target) -> Option<Target> {
    let path: Vec<String> = target.path().bytes().skip(1).map(|byte| format!("%25{byte:02X}")).collect();
    let path = path.concat();
    Target::parse(&format!("{}/{path}", target.origin())).ok()
}

/// One input.
pub(crate) fn run(input: (&str, &str)) {
    let (pattern, path) = input;
    // The scheme and host are given: a fuzzer left to find them hardly ever gets as far as a path.
    let Ok(target) = Target::parse(&format!("https://a.example/{path}")) else { return };
    let pattern = &format!("/{pattern}");
    if pattern::check(pattern).is_err() {
        return;
    }
    let list = || vec![pattern.to_owned()];
    let auto = Policy { auto_approve_urls: list(), ..Policy::default() };
    let require = Policy { require_approval_urls: list(), ..Policy::default() };
    let deny = Policy { deny_urls: list(), ..Policy::default() };
    assert_eq!(rule(&require, &target) == Rule::RequireUrl, rule(&deny, &target) == Rule::Deny);
    if rule(&auto, &target) == Rule::AutoUrl {
        assert_eq!(rule(&require, &target), Rule::RequireUrl);
        if let Some(other) = respelled(&target) {
            assert_eq!(rule(&require, &other), Rule::RequireUrl);
        }
    }
}
